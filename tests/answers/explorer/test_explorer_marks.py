"""What an explorer in a real browser says against its own times: in words, and in every plot."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Chromium
from pages import SETTLED, needs_live_page, opened, set_state

pytestmark = needs_live_page


def test_times_that_cannot_be_believed_are_said_to_be_such(browser: Chromium, page: Path) -> None:
    """As the terminal warns: slower links that are not paid, a batch that no program splits."""
    opened(browser, page)
    told = "document.getElementById('view-best').textContent"
    assert "Slower links" not in browser.evaluate(told)
    changes = {"system.network.2.bandwidth_gbps": 5, "model.batch_size": 7}
    set_state(browser, {"changes": changes, "selected": "dp8 tp1 sp8 pp1"})
    said = browser.evaluate(told)
    assert "Slower links are not in this time: sp 8 crosses dimension 2 but is timed on dimension 1" in said
    assert "No program can split this: dp 8 does not divide batch_size 7" in said
    assert "of 56 points split sequences, tokens or heads, which no program can" in said
    mark = browser.evaluate("document.querySelector('.winner-now .doubt')?.textContent ?? ''")
    assert "impossible split" in mark
    assert browser.problems == []


MARKS = """
(() => {
  const sets = (name) => Chart.getChart(document.querySelector(`#view-${name} canvas`)).data.datasets;
  const marked = (name) => sets(name).filter(({ label }) => label === "time in doubt")
    .map(({ isUnnamed, data }) => [!isUnnamed, data.filter(({ x }) => Number.isFinite(x)).length])[0];
  const cells = [...document.querySelectorAll("#view-heat button")];
  return {
    scatter: marked("scatter"), caps: marked("caps"),
    heat: cells.filter(({ textContent }) => textContent.endsWith("?")).length,
    told: cells.filter(({ title }) => title.endsWith("slower links left out")).length,
    legend: !document.querySelector("#view-heat .doubtful").hidden,
  };
})()
"""


CELLS = """
(() => {
  const { frame } = explorer.app.page;
  const slow = frame.rows.find(({ label }) => label === "dp32 tp1 sp2 pp1 recompute");
  const fast = { ...slow, understated_comm: null };
  const map = { isAllowed: (x) => x < 30, nearest: (x) => ({ row: x < 16 ? slow : fast }) };
  const { doubtAt, doubtfulCells } = explorer.map_doubts;
  return [doubtfulCells(map)[7], doubtAt(map, 0, 0), doubtAt(map, 16, 0)];
})()
"""


def test_plots_mark_points_whose_time_is_in_doubt(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    none = {"scatter": [False, 0], "caps": [False, 0], "heat": 0, "told": 0, "legend": False}
    assert browser.evaluate(MARKS) == none
    set_state(browser, {"changes": {"system.network.2.bandwidth_gbps": 60}})
    found = browser.evaluate(MARKS)
    assert "36 of 56 points have messages that cross slower links" in browser.evaluate(
        "document.getElementById('view-best').textContent"
    )
    assert found["scatter"] == [True, 36]
    assert found["caps"][0]
    assert 0 < found["caps"][1] < 10
    assert found["heat"] == found["told"] == 18
    assert found["legend"]
    cells, slower, as_fast = browser.evaluate(CELLS)
    assert cells == [x < 16 for x in range(33)]
    assert (slower, as_fast) == ("slower links left out", "")
    assert browser.problems == []


def test_a_point_under_the_pointer_is_told_in_every_plot_of_points(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    told = browser.evaluate(
        """["scatter", "caps"].map((name) => {
          const chart = Chart.getChart(document.querySelector(`#view-${name} canvas`));
          const row = explorer.app.page.frame.ok.find(({ label }) => label === "dp64 tp1 sp1 pp1");
          return chart.options.plugins.tooltip.callbacks.label({ raw: { row }, dataset: {} });
        })"""
    )
    assert told == [["dp64 tp1 sp1 pp1", "3.18 s, 144.16 GB"]] * 2


@pytest.mark.slow
def test_bars_mark_times_in_doubt_and_keep_their_room(browser: Chromium, page: Path) -> None:
    opened(browser, page, "selected=dp32%20tp1%20sp2%20pp1%20recompute", width=1400, height=1000)
    view = "document.getElementById('view-tornado')"
    height = browser.evaluate(f"{view}.offsetHeight")
    assert browser.evaluate(f"{view}.querySelectorAll('tbody tr').length") == 10
    browser.evaluate(f"{view}.scrollIntoView({{ block: 'start', behavior: 'instant' }})")
    browser.until(f"!{view}.textContent.includes('…')")
    assert abs(browser.evaluate(f"{view}.offsetHeight") - height) < 60
    cells = browser.evaluate(f"[...{view}.querySelectorAll('tbody tr')].map((row) => row.innerText)")
    marked = [cell.split("\t")[0] for cell in cells if " ?" in cell]
    # With half the bandwidth, or twice the latency, a later dimension is slower than what is charged.
    assert "dimension 2: bandwidth of a link" in marked
    assert "peak performance" not in marked
    assert browser.evaluate(f"{view}.textContent.includes('? time in doubt')")


@pytest.mark.slow
def test_a_mark_in_the_last_column_of_the_parameters_has_its_key(browser: Chromium, page: Path) -> None:
    """Without a cap dp 64 wins, whose messages cross nothing slower; what wins elsewhere is in doubt."""
    opened(browser, page, "cap=none", width=1400, height=1000)
    view = "document.getElementById('view-tornado')"
    browser.evaluate(f"{view}.scrollIntoView({{ block: 'start', behavior: 'instant' }})")
    browser.until(f"!{view}.textContent.includes('…')")
    cells = browser.evaluate(
        f"[...{view}.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    assert any(row[-1].endswith("wins ?") for row in cells)
    assert not any("?" in cell for row in cells for cell in row[:-1])
    assert "? time in doubt" in browser.evaluate(f"{view}.textContent")


def test_bars_and_the_timeline_of_a_point_in_doubt_say_so(browser: Chromium, page: Path) -> None:
    opened(browser, page, "selected=dp8%20tp8%20sp1%20pp1", width=1400, height=1000)

    def shown(name: str) -> str:
        view = f"document.getElementById('view-{name}')"
        browser.evaluate(f"{view}.scrollIntoView({{ block: 'center', behavior: 'instant' }})")
        browser.until(f"!('unseen' in {view}.dataset) && {SETTLED}")
        text: str = browser.evaluate(f"{view}.innerText")
        return text

    assert "doubt" not in shown("breakdown") + shown("timeline")
    set_state(browser, {"changes": {"system.network.2.bandwidth_gbps": 60}})
    assert "? time in doubt: dp8 tp8 sp1 pp1 (selected), slower links left out; dp32 " in shown("breakdown")
    labels = browser.evaluate("Chart.getChart(document.querySelector('#view-breakdown canvas')).data.labels")
    assert labels[0][0] == "dp8 tp8 sp1 pp1 ?"
    assert "The time of dp8 tp8 sp1 pp1 is in doubt: slower links left out." in shown("timeline")
    assert browser.problems == []
