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
    (template,) = [file for file in folder.glob("*.html") if "frame.html" in file.read_text(encoding="utf-8")]
    assert template.stem == own.stem
    shared = set(BASE_STYLE.read_text(encoding="utf-8").splitlines()) & set(text.splitlines())
    assert {line for line in shared if line.startswith((".", "@page", "th", "td", "table"))} == set()
