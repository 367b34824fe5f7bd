"""An explorer in a real browser survives bad input, lack of memory, a trap and an engine of others."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Chromium
from command_lines import TINY, run_ok
from pages import SETTLED, WATCH, evaluated, frame, lab, needs_live_page, opened, set_state

from dse.inputs.strategies import Strategy
from dse.native import _engine
from dse.studies.points import Scenario

pytestmark = needs_live_page


def typed(browser: Chromium, key: str, text: str) -> str:
    """Write into a field as a hand does; return what stands beside it."""
    browser.evaluate(
        f"""(() => {{
          const field = document.querySelector('[data-key="{key}"] input[type=text]');
          field.value = {json.dumps(text)};
          field.dispatchEvent(new Event("change", {{ bubbles: true }}));
        }})()"""
    )
    browser.until(SETTLED)
    said: str = browser.evaluate(
        f"""(() => {{
          const error = document.querySelector('[data-key="{key}"] .error');
          return error.hidden ? "" : error.textContent;
        }})()"""
    )
    return said


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("system.peak_tflops", "many", "greater than 0"),
        ("system.peak_tflops", "0", "greater than 0"),
        ("system.peak_tflops", "-3", "greater than 0"),
        ("model.num_layers", "1", "an integer from 2 to 10000"),
        ("model.num_layers", "3.5", "an integer from 2 to 10000"),
        ("system.network.0.npus", "1", "an integer from 2 to"),
        ("model.batch_size", "", "an integer from 1 to"),
        ("system.network.0.npus", "3", "No strategy of the space is left for 48 NPUs"),
    ],
)
def test_bad_input_is_answered_at_the_field_and_the_last_good_state_stays(
    browser: Chromium, page: Path, key: str, text: str, says: str
) -> None:
    opened(browser, page)
    before = browser.evaluate("[explorer.state.get(), explorer.app.page.frame.rows]")
    assert says in typed(browser, key, text)
    assert browser.evaluate("[explorer.state.get(), explorer.app.page.frame.rows]") == before
    assert typed(browser, key, "2") == ""
    assert browser.evaluate("explorer.state.get().changes") == {key: 2}
    assert browser.problems == []


def test_lack_of_memory_is_survived_with_a_message(browser: Chromium, page: Path) -> None:
    """The engine has at most 2 GiB: ten thousand layers with twenty micro-batches need more."""
    opened(browser, page)
    before = frame(browser, "rows")
    scenario, strategies = lab("llama70b-system1")
    model = dataclasses.replace(
        scenario.model, fidelity="realistic", num_layers=10_000, micro_batches=20, batch_size=1280
    )
    (row,) = evaluated(browser, Scenario("large", model, scenario.system), [Strategy(dp=64)])
    assert row["status"] == "failed"
    assert "needs more memory than there is" in row["reason"]
    assert evaluated(browser, scenario, strategies) == before
    assert browser.problems == []


# Keeps hold of the page's workers, and of the engine in each: "break" overwrites all its memory.
BREAKABLE = """
(() => {
  const inWorker = `
    WebAssembly.Instance = class extends WebAssembly.Instance {
      constructor(...given) { super(...given); self.engines = [...(self.engines ?? []), this.exports]; }
    };
    addEventListener("message", ({ data }) => {
      if (data.type === "break") new Uint8Array(self.engines.at(-1).memory.buffer).fill(255);
    });
  `;
  const { createObjectURL } = URL;
  URL.createObjectURL = (blob) => createObjectURL(new Blob([inWorker, blob], { type: blob.type }));
  globalThis.workers = [];
  globalThis.Worker = class extends Worker { constructor(url) { super(url); workers.push(this); } };
})();
"""


@pytest.fixture
def breakable(browser: Chromium) -> Iterator[Chromium]:
    browser.run_first(WATCH + BREAKABLE)
    yield browser
    browser.run_first(WATCH)


def test_a_trap_is_survived_with_a_message_and_the_last_figures(breakable: Chromium, page: Path) -> None:
    """The engine finds its memory overwritten, and reads or writes outside of it: a trap."""
    browser = breakable
    opened(browser, page)
    before = frame(browser, "rows")
    browser.evaluate("workers.at(-1).postMessage({ type: 'break' })")
    set_state(browser, {"changes": {"model.batch_size": 128}})
    alert = browser.evaluate("document.getElementById('alert').textContent")
    assert "the engine stopped and was started again: memory access out of bounds" in alert
    assert "the figures below are those of the state before" in alert
    assert frame(browser, "rows") == before
    set_state(browser, {"changes": {"model.batch_size": 64}})
    assert browser.evaluate("document.getElementById('alert').hidden") is True
    assert frame(browser, "rows") != before
    assert browser.evaluate("workers.length") == 1
    assert browser.problems == []


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of a study whose engine gives results of another version than it was made for."""
    folder = tmp_path_factory.mktemp("refused")
    run_ok("sweep", *TINY, "space.sp=[1,2]", "study=small", cwd=folder)
    run_ok("report", "results/small", "--live", "-o", "page.html", cwd=folder)
    file = folder / "page.html"
    text, count = re.subn(r'"result_version":\d+', '"result_version":99', file.read_text())
    assert count == 1
    file.write_text(text)
    return file


def test_a_page_whose_engine_is_refused_shows_the_stored_rows_and_computes_nothing(
    browser: Chromium, refused: Path
) -> None:
    browser.open(refused, fragment="model.batch_size=4&selected=dp8%20tp2%20sp1%20pp1")
    browser.until(
        "!document.getElementById('static').hidden && document.querySelectorAll('.view').length === 5"
    )
    assert browser.evaluate("document.getElementById('why').textContent") == (
        "The engine does not start: this page was written for results of version 99, but its engine gives "
        f"version {_engine.RESULT_VERSION}: build it again (make wasm)"
    )
    assert browser.evaluate("explorer.app.page.tools.engine") is None
    browser.until("explorer.app.page.frame?.selected.label === 'dp8 tp2 sp1 pp1'")
    browser.evaluate("explorer.state.set({ selected: 'dp16 tp1 sp1 pp1' })")
    assert frame(browser, "selected.label") == "dp16 tp1 sp1 pp1"
    commands = browser.evaluate(
        "[...document.querySelectorAll('.command pre')].map((text) => text.textContent)"
    )
    assert all("batch_size" not in command for command in commands)
    assert frame(browser, "signal.aborted") is False
    assert browser.problems == []


def test_views_lose_what_they_showed_where_no_point_is_ok(browser: Chromium, page: Path) -> None:
    opened(browser, page, width=1400, height=1000)
    view = "document.getElementById('view-map')"
    browser.evaluate(f"{view}.scrollIntoView({{ block: 'center', behavior: 'instant' }})")
    browser.until(f"{view}.querySelectorAll('li').length > 1")
    browser.evaluate(f"{view}.querySelector('details').open = true")
    browser.until(f"{view}.querySelectorAll('td').length > 10")
    set_state(browser, {"changes": {"system.peak_tflops": 1e-9}})
    assert frame(browser, "ok.length") == 0
    browser.until(f"{view}.innerText.includes('No point is ok')")
    left = f"[...{view}.querySelectorAll('li, td, canvas')].filter((each) => each.checkVisibility()).length"
    assert browser.evaluate(left) == 0
    assert "cells are computed" not in browser.evaluate(f"{view}.innerText")
    assert "fits under the cap" not in browser.evaluate("document.getElementById('view-tornado').innerText")
    set_state(browser, {"changes": {}})
    browser.until(f"{view}.querySelectorAll('li').length > 1")
    assert browser.problems == []
