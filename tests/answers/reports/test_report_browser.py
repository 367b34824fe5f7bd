"""The page in a real browser: no error, no request, plots with data, points chosen by hand and by key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chromium import Chromium
from study_rows import ROW, failed_row, row

from dse.answers.reports import render_page, report_data
from dse.inputs.strategies import Strategy
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.studies.store import StudyStore
from dse.testing.builders import RING16, TINY

CAP = 80_000_000_000
COMMAND = 'document.querySelector("[data-command]").textContent'
PANEL = 'document.querySelector("aside.selected").innerText'
FASTEST = (
    "python -m dse point system=system1 model=llama70b "
    "strategy.dp=64 strategy.tp=1 strategy.sp=1 strategy.pp=1 "
    "strategy.weight_sharded=false strategy.activation_recompute=false"
)
FASTEST_UNDER_CAP = (
    "python -m dse point system=system1 model=llama70b "
    "strategy.dp=32 strategy.tp=2 strategy.sp=1 strategy.pp=1 "
    "strategy.weight_sharded=false strategy.activation_recompute=true"
)


@pytest.fixture(scope="module")
def lab_page(lab: StudyStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(render_page(report_data(lab, memory_cap_bytes=CAP)), encoding="utf-8")
    return file


def plots(browser: Chromium) -> dict[str, dict[str, int]]:
    """For each plot the number of values of each of its data sets, as the plot library has them."""
    found: dict[str, dict[str, int]] = browser.evaluate(
        """Object.fromEntries([...document.querySelectorAll("canvas[data-plot]")].map((canvas) => [
          canvas.dataset.plot,
          Object.fromEntries(Chart.getChart(canvas).data.datasets.map((set) => [set.label, set.data.length])),
        ]))"""
    )
    return found


def drawn(browser: Chromium) -> list[int]:
    """For each plot how many colours it shows."""
    colors: list[int] = browser.evaluate(
        """[...document.querySelectorAll("canvas")].map((canvas) => {
          const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return new Set(new Uint32Array(pixels.data.buffer)).size;
        })"""
    )
    return colors


def place_of(browser: Chromium, rank: int) -> tuple[float, float]:
    """Bring the scatter plot into view and return where a point is in the window."""
    place: Any = browser.evaluate(
        f"""(() => {{
          const canvas = document.querySelector('[data-plot="scatter"]');
          canvas.scrollIntoView({{ block: "center", behavior: "instant" }});
          const chart = Chart.getChart(canvas);
          const box = canvas.getBoundingClientRect();
          for (const [index, set] of chart.data.datasets.entries()) {{
            if (set.role !== "points") continue;
            const at = set.data.findIndex((point) => point.rank === {rank});
            const point = chart.getDatasetMeta(index).data[at];
            if (at >= 0) return [box.x + point.x, box.y + point.y];
          }}
        }})()"""
    )
    return place[0], place[1]


def test_the_page_has_no_error_and_asks_for_nothing(browser: Chromium, lab_page: Path) -> None:
    browser.open(lab_page)
    browser.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    assert browser.problems == []
    assert browser.requests == [lab_page.resolve().as_uri()]


def test_every_plot_has_data(browser: Chromium, lab_page: Path) -> None:
    browser.open(lab_page)
    assert plots(browser) == {
        "scatter": {
            "neither fsdp nor recompute": 28,
            "recompute": 28,
            "Pareto front": 9,
            "memory cap, 80.00 GB": 2,
            "selected point": 1,
        },
        "time": dict.fromkeys(["compute bound", "memory bound", "recompute", "exposed tp", "exposed sp"], 4),
        "memory": dict.fromkeys(["weights", "gradients", "activations", "activation gradients", "inputs"], 4),
        "caps": {"fastest point that fits": 10, "memory cap, 80.00 GB": 2},
        "tornado": {"halved": 4, "doubled": 4},
    }
    assert min(drawn(browser)) > 10
    cells = browser.evaluate("document.querySelectorAll('.heat button').length")
    assert cells == 28


def test_a_click_on_a_point_shows_its_metrics_and_its_command_line(browser: Chromium, lab_page: Path) -> None:
    browser.open(lab_page)
    assert browser.evaluate(COMMAND) == FASTEST_UNDER_CAP
    last = (
        browser.evaluate("JSON.parse(document.getElementById('data').textContent).groups[0].points.length")
        - 1
    )
    browser.click(*place_of(browser, last))
    assert "56 of 56" in browser.evaluate(PANEL)
    assert "strategy.tp=64" in browser.evaluate(COMMAND)
    browser.click(*place_of(browser, 55 - 1))
    assert "55 of 56" in browser.evaluate(PANEL)


def test_keys_go_through_the_points(browser: Chromium, lab_page: Path) -> None:
    browser.open(lab_page)
    browser.evaluate("document.querySelector('[data-plot=\"scatter\"]').focus()")
    browser.press("Home", 36)
    assert browser.evaluate(COMMAND) == FASTEST
    panel = browser.evaluate(PANEL)
    for text in ("3.18 s", "144.16 GB", "144 158 228 480 bytes", "fastest", "over the cap", "1 of 56"):
        assert text in panel.replace("\u202f", " ")
    browser.press("ArrowRight", 39)
    assert "2 of 56" in browser.evaluate(PANEL)
    browser.press("ArrowLeft", 37)
    browser.press("ArrowLeft", 37)
    assert "1 of 56" in browser.evaluate(PANEL)
    browser.press("End", 35)
    assert "56 of 56" in browser.evaluate(PANEL)
    assert "place 56 of 56" in browser.evaluate("document.querySelector('[data-status]').textContent")


def test_everything_that_can_be_chosen_is_reached_by_tab(browser: Chromium, lab_page: Path) -> None:
    browser.open(lab_page)
    browser.evaluate("document.querySelector('details.points').open = true")
    browser.evaluate("new Promise(done => setTimeout(done, 100))")
    table = "document.querySelector('[data-table=\"points\"]')"
    assert browser.evaluate(f"{table}.tBodies[0].rows.length") == 56
    browser.evaluate(f"{table}.querySelector('tbody button').focus()")
    browser.press("Tab", 9)
    browser.press("Enter", 13)
    assert "2 of 56" in browser.evaluate(PANEL)
    chosen = "[...document.querySelectorAll('[data-rank]')]"
    assert browser.evaluate(f"{chosen}.every((one) => one.tabIndex === 0 && one.tagName === 'BUTTON')")


def test_a_heat_map_is_over_any_two_axes_and_follows_the_filters(browser: Chromium, lab_page: Path) -> None:
    browser.open(lab_page)
    heat = "document.querySelector('[data-heat]')"
    cells = f"[...{heat}.querySelectorAll('td button')].map((cell) => cell.textContent)"
    browser.evaluate(f"{heat}.querySelector('tbody tr:last-child button').click()")
    assert browser.evaluate(COMMAND) == FASTEST
    offered = browser.evaluate(f"[...{heat}.querySelectorAll('select')[0].options].map((one) => one.value)")
    assert offered == ["dp", "tp", "sp", "activation_recompute"]
    fastest = browser.evaluate(cells)
    browser.evaluate("document.querySelector('[data-filters] input[type=checkbox]').click()")  # what fits
    assert len(browser.evaluate(cells)) == len(fastest) - 2
    browser.evaluate(
        f"""(() => {{
          const [across, , best] = {heat}.querySelectorAll("select");
          across.value = "activation_recompute";
          across.dispatchEvent(new Event("change"));
          best.value = "mfu_pct";
          best.dispatchEvent(new Event("change"));
        }})()"""
    )
    assert browser.evaluate(f"{heat}.querySelector('caption').textContent").startswith(
        "Highest MFU by dp (down) and activation recompute (across)"
    )
    heads = browser.evaluate(f"[...{heat}.querySelectorAll('thead th')].map((head) => head.textContent)")
    assert heads == ["activation recompute no", "activation recompute yes"]
    assert all(text.endswith(" %") for text in browser.evaluate(cells))
    assert browser.problems == []


def settled_lines(browser: Chromium) -> str:
    """The picture of the lines when nothing more is drawn."""
    picture = "document.querySelector('[data-lines] canvas').toDataURL()"
    last, now = "", str(browser.evaluate(picture))
    while now != last:
        browser.evaluate("new Promise((done) => setTimeout(done, 60))")
        last, now = now, str(browser.evaluate(picture))
    return now


def test_lines_through_all_axes_follow_filters_the_chosen_point_and_their_colour(
    browser: Chromium, lab_page: Path
) -> None:
    browser.prefer(prefers_color_scheme="light")
    browser.open(lab_page, width=1320)
    before = settled_lines(browser)
    inks = "[...document.querySelectorAll('[data-lines] option')].map((one) => one.textContent)"
    assert browser.evaluate(inks)[:6] == [
        "dp",
        "tp",
        "sp",
        "activation recompute",
        "wall time",
        "peak memory",
    ]
    hint = "document.querySelector('[data-lines] .hint').textContent"
    assert browser.evaluate(hint) == "wall time, s"
    browser.evaluate("document.querySelector('[data-rank]').click()")
    chosen = settled_lines(browser)
    assert chosen != before
    browser.evaluate("document.querySelector('[data-filters] input[type=checkbox]').click()")
    assert settled_lines(browser) not in (before, chosen)
    browser.evaluate("document.querySelector('[data-filters] button').click()")
    assert settled_lines(browser) == chosen
    browser.evaluate(
        """(() => {
          const ink = document.querySelector("[data-lines] select");
          ink.value = "activation_recompute";
          ink.dispatchEvent(new Event("change"));
        })()"""
    )
    assert settled_lines(browser) != chosen
    assert browser.evaluate(hint) == "activation recompute"
    assert browser.evaluate("document.querySelector('[data-lines]').innerText").split()[-2:] == ["no", "yes"]
    browser.prefer(prefers_color_scheme="dark")
    dark = settled_lines(browser)
    browser.prefer(prefers_color_scheme="light")
    assert settled_lines(browser) != dark
    assert browser.problems == []


def test_a_range_of_a_figure_filters_in_its_unit(browser: Chromium, lab_page: Path) -> None:
    browser.open(lab_page)
    counted = "document.querySelector('[data-filters] [role=status]').textContent"
    ranges = "[...document.querySelectorAll('.range legend')].map((legend) => legend.textContent)"
    assert "wall time, s" in browser.evaluate(ranges)
    assert browser.evaluate(counted) == "56 of 56 points are shown"
    browser.evaluate(
        """(() => {
          const range = [...document.querySelectorAll(".range")]
            .find((one) => one.textContent.startsWith("peak memory, GB"));
          const to = range.querySelectorAll("input")[1];
          to.value = 80;
          to.dispatchEvent(new Event("input"));
        })()"""
    )
    under = browser.evaluate(counted)
    browser.evaluate("document.querySelector('[data-filters] button').click()")
    assert browser.evaluate(counted) == "56 of 56 points are shown"
    browser.evaluate("document.querySelector('[data-filters] input[type=checkbox]').click()")
    assert browser.evaluate(counted) == under


def test_filters_and_headings_show_and_sort_what_is_asked_for(browser: Chromium, lab_page: Path) -> None:
    browser.open(lab_page)
    browser.evaluate("document.querySelector('details.points').open = true")
    browser.evaluate("new Promise(done => setTimeout(done, 100))")
    table = "document.querySelector('[data-table=\"points\"]')"
    heads = browser.evaluate(f"[...{table}.tHead.rows[0].cells].map((cell) => cell.textContent)")
    assert heads[:4] == ["strategy", "dp", "tp", "sp"]
    assert {"activation recompute", "wall time", "peak memory", "MFU"} <= set(heads)
    browser.evaluate(
        "document.querySelectorAll('.filters fieldset')[1].querySelector('input').click()"
    )  # tp 1
    column = f"[...{table}.tBodies[0].rows].map((row) => row.cells[%d].textContent)"
    assert "1" not in browser.evaluate(column % 2)
    assert len(browser.evaluate(column % 2)) < 56
    place = heads.index("peak memory")
    browser.evaluate(f"{table}.tHead.querySelectorAll('button')[{place - 1}].click()")
    assert browser.evaluate(f"{table}.tHead.rows[0].cells[{place}].ariaSort") == "ascending"
    sizes = [float(text.split()[0]) for text in browser.evaluate(column % place) if text.endswith(" GB")]
    assert len(sizes) > 10
    assert sizes == sorted(sizes)
    assert browser.problems == []


def test_any_axis_and_figure_colours_the_points(browser: Chromium, lab_page: Path) -> None:
    browser.open(lab_page)
    offered = browser.evaluate(
        "[...document.querySelector('[data-ink] select').options].map(({ value }) => value)"
    )
    assert {"flags", "tp", "sp", "wall_time_ns", "mfu_pct"} <= set(offered)
    for name, words in (("tp", ["tp 1", "tp 2"]), ("mfu_pct", ["% to"])):
        browser.evaluate(
            "(() => { const select = document.querySelector('[data-ink] select');"
            f" select.value = '{name}'; select.dispatchEvent(new Event('change')); }})()"
        )
        chart = "Chart.getChart(document.querySelector('[data-plot=scatter]'))"
        labels = browser.evaluate(f"{chart}.data.datasets.map(({{ label }}) => label)")
        assert all(any(word in label for label in labels) for word in words), labels
    assert browser.problems == []


def test_every_command_line_is_that_of_its_point(browser: Chromium, lab: StudyStore, lab_page: Path) -> None:
    from dse.answers import ranking
    from dse.answers.reports.commands import Commands

    browser.open(lab_page)
    browser.evaluate("document.querySelector('details.points').open = true")
    browser.evaluate("new Promise(done => setTimeout(done, 100))")
    shown = browser.evaluate(
        "[...document.querySelectorAll('[data-table=\"points\"] tbody button')]"
        f".map(button => {{ button.click(); return {COMMAND}; }})"
    )
    commands = Commands()
    assert shown == [commands.command(row) for row in ranking(lab.read_table())]


def test_it_prints_with_all_its_plots(browser: Chromium, lab_page: Path) -> None:
    browser.open(lab_page)
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 100_000
    assert browser.problems == []
    assert min(drawn(browser)) > 10  # and the screen is as it was
    assert not browser.evaluate("document.documentElement.classList.contains('printing')")


@pytest.mark.parametrize("width", [380, 800, 1320])
def test_no_window_is_too_narrow(browser: Chromium, lab_page: Path, width: int) -> None:
    browser.open(lab_page, width=width)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.problems == []


def test_a_dark_window_has_dark_plots(browser: Chromium, lab_page: Path) -> None:
    browser.prefer(prefers_color_scheme="light")
    browser.open(lab_page)
    color = "Chart.getChart(document.querySelector('canvas')).options.scales.x.title.color"
    light = browser.evaluate(color)
    browser.prefer(prefers_color_scheme="dark")
    browser.until(f"{color} !== {light!r}")
    browser.prefer(prefers_color_scheme="light")
    browser.until(f"{color} === {light!r}")


def test_odd_studies_have_no_error_either(browser: Chromium, tmp_path: Path) -> None:
    hostile = "</script><script>console.error(1)</script><img src=x onerror=console.error(2)>"
    studies = {
        "empty": [],
        "failed": [failed_row("failed", hostile)],
        "one": [evaluate(DesignPoint(Scenario("x", TINY, RING16), Strategy(dp=16)))],
        "no-memory": [row(peak_memory_bytes=None, dp=dp) for dp in (1, 2)],
        "hostile": [row(model=hostile, system=hostile)],
        "several": [row(system=name, dp=dp) for name in ("a", "b") for dp in (1, 2)],
        "zero": [row(wall_time_ns=0, peak_memory_bytes=0, exposed_comm_ns=0)],
        "version-1": [ROW],
    }
    for name, rows in studies.items():
        store = StudyStore.create(tmp_path / name)
        store.append(rows)
        file = tmp_path / f"{name}.html"
        file.write_text(render_page(report_data(store, memory_cap_bytes=CAP)), encoding="utf-8")
        browser.open(file)
        assert browser.problems == [], name
        assert len(browser.requests) == 1, name
        assert json.dumps(list(plots(browser))), name
        browser.pdf()
        assert browser.problems == [], name


def test_a_large_study_is_still_a_page(browser: Chromium, tmp_path: Path) -> None:
    store = StudyStore.create(tmp_path / "large")
    store.append(
        [
            row(
                dp=2 ** (number % 12),
                wall_time_ns=10**9 + number * 7919 % 10**7,
                peak_memory_bytes=10**9 + number * 104729 % 10**10,
                key=f"{number:032x}",
            )
            for number in range(50_000)
        ]
    )
    file = tmp_path / "large.html"
    file.write_text(render_page(report_data(store, memory_cap_bytes=CAP)), encoding="utf-8")
    assert file.stat().st_size < 1_000_000
    browser.open(file)
    assert browser.problems == []
    assert plots(browser)["scatter"]["recompute"] == 2000
