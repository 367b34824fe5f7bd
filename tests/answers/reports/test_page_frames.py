"""Every page in the common frame: the same look, nothing loaded, nothing too wide, no serious barrier."""

from __future__ import annotations

from pathlib import Path

import pytest
from barriers import barriers, needs_axe
from chromium import Chromium
from command_lines import run_ok
from study_rows import ROW

from dse.answers.explorer.page import PAGE as EXPLORER
from dse.answers.reports.page import TEMPLATES as REPORT
from dse.base.pages import BASE_STYLE
from dse.collectives.page.page import TEMPLATES as SCHEDULE
from dse.partition.page.page import TEMPLATES as PARTITION
from dse.planner.page.page import TEMPLATES as PLAN
from dse.prediction.accuracy.page.page import TEMPLATES as ACCURACY
from dse.studies.store import StudyStore

LINES = {
    "plan": ["plan", "cluster=a100_v100", "model=megatron_1.7b", "gbs=32"],
    "schedule": ["synthesize", "topology=torus__dim=[4,4]__alpha=500__beta=50", "collective=all_gather"],
    "partition": [
        *(
            "partition",
            "model=llama70b",
            "model.num_layers=4",
            "model.fidelity=realistic",
            "model.batch_size=1",
        ),
        *("devices=torus_4x4", "objective=pipeline_bottleneck", "in_flight=1"),
    ],
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind, made by the real command."""
    folder = tmp_path_factory.mktemp("pages")
    for name, line in LINES.items():
        run_ok(*line, "-o", folder / name, cwd=folder)
    run_ok("accuracy", f"page={folder / 'accuracy.html'}", cwd=folder)
    StudyStore.create(folder / "study").append([ROW])
    run_ok("report", "study", "-o", "report.html", cwd=folder)
    files = {name: folder / name / "index.html" for name in LINES}
    return files | {name: folder / f"{name}.html" for name in ("accuracy", "report")}


KINDS = (*LINES, "accuracy", "report")


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("width", [1400, 800, 390])
def test_a_page_is_as_wide_as_the_window_and_loads_nothing(
    browser: Chromium, pages: dict[str, Path], name: str, width: int
) -> None:
    file = pages[name]
    browser.open(file, width=width, height=900)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.querySelectorAll('.cards > .card').length") >= 2
    others = [url for url in browser.requests if not url.startswith("data:")]
    assert others == [file.resolve().as_uri()]
    assert browser.problems == []


@needs_axe
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_has_no_serious_barrier(
    browser: Chromium, pages: dict[str, Path], name: str, scheme: str
) -> None:
    browser.prefer(prefers_color_scheme=scheme)
    browser.open(pages[name], width=1000, height=900)
    browser.evaluate("for (const details of document.querySelectorAll('details')) details.open = true; 0")
    assert barriers(browser) == []
    browser.prefer(prefers_color_scheme="light")


@pytest.mark.parametrize("folder", [SCHEDULE, EXPLORER, ACCURACY, PARTITION, PLAN, REPORT])
def test_a_page_has_no_palette_of_its_own(folder: Path) -> None:
    """Colours are those of the common style, which is in each page."""
    (own,) = folder.glob("*.css")
    text = own.read_text(encoding="utf-8")
    assert "color-scheme" not in text
    assert ":root {" not in text
    assert "#ffffff" not in text
    framed = [file for file in folder.glob("*.html") if "frame.html" in file.read_text(encoding="utf-8")]
    assert own.stem in {file.stem for file in framed}
    shared = set(BASE_STYLE.read_text(encoding="utf-8").splitlines()) & set(text.splitlines())
    assert {line for line in shared if line.startswith((".", "@page", "th", "td", "table"))} == set()


def choose(browser: Chromium, select: str, value: str) -> None:
    browser.evaluate(
        f"(() => {{ const it = {select}; it.value = '{value}'; it.dispatchEvent(new Event('change')); }})()"
    )


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("plan", ["V100", "A100", "gbs", "cluster", "model"]),
        ("schedule", ["network", "collective", "chunks", "gb", "occupancy", "clock", "forwarding"]),
        ("partition", ["graph", "devices", "memory of a device", "objective"]),
    ],
)
def test_the_question_is_folded_above_the_answer(
    browser: Chromium, pages: dict[str, Path], name: str, facts: list[str]
) -> None:
    browser.open(pages[name], width=390)
    fold = "document.querySelector('main > details.fold')"
    assert browser.evaluate(f"[{fold}.open, {fold}.nextElementSibling.className]") == [False, "cards"]
    heads = browser.evaluate(f"[...{fold}.querySelectorAll('th')].map((head) => head.textContent)")
    assert [head for head in heads if head in facts] == facts
    assert browser.problems == []


def test_plans_are_filtered_and_mapped_over_their_axes(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["plan"])
    selects = browser.evaluate(
        "[...document.querySelectorAll('[data-heat-of] select')].map(({ value }) => value)"
    )
    assert selects == ["tp", "dp", "step"]
    cell = "document.querySelector('[data-heat-of] td button.l0')"
    assert browser.evaluate(f"{cell}.textContent") == browser.evaluate(
        "document.querySelector('#plans tbody td').textContent"
    )
    browser.evaluate("document.querySelector('#content .filters input[type=checkbox]').click()")
    rows = "[...document.querySelectorAll('#plans tbody tr')].filter((row) => row.checkVisibility()).length"
    shown = browser.evaluate(rows)
    assert 0 < shown < 10
    assert browser.evaluate("document.querySelector('[role=status]').textContent") == (
        f"{shown} of 10 rows are shown"
    )
    assert browser.problems == []


def test_a_column_of_the_devices_colours_the_graph(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["partition"])
    picture = "document.getElementById('graph').toDataURL()"
    before = browser.evaluate(picture)
    choose(browser, "document.querySelector('.pick select')", "memory")
    assert browser.evaluate(picture) != before
    assert browser.evaluate("document.querySelectorAll('.inks li').length") > 1
    choose(browser, "document.querySelector('.pick select')", "")
    assert browser.evaluate(picture) == before
    assert browser.problems == []


def test_a_cell_of_the_traffic_shows_its_tensors_in_the_graph(
    browser: Chromium, pages: dict[str, Path]
) -> None:
    browser.open(pages["partition"])
    picture = "document.getElementById('graph').toDataURL()"
    before = browser.evaluate(picture)
    sums = "[...document.querySelectorAll('[data-sums] .sum')].at(-1).textContent"
    devices = "[...document.querySelectorAll('tr[data-mark]')].map((row) => Number(row.cells[7].dataset.of))"
    assert float(browser.evaluate(sums).removesuffix(" MB")) == round(sum(browser.evaluate(devices)) / 1e6, 1)
    cell = "document.querySelectorAll('[data-sums] td button')[1]"
    browser.evaluate(f"{cell}.focus()")
    browser.press("Enter", 13)
    chosen = "document.querySelector('#traffic [aria-current]').dataset.pair"
    assert browser.evaluate(f"{cell}.getAttribute('aria-label')").startswith(
        "from {}, to {}, ".format(*browser.evaluate(chosen).split())
    )
    assert browser.evaluate(picture) != before
    browser.evaluate("document.getElementById('reset').click()")
    assert browser.evaluate(picture) == before
    assert browser.problems == []


def test_links_are_coloured_by_sends_or_by_how_busy_they_are(
    browser: Chromium, pages: dict[str, Path]
) -> None:
    browser.open(pages["schedule"])
    select = "document.querySelector('.pick select')"
    offered = browser.evaluate(f"[...{select}.options].map((one) => one.textContent)")
    assert offered == ["chunk", "wait before it goes on", "time on its link", "start", "how busy a link is"]
    legend = "[...document.querySelectorAll('.inks')[0].children].map((one) => one.textContent)"
    for value, first in (("waits", "0 ns"), ("busy", "0 to 17 %"), ("start", "0 ns")):
        choose(browser, select, value)
        assert browser.evaluate(legend)[0].startswith(first)
        assert len(browser.evaluate(legend)) <= 6
    assert browser.problems == []
