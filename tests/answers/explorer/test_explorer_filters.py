"""Filters of an explorer in a real browser: every view has the points that pass, and the engine rests."""

from __future__ import annotations

from pathlib import Path

from chromium import Chromium
from pages import SETTLED, assert_quiet, frame, needs_live_page, opened

pytestmark = needs_live_page
COUNTED = "document.querySelector('#view-filters [role=status]').textContent"
LEGENDS = "[...document.querySelectorAll('#view-filters legend')]"
LABEL = LEGENDS + ".find((each) => each.textContent === '%s').parentNode"


def test_filters_lie_folded_above_the_answer(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    assert browser.evaluate("document.querySelector('#views .view').id") == "view-filters"
    assert browser.evaluate("document.querySelector('#view-filters details').open") is False
    assert browser.evaluate(COUNTED) == "56 of 56 points are shown"


def test_every_view_has_the_points_that_fit_and_the_engine_rests(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    browser.evaluate("document.querySelector('#view-filters input').click()")
    browser.until(f"{COUNTED} === '26 of 56 points are shown' && {SETTLED}")
    assert frame(browser, "rows.length") == 26
    assert frame(browser, "all.length") == 56
    assert frame(browser, "best.label") == "dp32 tp2 sp1 pp1 recompute"
    assert "dp64" not in browser.evaluate("document.querySelector('#view-best').innerText")
    browser.evaluate("document.querySelector('#view-filters button').click()")
    browser.until(f"{COUNTED} === '56 of 56 points are shown' && {SETTLED}")
    assert frame(browser, "best.label") == "dp64 tp1 sp1 pp1"
    assert_quiet(browser, page)


def test_values_and_ranges_are_left_out_and_stay_so_after_a_change(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    browser.evaluate(f"({LABEL % 'activation recompute'}).querySelector('input').click()")  # no
    browser.until(f"{COUNTED} === '28 of 56 points are shown' && {SETTLED}")
    browser.evaluate("explorer.state.set({ changes: { 'system.peak_tflops': 900 } })")
    browser.until(f"{COUNTED} === '28 of 56 points are shown' && {SETTLED}")
    browser.evaluate(
        f"(([, most]) => {{ most.value = '20'; most.dispatchEvent(new Event('input')); }})"
        f"(({LABEL % 'peak memory, GB'}).querySelectorAll('input'))"
    )
    browser.until(SETTLED)
    peaks = frame(browser, "rows.map((row) => row.peak_memory_bytes)")
    assert 0 < len(peaks) < 28
    assert max(peaks) <= 20e9
    assert_quiet(browser, page)


def test_a_chosen_point_that_does_not_pass_is_told(browser: Chromium, page: Path) -> None:
    opened(browser, page, "selected=dp64%20tp1%20sp1%20pp1")
    browser.evaluate("document.querySelector('#view-filters input').click()")
    browser.until("document.querySelector('.doubts').textContent !== ''")
    told = browser.evaluate("document.querySelector('.doubts').textContent")
    assert told == "The filters leave out the chosen dp64 tp1 sp1 pp1."
