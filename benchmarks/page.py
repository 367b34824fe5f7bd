"""Section `page`: explorers in headless Chromium: their start, a change, and their longest tasks."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cases import Cases
from benchmarks.measure import ROOT, run_command
from dse.answers.explorer import without_engine

Row = dict[str, str | int | float | bool | None]


@dataclass(frozen=True)
class Page:
    """An explorer: its program, a field of its scenario, views to scroll to, and its words."""

    app: str
    field: str
    views: tuple[str, ...]
    words: tuple[str, ...]
    count: str
    limit_mb: float

    @property
    def settled(self) -> str:
        """When all points stand and every view has seen them."""
        return f"explorer.{self.app}.page.isIdle && explorer.{self.app}.page.frame"


def _of_stages(system: str, model: str) -> Page:
    views = ("breakdown", "memory", "timeline", "tornado", "map")
    words = (f"system={system}", f"model={model}")
    return Page("app", "system.peak_tflops", views, words, "strategies.length", 1.5)


def _of_predictions(choices: Sequence[str]) -> Page:
    field = "system.accelerator.peak_tflops.bf16"
    views = ("point", "plans", "scatter", "parallel", "heat")
    words = ("system=dgx_h100", "system.nodes=64", "model=llama3_70b", *choices)
    return Page("predicted_app", field, views, words, "count", 1.7)


# Milliseconds since the address was opened: the form can be used; the first points stand.
_WATCH = """
globalThis.reached = {};
const watch = setInterval(() => {
  if (typeof explorer === "undefined") return;
  const app = (explorer.app ?? explorer.predicted_app)?.page;
  if (!reached.usable && document.querySelector("#form input")) reached.usable = performance.now();
  if (!app?.frame || app.frame.isLive === false || !reached.usable) return;
  reached.points = performance.now();
  clearInterval(watch);
}, 4);
"""
_CHANGE = """(async () => {
  const began = performance.now();
  explorer.state.set({ changes: { FIELD: TFLOPS } });
  do await new Promise((done) => requestAnimationFrame(done));
  while (!(SETTLED && explorer.APP.page.frame.scenario.PATH === TFLOPS));
  return performance.now() - began;
})()"""

# Every choice of a view moves on, each column sorts, and the first cell of a table is chosen.
_HANDS = """(async () => {
  const settled = async () => { do await new Promise((done) => setTimeout(done, 50)); while (!(SETTLED)); };
  const all = (within) => document.querySelectorAll("#view-VIEW " + within).length;
  const nth = (within, index) => document.querySelectorAll("#view-VIEW " + within)[index];
  for (let index = 0; index < all("select"); index += 1) {
    const choice = nth("select", index);
    choice.selectedIndex = (choice.selectedIndex + 1) % choice.options.length;
    choice.dispatchEvent(new Event("change", { bubbles: true }));
    await settled();
  }
  for (let index = 0; index < all("thead button"); index += 1) {
    nth("thead button", index).click();
    await settled();
  }
  nth("tbody button", 0)?.click();
  await settled();
})()"""


def page(cases: Cases, repeats: int) -> Iterator[Row]:
    """Times of a page as its reader sees them, and CPU times of tasks, which a busy machine has too."""
    sys.path.append(str(ROOT / "tests"))
    from chromium import Chromium, found_chromium

    program = found_chromium()
    if problem := without_engine() or ("" if program else "chromium is not installed"):
        print(f"page: not measured, {problem}", file=sys.stderr)
        return
    assert program is not None
    pages = {f"{model} on {system}": _of_stages(system, model) for system, model in cases.pairs}
    pages |= {name: _of_predictions(choices) for name, choices in cases.predicted_pages.items()}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with Chromium(program, folder) as browser:
            browser.run_first(_WATCH)
            for index, (title, each) in enumerate(pages.items()):
                file = folder / f"{index}.html"
                run_command(
                    [sys.executable, "-m", "dse", "explore", *each.words, "--no-open", "-o", file], ROOT
                )
                found = [_measured(browser, each, file, turn) for turn in range(repeats)]
                yield {
                    "name": title,
                    "repeats": repeats,
                    "points": browser.evaluate(f"explorer.{each.app}.page.frame.{each.count}"),
                    "page_bytes": file.stat().st_size,
                    "limit_mb": each.limit_mb,
                    **{key: statistics.median(row[key] for row in found) for key in found[0]},
                }


def _measured(browser: Any, page: Page, file: Path, turn: int) -> dict[str, float]:
    """One start, one change in sight of the first plots, one of each view, then one of each hand."""
    browser.trace()
    browser.open(file, width=1400, height=1000)
    browser.until(page.settled)
    started = browser.task_cpu_ms()
    reached = browser.evaluate("reached")
    browser.trace()
    change = _CHANGE.replace("FIELD", json.dumps(page.field)).replace("TFLOPS", json.dumps(451 + turn))
    change = change.replace("SETTLED", page.settled).replace("APP", page.app).replace("PATH", page.field)
    change_ms = browser.evaluate(change)
    for view in page.views:
        _scroll(browser, page, view)
    used = browser.task_cpu_ms()
    browser.trace()
    for view in page.views:
        _scroll(browser, page, view)
        browser.evaluate(_HANDS.replace("SETTLED", page.settled).replace("VIEW", view))
    moved = browser.task_cpu_ms()
    return {
        "usable_s": reached["usable"] / 1e3,
        "points_s": reached["points"] / 1e3,
        "change_s": change_ms / 1e3,
        "start_task_cpu_s": started[0] / 1e3,
        "use_task_cpu_s": used[0] / 1e3,
        "hands_task_cpu_s": moved[0] / 1e3,
    }


def _scroll(browser: Any, page: Page, view: str) -> None:
    section = f"document.getElementById('view-{view}')"
    browser.evaluate(f"{section}.scrollIntoView({{ block: 'center', behavior: 'instant' }})")
    browser.until(f"!('unseen' in {section}.dataset) && {section}.ariaBusy !== 'true' && {page.settled}")
