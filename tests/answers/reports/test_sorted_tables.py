"""Headings of tables that sort: by figures, not by how they are written; rows without one come last."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Chromium

from dse.base.pages import TABLES, joined

TABLE = """<!doctype html><meta charset="utf-8"><title>t</title>
<table class="sorts"><thead><tr>
<th>stage</th><th>time</th><th><span class="unseen">as a bar</span></th></tr></thead><tbody>
<tr><td>stage 10</td><td data-of="2000000">2 ms</td></tr>
<tr><td>stage 2</td><td data-of="">–</td></tr>
<tr><td>stage 1</td><td data-of="900">900 ns</td></tr>
</tbody></table>"""


def names(browser: Chromium) -> list[str]:
    found: list[str] = browser.evaluate(
        "[...document.querySelectorAll('td:first-child')].map((c) => c.textContent)"
    )
    return found


def press(browser: Chromium, column: int) -> str | None:
    """Press a heading; return the order that it tells."""
    heading = f"document.querySelectorAll('th')[{column}]"
    browser.evaluate(f"{heading}.querySelector('button').click()")
    order: str | None = browser.evaluate(f"{heading}.getAttribute('aria-sort')")
    return order


@pytest.mark.parametrize(
    ("column", "ascending", "descending"),
    [
        (0, ["stage 1", "stage 2", "stage 10"], ["stage 10", "stage 2", "stage 1"]),
        (1, ["stage 1", "stage 10", "stage 2"], ["stage 10", "stage 1", "stage 2"]),
    ],
    ids=["texts with numbers", "figures of several units"],
)
def test_a_heading_sorts_and_once_more_the_other_way(
    browser: Chromium, tmp_path: Path, column: int, ascending: list[str], descending: list[str]
) -> None:
    file = tmp_path / "table.html"
    file.write_text(f"{TABLE}<script>{joined(TABLES)}</script>", encoding="utf-8")
    browser.open(file)
    assert (press(browser, column), names(browser)) == ("ascending", ascending)
    assert (press(browser, column), names(browser)) == ("descending", descending)
    assert press(browser, 1 - column) == "ascending"
    assert browser.evaluate("document.querySelectorAll('[aria-sort]').length") == 1
    assert browser.evaluate("document.querySelectorAll('th button').length") == 2  # none that is not seen
    assert browser.problems == []
