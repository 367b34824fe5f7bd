"""Pages of the explorer for tests in a browser, and what they ask there; skips where a part is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from chromium import NAMES, Chromium, found_chromium
from command_lines import run_ok
from page_programs import needs_engine

from dse.answers.explorer.data import row_data, scenario_data
from dse.inputs.strategies import Strategy
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, Scenario, evaluate, scenario_of

PROGRAM = found_chromium()
LAB = {
    "llama70b-system1": ("system=system1", "model=llama70b"),
    "gpt175b-system2": ("system=system2", "model=gpt175b"),
}
needs_live_page = [
    pytest.mark.skipif(
        PROGRAM is None, reason=f"no browser: none of {', '.join(NAMES)} is installed (Debian: chromium)"
    ),
    needs_engine,
]
CAP = 80_000_000_000
EVERY_CHANGE = {
    "system.network.0.bandwidth_gbps": 180.5,
    "system.network.1.latency_ns": 12.25,
    "system.peak_tflops": 333,
    "system.endpoint_delay_ns": 25,
    "system.collectives.all_gather.0": "direct",
    "model.batch_size": 256,
    "model.num_layers": 12,
    "workload.divisibility": "whole",
}
SETTLED = "explorer.app.page.isIdle && explorer.app.page.frame && explorer.app.page.frame.isLive"
WATCH = """\
globalThis.longTasks = [];
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) longTasks.push(Math.round(duration));
}).observe({ type: "longtask", buffered: true });
"""


def made_page(folder: Path, *overrides: str) -> Path:
    """Write a page by the real command."""
    file = folder / "page.html"
    run_ok("explore", *overrides, "--no-open", "-o", file, cwd=folder)
    return file


def chromium(folder: Path) -> Iterator[Chromium]:
    """A browser that counts the long tasks of every page."""
    assert PROGRAM is not None
    with Chromium(PROGRAM, folder) as browser:
        browser.run_first(WATCH)
        yield browser


def opened(browser: Chromium, file: Path, fragment: str = "", **size: int) -> None:
    """Open a page and wait until it has evaluated its first state."""
    browser.open(file, fragment=fragment, **size)
    browser.until(SETTLED)


def evaluated(browser: Chromium, scenario: Scenario, strategies: Sequence[Strategy]) -> list[dict[str, Any]]:
    """The rows of some strategies by the engine in the page."""
    fields = ("dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute")
    asked = [{name: getattr(strategy, name) for name in fields} for strategy in strategies]
    found: list[dict[str, Any]] = browser.evaluate(
        f"explorer.engine.evaluate({json.dumps(scenario_data(scenario))}, {json.dumps(asked)}, {{}})"
    )
    return found


def native(scenario: Scenario, strategies: Sequence[Strategy]) -> list[dict[str, Any]]:
    """The same by the engine of the package."""
    return [row_data(evaluate(DesignPoint(scenario, strategy))) for strategy in strategies]


def lab(name: str) -> tuple[Scenario, tuple[Strategy, ...]]:
    """The scenario and the 56 strategies of a pair of the lab."""
    config = compose_config(LAB[name])
    return scenario_of(config), config.space.strategies(config.model, config.system)


def frame(browser: Chromium, key: str) -> Any:
    return browser.evaluate(f"explorer.app.page.frame.{key}")


def set_state(browser: Chromium, partial: dict[str, Any]) -> None:
    """Change the state as the form does, and wait until it is shown."""
    browser.evaluate(f"explorer.state.set({json.dumps(partial)})")
    browser.until(SETTLED)


def assert_quiet(browser: Chromium, page: Path) -> None:
    """No error on the console, and nothing asked for but the file itself and its own worker."""
    assert browser.problems == []
    others = [url for url in browser.requests if not url.startswith(("data:", "blob:"))]
    assert {url.partition("#")[0] for url in others} == {page.resolve().as_uri()}
