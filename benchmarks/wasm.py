"""Section `wasm`: the engine of a page under Node against the native one, on the spaces of the lab."""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.cases import Cases
from benchmarks.measure import BenchmarkError, in_fresh_process
from dse.answers.explorer.page import engine_file, script
from dse.inputs.strategies import TRACED, Strategy
from dse.simulation.workloads.generators import _generated
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, Scenario, evaluate, scenario_of
from dse.studies.points.inputs import model_json, system_json

Row = dict[str, str | int | float | bool | None]
CHANGED = ("model", "system")

# Seconds of each repetition, by what a slider changes: the model, so that all workloads are made anew, or the
# system. The first time is apart: browsers compile a second time while they run.
_PROGRAM = """
const [wasm] = process.argv.slice(1);
const fs = require("node:fs");
const { scenario, strategies, repeats } = JSON.parse(fs.readFileSync(0, "utf8"));
const seconds = (run) => {
  const began = performance.now();
  run();
  return (performance.now() - began) / 1e3;
};
const bytes = fs.readFileSync(wasm);
let engine;
const start = seconds(() => {
  engine = explorer.host.create(bytes);
  engine.versions();
});
const first = seconds(() => engine.evaluate(scenario, strategies));
const found = { start, first, model: [], system: [] };
for (let turn = 1; turn <= repeats; turn += 1) {
  scenario.model.name = `model ${turn}`;
  found.model.push(seconds(() => engine.evaluate(scenario, strategies)));
  scenario.system.peak_tflops += 1;
  found.system.push(seconds(() => engine.evaluate(scenario, strategies)));
}
found.memory = engine.memoryBytes();
console.log(JSON.stringify(found));
"""


def wasm(cases: Cases, repeats: int) -> Iterator[Row]:
    """Wall seconds of whole spaces after a change of the model or of the system, in a page and here."""
    node, module = shutil.which("node"), engine_file()
    if node is None or module is None:
        what = "node is not installed" if node is None else "make wasm has not been run"
        print(f"wasm: not measured, {what}", file=sys.stderr)
        return
    content = module.read_bytes()
    sizes: Row = {"module_bytes": len(content), "gzip_bytes": len(gzip.compress(content, 9, mtime=0))}
    for system, model in cases.pairs:
        name = f"{model} on {system}"
        scenario, strategies = _space(system, model)
        page = _in_page(node, str(module), scenario, strategies, repeats)
        native = in_fresh_process(native_seconds, system, model, repeats)
        for changed in CHANGED:
            seconds, ours = statistics.median(page[changed]), statistics.median(native[changed])
            yield {
                "name": name,
                "changed": changed,
                "points": len(strategies),
                "repeats": repeats,
                "page_s": seconds,
                "page_max_s": max(page[changed]),
                "native_s": ours,
                "ratio_to_native": seconds / ours,
                "start_s": page["start"],
                "first_s": page["first"],
                "memory_bytes": page["memory"],
                **sizes,
            }


def native_seconds(system: str, model: str, repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each repetition in the package, by what is changed before it."""
    scenario, strategies = _space(system, model)
    _evaluated(scenario, strategies)
    found: dict[str, list[float]] = {changed: [] for changed in CHANGED}
    for turn in range(1, repeats + 1):
        _generated.clear()
        found["model"].append(_evaluated(scenario, strategies))
        faster = replace(scenario.system, peak_tflops=scenario.system.peak_tflops + turn)
        found["system"].append(_evaluated(replace(scenario, system=faster), strategies))
    return found


def _space(system: str, model: str) -> tuple[Scenario, list[Strategy]]:
    config = compose_config([f"system={system}", f"model={model}"])
    return scenario_of(config), list(config.space.strategies(config.model, config.system))


def _evaluated(scenario: Scenario, strategies: list[Strategy]) -> float:
    began = time.perf_counter()
    for strategy in strategies:
        evaluate(DesignPoint(scenario, strategy))
    return time.perf_counter() - began


def _in_page(
    node: str, module: str, scenario: Scenario, strategies: list[Strategy], repeats: int
) -> dict[str, Any]:
    request = {
        "scenario": {
            "model": json.loads(model_json(scenario.model)),
            "system": json.loads(system_json(scenario.system)),
            "divisibility": scenario.resolved_divisibility,
        },
        "strategies": [{key: getattr(strategy, key) for key in TRACED} for strategy in strategies],
        "repeats": repeats,
    }
    done = subprocess.run(
        [node, "-e", str(script("host")) + _PROGRAM, module],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchmarkError(f"node: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
