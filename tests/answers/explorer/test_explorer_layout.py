"""The look of an explorer in a real browser: widths, schemes, barriers, paper, what waits to be seen."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from barriers import barriers, needs_axe
from chromium import Chromium
from pages import SETTLED, assert_quiet, needs_live_page, opened

pytestmark = needs_live_page


def test_what_was_not_computed_says_so_on_paper(browser: Chromium, page: Path) -> None:
    opened(browser, page, width=1400, height=1000)
    view = "document.getElementById('view-timeline')"
    assert browser.evaluate(f"'unseen' in {view}.dataset")
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert "scroll to this part" in browser.evaluate(f"getComputedStyle({view}, '::after').content")
    browser.call("Emulation.setEmulatedMedia", media="")
    browser.evaluate(f"{view}.scrollIntoView({{ block: 'center', behavior: 'instant' }})")
    browser.until(f"!('unseen' in {view}.dataset)")


@pytest.mark.parametrize("width", [1400, 800, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(browser: Chromium, page: Path, width: int, scheme: str) -> None:
    browser.prefer(prefers_color_scheme=scheme)
    opened(browser, page, width=width, height=900)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert len(browser.screenshot()) > 20_000
    assert browser.problems == []


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_there_is_no_serious_barrier(browser: Chromium, page: Path, scheme: str) -> None:
    browser.prefer(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
    opened(browser, page, width=1400, height=1000)
    for top in itertools.chain(range(0, 6000, 700), [0]):  # what computes when it is seen
        browser.evaluate(f"scrollTo(0, {top})")
        browser.until(SETTLED)
    assert barriers(browser) == []
    browser.prefer(prefers_color_scheme="light", prefers_reduced_motion="no-preference")


@pytest.mark.slow
def test_the_views_of_one_point_compute_when_they_are_seen(browser: Chromium, page: Path) -> None:
    opened(browser, page, width=1400, height=1000)
    for name in ("breakdown", "memory", "timeline", "tornado", "map"):
        view = f"document.getElementById('view-{name}')"
        browser.evaluate(f"{view}.scrollIntoView({{ block: 'center', behavior: 'instant' }})")
        browser.until(f"{view}.querySelector('canvas, svg, table, [role=img]') !== null")
    assert_quiet(browser, page)


def test_on_paper_plots_are_sharp_and_afterwards_as_before(browser: Chromium, page: Path) -> None:
    """As the browser prints: every canvas of the page is drawn with three dots for each of the screen."""
    opened(browser, page, width=1400, height=1000)
    for name in ("breakdown", "timeline", "map"):
        view = f"document.getElementById('view-{name}')"
        browser.evaluate(f"{view}.scrollIntoView({{ block: 'center', behavior: 'instant' }})")
        browser.until(f"!('unseen' in {view}.dataset) && {SETTLED}")
        browser.until(f"{view}.querySelector('canvas').width > 300")
    ratios = """[...document.querySelectorAll('.view canvas')]
      .filter((canvas) => Chart.getChart(canvas) || canvas.matches('#view-timeline *, #view-map *'))
      .map((canvas) => [canvas.closest('.view').id, Math.round(canvas.width / canvas.clientWidth)])"""
    before = browser.evaluate(ratios)
    assert {ratio for _, ratio in before} == {1}
    assert {"view-scatter", "view-caps", "view-breakdown", "view-timeline", "view-map"} <= {
        name for name, _ in before
    }
    size = "Chart.getChart(document.querySelector('#view-scatter canvas')).options.font.size"
    assert browser.evaluate(size) == 12
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate(ratios) == [[name, 3] for name, _ in before]
    assert browser.evaluate(size) == 11
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    browser.until(SETTLED)
    assert browser.evaluate(ratios) == before
    assert browser.problems == []


def test_bars_get_the_room_of_their_labels_when_the_page_gets_narrow(browser: Chromium, page: Path) -> None:
    opened(browser, page, width=1320, height=900)
    view = "document.getElementById('view-tornado')"
    rows = f"Number({view}.querySelector('.rows').style.getPropertyValue('--rows'))"
    look = f"{view}.scrollIntoView({{ block: 'start', behavior: 'instant' }})"
    drawn = f"Chart.getChart({view}.querySelector('canvas'))?.data.labels.length === 9"
    browser.evaluate(look)
    browser.until(drawn)
    wide = browser.evaluate(rows)
    browser.resize(380, 900)
    browser.evaluate(f"{look}; explorer.state.set({{ selected: explorer.app.page.frame.ok[7].label }})")
    browser.until(f"{view}.textContent.includes(explorer.app.page.frame.ok[7].label)")
    browser.until(drawn)
    labels = browser.evaluate(f"Chart.getChart({view}.querySelector('canvas')).data.labels")
    lines = max(map(len, labels))
    assert lines >= 2
    assert browser.evaluate(rows) == pytest.approx(9 * max(1.3, 0.9 * lines))
    assert browser.evaluate(rows) > wide


def test_boxes_that_scroll_are_reached_by_keyboard_and_have_a_name(browser: Chromium, page: Path) -> None:
    opened(browser, page, width=390, height=900)
    boxes = browser.evaluate(
        "[...document.querySelectorAll('.scroll')].map((box) => [box.tabIndex, box.role, box.ariaLabel])"
    )
    assert len(boxes) >= 3
    assert all(index == 0 and role == "region" and label for index, role, label in boxes)
