"""The engine on the main thread of a page, under Node: order, cancellation, known rows, what goes wrong."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import Any

from engine_points import Group, expected, scenario_json, strategies_json
from page_programs import NODE, loading, needs_engine, needs_node

from dse import __version__
from dse.answers.explorer.page import engine_file, script
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.native import _engine
from dse.studies.points import Scenario

ENGINE = engine_file()
pytestmark = [needs_node, needs_engine]

# A worker is a context of its own in the same process; one that `hangs` never answers.
_START = """
const [wasm] = process.argv.slice(1);
const fs = require("node:fs"), vm = require("node:vm");
const { scenario, strategies, result_version, workerSource } = JSON.parse(fs.readFileSync(0, "utf8"));
let served = workerSource;
const workers = [], posted = [];
let hangs = false;
class Channel { // Node's own lets nothing else in while messages go to and fro
  port1 = {};
  port2 = { postMessage: () => setImmediate(() => this.port1.onmessage()) };
}
URL.createObjectURL = () => "blob:worker";
globalThis.Worker = class {
  constructor() {
    const context = {
      WorkerGlobalScope: 1, WebAssembly, TextEncoder, TextDecoder, performance, MessageChannel: Channel,
      atob, Blob, Response, DecompressionStream,
      postMessage: (sent) => {
        const data = structuredClone(sent);
        setImmediate(() => this.terminated || this.onmessage({ data }));
      },
    };
    context.self = context;
    vm.runInNewContext(served, context);
    this.context = context;
    workers.push(this);
  }
  postMessage(data) {
    posted.push(data.type);
    if (!hangs || data.type === "start") setImmediate(() => this.context.self.onmessage({ data }));
  }
  terminate() {
    this.terminated = true;
  }
};
const { start, evaluate, record } = explorer.engine;
const packed = require("node:zlib").gzipSync(fs.readFileSync(wasm), { level: 1 }).toString("base64");
const error = (promise) => promise.then(() => "no error", ({ kind, message }) => [kind, message]);
const other = (peak) => ({ ...scenario, system: { ...scenario.system, peak_tflops: peak } });
(async () => {
  const found = {};
"""
_END = """
  process.stdout.write(JSON.stringify(found), () => process.exit(0));
})();
"""

MODEL = ModelSpec("tiny", 64, 64, 32, 64, 4, 16, 8, 4)
SYSTEM = SystemSpec(
    "ring",
    (Dimension("Ring", 8, 50.0, 500.0),),
    CollectiveAlgorithms(("ring",), ("ring",), ("ring",), ("ring",)),
    peak_tflops=1.0,
    memory_bandwidth_gbps=100.0,
)
GROUP = Group(Scenario("page", MODEL, SYSTEM), [Strategy(8), Strategy(2, 2, 2), Strategy(16), Strategy(4, 2)])


def run(program: str, group: Group = GROUP) -> Any:
    """Run a program that fills `found`, and return that."""
    assert NODE is not None
    given = {
        "scenario": scenario_json(group.scenario),
        "strategies": strategies_json(group.strategies),
        "result_version": _engine.RESULT_VERSION,
        "workerSource": script("worker"),
    }
    done = subprocess.run(
        [NODE, "-e", loading("engine") + _START + program + _END, str(ENGINE)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def figures(rows: list[dict[str, Any]], group: Group = GROUP) -> list[dict[str, Any]]:
    """The columns of `expected`."""
    return [{name: row[name] for name in expected(group)[0]} for row in rows]


def test_rows_come_with_progress_and_are_computed_once() -> None:
    found = run("""
  const steps = [];
  found.versions = await start({ packed, workerSource, result_version });
  found.rows = await evaluate(scenario, strategies, { onProgress: (...step) => steps.push(step) });
  found.steps = steps;
  const before = posted.length;
  found.again = await evaluate(structuredClone(scenario), [...strategies].reverse());
  found.posted = posted.length - before;
  found.again[0].label = "changed by who asked";
  found.third = await evaluate(scenario, [strategies[3]]);
""")
    assert found["versions"] == {"version": __version__, "result_version": _engine.RESULT_VERSION}
    assert figures(found["rows"]) == expected(GROUP)
    assert [row["label"] for row in found["rows"]] == [each.label() for each in GROUP.strategies]
    assert found["steps"][-1] == [4, 4]
    assert figures(found["again"]) == expected(GROUP)[::-1]
    assert found["posted"] == 0
    assert found["third"][0]["label"] == "dp4 tp2 sp1 pp1"


def test_calls_wait_for_each_other_and_urgent_ones_go_first() -> None:
    found = run("""
  await start({ packed, workerSource, result_version });
  found.order = [];
  const task = async (name, peak, priority) => {
    await evaluate(other(peak), strategies, { priority });
    found.order.push(name);
  };
  await Promise.all([task("first", 2), task("second", 3), task("urgent", 4, 1), task("last", 5, -1)]);
