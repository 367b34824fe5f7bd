"""Rows of a table that pass its filters are drawn as points, as lines and as a map of sums."""

from __future__ import annotations

from pathlib import Path

import pytest
from barriers import barriers, needs_axe
from chromium import Chromium

from dse.base.pages import BASE_STYLE, TABLE_PLOTS, inlined, joined

# Of a sender and a receiver: bytes, a time of many days, and a note.
ROWS = [(0, 1, 3e6, 259200, "first"), (0, 2, 1e6, 46080, "second"), (1, 2, 2e6, 604800, "third")]
ROWS += [(2, 0, 0, None, "fourth")]
PICTURE = "document.querySelector('[data-%s-of] canvas').toDataURL()"


def _row(sender: int, receiver: int, size_bytes: float, seconds: int | None, note: str) -> str:
    days = "–" if seconds is None else f"{seconds / 86400:.3g} days"
    return (
        f"<tr><td>{sender}</td><td>{receiver}</td><td data-of='{size_bytes}'>{size_bytes / 1e6:.2f} MB</td>"
        f"<td data-of='{seconds or ''}'>{days}</td><td>{note}</td></tr>"
    )


@pytest.fixture
def page(browser: Chromium, tmp_path: Path) -> Chromium:
    file = tmp_path / "table.html"
    file.write_text(
        f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>
<style>{inlined(BASE_STYLE)}</style>
<main><h1>t</h1>
<div class="scroll" tabindex="0" role="region" aria-label="Rows"><table class="sorts" id="rows">
<thead><tr><th>from</th><th>to</th><th data-high>bytes</th><th>run</th><th>note</th></tr></thead>
<tbody>{"".join(_row(*row) for row in ROWS)}</tbody></table></div>
<div data-points-of="rows" data-label="Rows" data-across="cost|bytes" data-up="run" data-ink="from"></div>
<div data-lines-of="rows" data-label="Rows" data-up="run" data-ink="run"></div>
<div data-heat-of="rows" data-across="to" data-down="from" data-sums></div></main>
<script>{joined(TABLE_PLOTS)}</script>""",
        encoding="utf-8",
    )
    browser.open(file, width=390)
    browser.evaluate("document.querySelector('details').open = true")
    return browser


def choose(page: Chromium, selector: str, value: str) -> None:
    page.evaluate(
        f"(() => {{ const it = document.querySelector(`{selector}`); it.value = '{value}';"
        f" it.dispatchEvent(new Event('change')); it.dispatchEvent(new Event('input')); }})()"
    )


def settled(page: Chromium, kind: str) -> str:
    """The picture when nothing more is drawn."""
    last, now = "", page.evaluate(PICTURE % kind)
    while now != last:
        page.evaluate("new Promise((done) => setTimeout(done, 60))")
        last, now = now, page.evaluate(PICTURE % kind)
    return str(now)


def test_two_columns_place_points_and_any_column_colours_them(page: Chromium) -> None:
    chosen = "[...document.querySelectorAll('[data-points-of] select')].map(({ value }) => value)"
    assert page.evaluate(chosen) == ["bytes", "run", "from"]
    offered = page.evaluate(
        "[...document.querySelectorAll('[data-points-of] select')[2].options].map((one) => one.textContent)"
    )
    assert offered == ["from", "to", "bytes", "run"]  # a column of many texts is none
    before = settled(page, "points")
    choose(page, "[data-points-of] .pick:nth-child(3) select", "run")
    assert settled(page, "points") != before
    legend = "[...document.querySelectorAll('[data-points-of] .inks li')].map((one) => one.textContent)"
    assert page.evaluate(legend) == ["0.533 days", "3 days", "7 days"]
    assert page.problems == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_arrow_keys_go_from_the_best_row_to_the_next_and_choose_it_everywhere(page: Chromium) -> None:
    lines = settled(page, "lines")
    page.evaluate("document.querySelector('[data-points-of] canvas').focus()")
    said = "document.querySelector('[data-points-of] [aria-live]').textContent"
    page.press("Home", 36)
    settled(page, "points")
    assert page.evaluate(said) == "Circle: from 0, to 2, bytes 1.00 MB, run 0.533 days, note second"
    page.press("ArrowRight", 39)
    settled(page, "points")
    assert page.evaluate(said).startswith("Circle: from 0, to 1")
    assert page.evaluate("document.querySelector('tr[aria-current]').rowIndex") == 1
    assert (
        page.evaluate("document.querySelector('[data-heat-of] [aria-pressed=true]').textContent") == "3.00 MB"
    )
    assert settled(page, "lines") != lines


def test_a_click_on_a_point_chooses_its_row(page: Chromium) -> None:
    settled(page, "points")
    page.evaluate("document.querySelector('[data-points-of] canvas').scrollIntoView({ behavior: 'instant' })")
    area = page.evaluate(
        "(({ left, right, top }) => [left, right, top])"
        "(document.querySelector('[data-points-of] canvas').getBoundingClientRect())"
    )
    # A 25th of each range is free on both sides: 1 MB is at 1.12 of 3.24 MB, and the fastest row lies lowest.
    width = area[1] - area[0] - 58 - 14
    page.click(area[0] + 58 + width * 1.12 / 3.24, area[2] + 24 + 314 * (1 - 0.04 / 1.08))
    assert page.evaluate("document.querySelector('tr[aria-current]')?.rowIndex") == 2


def test_filters_take_points_and_lines_away(page: Chromium) -> None:
    before = [settled(page, kind) for kind in ("points", "lines")]
    choose(page, "input[name=run-to]", "3")
    assert page.evaluate("document.querySelector('[role=status]').textContent") == "2 of 4 rows are shown"
    assert [settled(page, kind) for kind in ("points", "lines")] != before
    page.evaluate("document.querySelector('.row button').click()")
    assert [settled(page, kind) for kind in ("points", "lines")] == before


def test_a_map_of_sums_has_every_value_both_ways_and_ends_with_sums(page: Chromium) -> None:
    lines = page.evaluate(
        "[...document.querySelectorAll('[data-heat-of] tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.innerText.trim()))"
    )
    assert lines == [
        ["", "to 0", "to 1", "to 2", "all"],
        ["from 0", "·", "3.00 MB", "1.00 MB", "4 MB"],
        ["from 1", "·", "·", "2.00 MB", "2.00 MB"],
        ["from 2", "0.00 MB", "·", "·", "0.00 MB"],
        ["all", "0.00 MB", "3.00 MB", "3.00 MB", "6 MB"],
    ]
    levels = page.evaluate(
        "[...document.querySelectorAll('[data-heat-of] button')].map((one) => one.className)"
    )
    assert levels == ["l0", "l4", "l2", "l6"]  # parts of the largest value
    choose(page, "input[name=bytes-from]", "1.5")
    sums = page.evaluate("[...document.querySelectorAll('.sum')].at(-1).textContent")
    assert sums == "5 MB"


def test_paper_has_the_light_colours(page: Chromium) -> None:
    light = settled(page, "points")
    page.prefer(prefers_color_scheme="dark")
    dark = settled(page, "points")
    assert dark != light
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert settled(page, "points") == light
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert settled(page, "points") == dark
    page.prefer(prefers_color_scheme="light")


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_drawings_have_no_serious_barrier(page: Chromium, scheme: str) -> None:
    page.prefer(prefers_color_scheme=scheme)
    assert barriers(page) == []
    page.prefer(prefers_color_scheme="light")
