"""The state of an explorer in a real browser: its address, links, saved pages, undo and redo."""

from __future__ import annotations

from pathlib import Path

import pytest
from chromium import Chromium
from pages import EVERY_CHANGE, SETTLED, assert_quiet, frame, native, needs_live_page, opened, set_state

from dse.studies.config import compose_config
from dse.studies.points import point_of

pytestmark = needs_live_page


def test_the_address_restores_the_state(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    set_state(
        browser,
        {"changes": EVERY_CHANGE, "cap_bytes": 40_000_000_000, "selected": "dp4 tp4 sp4 pp1 recompute"},
    )
    before = browser.evaluate("[explorer.state.get(), explorer.app.page.frame.rows]")
    browser.until("location.hash.length > 100")
    fragment = browser.evaluate("location.hash.slice(1)")
    opened(browser, page, fragment)
    assert browser.evaluate("[explorer.state.get(), explorer.app.page.frame.rows]") == before
    assert browser.evaluate("location.hash.slice(1)") == fragment
    assert before[0]["changes"] == EVERY_CHANGE
    assert_quiet(browser, page)


@pytest.mark.parametrize(
    ("fragment", "says"),
    [
        ("constructor=3&toString=1", "constructor: no figure of this page; toString: no figure"),
        ("preset.nothing=3", "preset.nothing: no choice of this page"),
        ("system.peak_tflops=NaN&cap=-1GB", "'NaN' is not possible"),
    ],
)
def test_a_link_that_cannot_be_read_is_told_and_the_page_works(
    browser: Chromium, page: Path, fragment: str, says: str
) -> None:
    opened(browser, page, fragment)
    assert says in browser.evaluate("document.getElementById('alert').textContent")
    assert browser.problems == []


def test_a_chosen_point_that_is_not_there_is_told(browser: Chromium, page: Path) -> None:
    opened(browser, page, "selected=dp3%20tp1%20sp1%20pp1")
    told = browser.evaluate("document.querySelector('.doubts').textContent")
    assert told == "The chosen dp3 tp1 sp1 pp1 is not in this space."


def test_the_link_to_the_results_keeps_the_state(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    set_state(browser, {"changes": {"model.batch_size": 64}})
    browser.evaluate("document.querySelector('.skip').click()")
    browser.evaluate("new Promise(done => setTimeout(done, 400))")
    assert browser.evaluate("explorer.state.get().changes") == {"model.batch_size": 64}
    assert browser.evaluate("document.activeElement.id") == "views"


def test_a_saved_page_can_go_back_to_what_it_was_made_with(
    browser: Chromium, page: Path, tmp_path: Path
) -> None:
    opened(browser, page)
    set_state(browser, {"changes": {"model.batch_size": 64}, "selected": "dp8 tp1 sp8 pp1"})
    browser.evaluate("explorer.dom.save = (name, content) => { globalThis.saved = content; }")
    browser.evaluate("document.getElementById('save').click()")
    copy = tmp_path / "saved.html"
    copy.write_text(browser.evaluate("saved"), encoding="utf-8")
    state = browser.evaluate("explorer.state.get()")
    opened(browser, copy)
    assert browser.evaluate("explorer.state.get()") == state
    browser.evaluate("document.getElementById('reset').click()")
    browser.until("location.hash === '#preset.model='")
    opened(browser, copy, "preset.model=")
    assert browser.evaluate("explorer.state.get().changes") == {}


def test_the_address_restores_presets(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    set_state(browser, {"preset": {"model": "tiny", "system": "dgx16"}, "changes": {"model.seq_len": 1024}})
    rows = frame(browser, "rows")
    config = compose_config(["system=dgx16", "model=tiny", "model.seq_len=1024"])
    strategies = config.space.strategies(config.model, config.system)
    assert rows == native(point_of(config, config.strategy).scenario, strategies)
    browser.until("location.hash.length > 10")
    fragment = browser.evaluate("location.hash.slice(1)")
    opened(browser, page, fragment)
    assert frame(browser, "rows") == rows
    assert browser.evaluate("document.querySelector('h1').textContent") == "tiny on dgx16"
    browser.evaluate("document.getElementById('reset').click()")
    browser.until(SETTLED)
    assert browser.evaluate("document.title") == "llama70b on system1: explorer"


def test_undo_and_redo_go_back_and_forth(browser: Chromium, page: Path) -> None:
    opened(browser, page)
    before = frame(browser, "rows")
    set_state(browser, {"changes": {"model.batch_size": 128}})
    changed = frame(browser, "rows")
    for button, expected in (("undo", before), ("redo", changed), ("reset", before)):
        browser.evaluate(f"document.getElementById('{button}').click()")
        browser.until(SETTLED)
        assert frame(browser, "rows") == expected