""")
    assert found["order"] == ["first", "urgent", "second", "last"]


def test_what_is_no_longer_needed_ends_soon_and_the_worker_goes_on() -> None:
    """Soon means within two slices, by a clock of rows; no timer may end what the worker does not."""
    strategies = [Strategy(8), Strategy(2, 2, 2)] * 100
    found = run(
        """
  let rows = 0;
  Object.defineProperty(globalThis, "performance", { value: { now: () => (rows += 1) } });
  globalThis.setTimeout = () => 0;
  await start({ packed, workerSource, result_version });
  const waits = new AbortController(), runs = new AbortController(), never = AbortSignal.abort();
  let seen = 0;
  const running = error(evaluate(scenario, strategies, { signal: runs.signal, onProgress: () => {
    seen += 1;
    if (seen === 2) runs.abort();
  } }));
  const waiting = error(evaluate(other(2), strategies, { signal: waits.signal }));
  waits.abort();
  found.waiting = await waiting;
  found.never = await error(evaluate(other(3), strategies, { signal: never }));
  found.running = await running;
  found.seen = seen;
  found.rows = await evaluate(scenario, strategies.slice(0, 2));
  found.workers = workers.length;
""",
        Group(GROUP.scenario, strategies),
    )
    cancelled = ["cancelled", "it is no longer needed"]
    assert found["waiting"] == found["never"] == found["running"] == cancelled
    assert 2 <= found["seen"] <= 4
    assert figures(found["rows"]) == expected(Group(GROUP.scenario, strategies[:2]))
    assert found["workers"] == 1


def test_a_worker_that_does_not_listen_is_replaced() -> None:
    found = run("""
  await start({ packed, workerSource, result_version });
  const stop = new AbortController();
  hangs = true;
  const stuck = error(evaluate(scenario, strategies, { signal: stop.signal }));
  setTimeout(() => stop.abort(), 10);
  found.stuck = await stuck;
  hangs = false;
  found.rows = await evaluate(scenario, strategies);
  found.terminated = workers.map((worker) => !!worker.terminated);
  found.posted = posted;
""")
    assert found["stuck"] == ["cancelled", "it is no longer needed"]
    assert figures(found["rows"]) == expected(GROUP)
    assert found["terminated"] == [True, False]
    # The first worker unpacks the engine, away from the main thread; the next one gets it compiled.
    started = ["unpack", "evaluate", "cancel", "start", "evaluate"]
    assert found["posted"] == started


def test_what_goes_wrong_has_a_kind_and_a_message() -> None:
    found = run("""
  found.broken = await error(start({ packed: "AQID", workerSource, result_version }));
  found.old = await error(start({ packed, workerSource, result_version: 99 }));
  served = workerSource.replace('"mfu_pct","tokens_per_s",', "");
  found.older = await error(start({ packed, workerSource, result_version }));
  served = workerSource;
  await start({ packed, workerSource, result_version });
  found.input = await error(evaluate(other(-1), strategies));
  const stuck = evaluate(other(2), strategies);
  await new Promise((resolve) => setImmediate(resolve));
  workers.at(-1).onerror({ message: "out of everything", preventDefault() {} });
  found.dead = await error(stuck);
  found.rows = await evaluate(scenario, strategies);
  found.record = Object.keys(await record(scenario, strategies[0]));
""")
    assert found["broken"][0] == "trap"
    assert found["broken"][1].startswith("this browser cannot run the engine: ")
    assert found["older"] == ["input", "the engine is older than this page: build it again (make wasm)"]
    version = _engine.RESULT_VERSION
    assert found["old"] == [
        "input",
        f"this page was written for results of version 99, but its engine gives version {version}: build it "
        "again (make wasm)",
    ]
    assert found["input"] == [
        "input",
        "system.peak_tflops is -1; it must be a number 0 or greater, and at most 1e+30",
    ]
    assert found["dead"] == ["trap", "the engine's worker stopped: out of everything"]
    assert figures(found["rows"]) == expected(GROUP)
    assert found["record"] == ["row", "ranks", "groups"]


def test_an_engine_that_is_refused_computes_nothing() -> None:
    """Neither what waits while it starts nor what is asked later: all get the reason."""
    found = run("""
  served = workerSource.replace('"mfu_pct","tokens_per_s",', "");
  const started = error(start({ packed, workerSource, result_version }));
  const waiting = error(evaluate(scenario, strategies));
  found.started = await started;
  found.waiting = await waiting;
  found.later = await error(record(scenario, strategies[0]));
  found.posted = [...posted];
  served = workerSource;
  await start({ packed, workerSource, result_version });
  found.rows = await evaluate(scenario, strategies);
""")
    reason = ["input", "the engine is older than this page: build it again (make wasm)"]
    assert found["started"] == found["waiting"] == found["later"] == reason
    assert found["posted"] == ["unpack"]
    assert figures(found["rows"]) == expected(GROUP)


def test_a_failed_point_is_a_row_among_others() -> None:
    system = replace(SYSTEM, network=(Dimension("Ring", 8, 50.0, 2.0**53 - 1),))
    group = Group(Scenario("late", MODEL, system), [Strategy(8), Strategy(16)])
    found = run(
        """
  await start({ packed, workerSource, result_version });
  found.rows = await evaluate(scenario, strategies);
""",
        group,
    )
    assert [row["status"] for row in found["rows"]] == ["failed", "infeasible"]
    assert figures(found["rows"], group) == expected(group)
