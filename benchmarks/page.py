"""Section `page`: an explorer in headless Chromium: its start, a slider's change, and its longest tasks."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.cases import Cases
from benchmarks.measure import ROOT, run_command
from dse.answers.explorer import without_engine

Row = dict[str, str | int | float | bool | None]
SETTLED = "explorer.app.page.isIdle && explorer.app.page.frame && explorer.app.page.frame.isLive"
VIEWS = ("breakdown", "memory", "timeline", "tornado", "map")

# Milliseconds since the address was opened: the form can be used; the first points stand.
_WATCH = """
globalThis.reached = {};
const watch = setInterval(() => {
  const app = typeof explorer === "undefined" ? undefined : explorer.app?.page;
  if (!reached.usable && document.querySelector("#form input")) reached.usable = performance.now();
  if (!app?.frame?.isLive || !reached.usable) return;
  reached.points = performance.now();
  clearInterval(watch);
}, 4);
"""
_CHANGE = """(async () => {
  const began = performance.now();
  explorer.state.set({ changes: { "system.peak_tflops": TFLOPS } });
  do await new Promise((done) => requestAnimationFrame(done));
  while (!(explorer.app.page.isIdle && explorer.app.page.frame.scenario.system.peak_tflops === TFLOPS));
  return performance.now() - began;
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
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with Chromium(program, folder) as browser:
            browser.run_first(_WATCH)
            for system, model in cases.pairs:
                file = folder / f"{model}.html"
                words = ("explore", f"system={system}", f"model={model}", "--no-open", "-o", file)
                run_command([sys.executable, "-m", "dse", *words], ROOT)
                found = [_measured(browser, file, turn) for turn in range(repeats)]
                yield {
                    "name": f"{model} on {system}",
                    "repeats": repeats,
                    "page_bytes": file.stat().st_size,
                    **{key: statistics.median(each[key] for each in found) for key in found[0]},
                }


def _measured(browser: Any, file: Path, turn: int) -> dict[str, float]:
    """One start, one change in sight of the first plots, and one of each view."""
    browser.trace()
    browser.open(file, width=1400, height=1000)
    browser.until(SETTLED)
    started = browser.task_cpu_ms()
    reached = browser.evaluate("reached")
    browser.trace()
    change_ms = browser.evaluate(_CHANGE.replace("TFLOPS", json.dumps(451 + turn)))
    for view in VIEWS:
        section = f"document.getElementById('view-{view}')"
        browser.evaluate(f"{section}.scrollIntoView({{ block: 'center', behavior: 'instant' }})")
        browser.until(f"!('unseen' in {section}.dataset) && {section}.ariaBusy !== 'true' && {SETTLED}")
    used = browser.task_cpu_ms()
    return {
        "usable_s": reached["usable"] / 1e3,
        "points_s": reached["points"] / 1e3,
        "change_s": change_ms / 1e3,
        "start_task_cpu_s": started[0] / 1e3,
        "use_task_cpu_s": used[0] / 1e3,
    }
