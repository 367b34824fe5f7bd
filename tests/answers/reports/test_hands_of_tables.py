"""Tables of a page have filters, colours by any column and a heat map: shown rows, legends, marks, keys."""

from __future__ import annotations

import pytest
from chromium import Chromium

from dse.base.pages import BASE_STYLE, TABLE_PLOTS, inlined, joined

ROWS = [("2", "1", 900, "900 µs"), ("2", "4", 1500, "1.5 ms"), ("4", "1", 1200, "1.2 ms")]
ROWS += [("4", "4", 3000, "3 ms"), ("4", "4", 2000, "2 ms"), ("2", "4", 0, "–")]
NAMES = ["Narrow", "narrow, deep", "wide", "wide, deep", "widest", "none"]


@pytest.fixture(scope="module")
def page(browser: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Chromium:
    """A page with a table of six rows, the last of which has no time."""
    rows = "".join(
        f'<tr data-mark="{place}"><td>{stages}</td><td>{tp}</td><td data-of="{of or ""}">{text}</td>'
        f"<td>{NAMES[place]}</td></tr>"
        for place, (stages, tp, of, text) in enumerate(ROWS)
    )
    file = tmp_path_factory.mktemp("hands") / "table.html"
    file.write_text(
        f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>
<style>{inlined(BASE_STYLE)}</style>
<main><div class="scroll" aria-label="Plans"><table class="sorts" id="plans">
<thead><tr><th>stages</th><th>tp</th><th>time</th><th>name</th></tr></thead><tbody>{rows}</tbody></table></div>
<div data-heat-of="plans" data-across="tp" data-down="stages"></div></main>
<script>{joined(TABLE_PLOTS)}</script>""",
        encoding="utf-8",
    )
    browser.open(file, width=390)
    browser.evaluate("document.querySelector('details').open = true")
    return browser


def shown(page: Chromium) -> list[int]:
    """The places of the rows that are shown."""
    places: list[int] = page.evaluate(
        "[...document.querySelectorAll('#plans tbody tr')].filter((row) => row.checkVisibility())"
        ".map((row) => Number(row.dataset.mark))"
    )
    return places


def give(page: Chromium, selector: str, value: str, event: str = "input") -> None:
    page.evaluate(
        f"(() => {{ const it = document.querySelector(`{selector}`); it.value = '{value}';"
        f" it.dispatchEvent(new Event('{event}')); }})()"
    )


def test_boxes_and_ranges_leave_rows_out_and_say_how_many(page: Chromium) -> None:
    legends = page.evaluate("[...document.querySelectorAll('legend')].map((one) => one.textContent)")
    assert legends == ["stages", "tp", "time, ms", "name"]
    counted = "document.querySelector('[role=status]').textContent"
    give(page, ".range input[id$=to]", "1.5")
    assert (shown(page), page.evaluate(counted)) == ([0, 1, 2], "3 of 6 rows are shown")
    page.evaluate("document.querySelector('.chip input').focus()")
    page.press(" ", 32)
    assert shown(page) == [2]  # those of two stages are left out too
    page.evaluate("document.querySelectorAll('#plans th button')[2].click()")
    assert shown(page) == [2]
    page.evaluate("document.querySelector('.row button').click()")
    assert shown(page) == [0, 2, 1, 4, 3, 5]  # sorted, the row without a time last
    assert page.evaluate("document.querySelector('.row button').disabled")


def test_texts_of_many_values_are_searched_for_a_part_in_either_case(page: Chromium) -> None:
    give(page, "input[type=search]", "NARR")
    assert shown(page) == [0, 1]
    give(page, "input[type=search]", "deep")
    assert sorted(shown(page)) == [1, 3]
    page.evaluate("document.querySelector('.row button').click()")
    assert len(shown(page)) == 6
    assert page.evaluate("document.querySelector('input[type=search]').value") == ""


def test_a_column_colours_rows_and_their_marks_with_a_legend(page: Chromium) -> None:
    choice = "[...document.querySelectorAll('.pick select')].find((one) => one.options[0].value === '')"
    page.evaluate(f"({choice}).id = 'ink'")
    offered = page.evaluate("[...document.getElementById('ink').options].map((one) => one.textContent)")
    assert offered == ["as it is", "stages", "tp", "time"]
    give(page, "#ink", "time", "change")
    legend = page.evaluate("[...document.querySelectorAll('.inks li')].map((one) => one.textContent)")
    assert legend == ["900 µs", "1.2 ms", "1.5 ms", "2 ms", "3 ms"]
    mark = "getComputedStyle(document.documentElement).getPropertyValue('--mark-%d').trim()"
    light = page.evaluate(mark % 3)
    assert light == page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--r5').trim()"
    )
    page.prefer(prefers_color_scheme="dark")
    assert page.evaluate(mark % 3) not in ("", light)
    page.prefer(prefers_color_scheme="light")
    give(page, "#ink", "", "change")
    assert page.evaluate(mark % 3) == ""
    assert page.evaluate("document.querySelectorAll('.inked, .inks').length") == 0


def test_a_heat_map_has_the_best_of_the_shown_rows_and_leads_to_them(page: Chromium) -> None:
    cells = "[...document.querySelectorAll('.heat td button')].map((one) => one.textContent)"
    assert page.evaluate(cells) == ["900 µs", "1.5 ms", "1.2 ms", "2 ms"]
    levels = page.evaluate("[...document.querySelectorAll('.heat td button')].map((one) => one.className)")
    assert levels == ["l0", "l5", "l4", "l6"]
    page.evaluate("document.querySelectorAll('.heat td button')[3].focus()")
    page.press("Enter", 13)
    assert page.evaluate("document.querySelector('[aria-current]').dataset.mark") == "4"
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    give(page, ".range input[id$=from]", "1.6")
    assert page.evaluate(cells) == ["2 ms"]
    page.evaluate("document.querySelector('.row button').click()")
    assert page.problems == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
