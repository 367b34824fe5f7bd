"""The engine of a page under Node: rows are those of the package, to the bit; bad requests do no harm."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from engine_points import (
    PAIRS,
    Group,
    drawn,
    expected,
    fixed,
    lab,
    scenario_json,
    strategies_json,
)
from page_programs import NODE, loading, needs_engine, needs_node
from small_points import small_scenarios

from dse import __version__
from dse.answers.explorer.page import engine_file
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.native import _engine
from dse.studies.points import DesignPoint, Scenario, record_point

ENGINE = engine_file()
pytestmark = [needs_node, needs_engine]

# Answers lines of JSON [name, ...arguments] by the host's functions. `stopAt` makes the engine stop as if by
# an instruction that cannot be reached, when one of its functions has been called some times.
_PROGRAM = """
const [wasm] = process.argv.slice(1);
const stops = {};
WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
  construct(target, parts) {
    const exports = { ...new target(...parts).exports };
    for (const name of ["dse_open", "dse_point"]) {
      const real = exports[name];
      exports[name] = (...given) => {
        if (stops[name]-- === 0) throw new WebAssembly.RuntimeError("unreachable");
        return real(...given);
      };
    }
    return { exports };
  },
});
const engine = explorer.host.create(require("node:fs").readFileSync(wasm));
engine.stopAt = (name, calls) => {
  stops[name] = calls;
  return null;
};
const say = (value) => process.stdout.write(JSON.stringify(value) + "\\n");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [name, ...parts] = JSON.parse(line);
  try {
    say({ result: engine[name](...parts) });
  } catch (error) {
    say({ kind: error.kind ?? "?", message: error.message });
  }
});
"""


class Host:
    """The host of a page in a process of Node."""

    def __init__(self) -> None:
        assert NODE is not None
        self._process = subprocess.Popen(
            [NODE, "-e", loading("host") + _PROGRAM, str(ENGINE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(self, name: str, *parts: Any) -> Any:
        """What a function answers: its result, or kind and message of an error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, *parts]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the host has ended"
        answer = json.loads(line)
        return answer["result"] if "result" in answer else (answer["kind"], answer["message"])

    def rows(self, group: Group, method: str = "auto") -> list[dict[str, Any]]:
        """Rows with the columns of `expected`; those of the strategy are checked here."""
        strategies = strategies_json(group.strategies)
        rows = self.call("evaluate", scenario_json(group.scenario), strategies, method)
        assert isinstance(rows, list), rows
        for row, strategy, given in zip(rows, group.strategies, strategies, strict=True):
            assert row.pop("label") == strategy.label()
            for key, value in given.items():
                assert row.pop(key) == value
        return rows

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    made = Host()
    yield made
    made.close()


def require_equal(host: Host, groups: Sequence[Group]) -> None:
    for group in groups:
        assert host.rows(group) == expected(group), (group.scenario.model, group.scenario.system)


def test_its_versions_are_those_of_the_package(host: Host) -> None:
    found = {"version": __version__, "result_version": _engine.RESULT_VERSION}
    assert host.call("versions") == found, "the engine for pages is of another version: make wasm"


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(pair))
def test_the_points_of_the_lab_are_equal(host: Host, pair: tuple[str, str]) -> None:
    group = lab(*pair)
    assert len(group.strategies) == 56
    require_equal(host, [group])


def test_all_topologies_algorithms_faults_and_repairs_are_equal(host: Host) -> None:
    require_equal(host, list(fixed())[::2])


def test_random_scenarios_are_equal(host: Host) -> None:
    require_equal(host, [Group(*each) for each in small_scenarios(44, 7)])


def test_random_points_of_all_kinds_are_equal(host: Host) -> None:
    groups = drawn(3, 200)
    realistic = [
        Group(replace(group.scenario, model=replace(group.scenario.model, fidelity="realistic")), strategies)
        for group, strategies in ((group, group.strategies) for group in groups[::3])
    ]
    require_equal(host, [*groups, *realistic])


def test_every_rank_and_every_packet_give_the_same(host: Host) -> None:
    for group in drawn(4, 20):
        rows = host.rows(group, "general")
        if rows[0]["status"] == "ok":
            assert rows == expected(group)


MODEL = ModelSpec("tiny", 64, 64, 32, 64, 4, 16, 8, 4)
SYSTEM = SystemSpec(
    "ring",
    (Dimension("Ring", 8, 50.0, 500.0),),
    CollectiveAlgorithms(("ring",), ("ring",), ("ring",), ("ring",)),
    peak_tflops=1.0,
    memory_bandwidth_gbps=100.0,
)
GOOD = Group(Scenario("good", MODEL, SYSTEM), [Strategy(8), Strategy(2, 2, 2), Strategy(16)])


def test_bad_input_is_an_error_and_the_host_lives_on(host: Host) -> None:
    scenario = scenario_json(GOOD.scenario)
    scenario["system"]["network"][0]["bandwidth_gbps"] = -1
    assert host.call("evaluate", scenario, strategies_json(GOOD.strategies)) == (
        "input",
        "system.network.0.bandwidth_gbps is -1; it must be a number greater than 0, and at most 1e+30",
    )
    kind, message = host.call("evaluate", {"model": None, "system": None}, [])
    assert kind == "input"
    assert message.startswith("model is null; it must be a group with the keys name, input_dim,")
    require_equal(host, [GOOD])


def test_a_point_too_large_for_memory_is_survived(host: Host) -> None:
    npus = 2**22
    system = replace(SYSTEM, network=(Dimension("Switch", npus, 50.0, 500.0),))
    model = replace(MODEL, batch_size=npus, num_layers=2)
    rows = host.rows(Group(Scenario("large", model, system), [Strategy(npus)]), "general")
    assert rows[0]["status"] == "failed"
    assert rows[0]["reason"] == (
        "needs more memory than there is; use fewer layers, micro-batches, NPUs or chunks"
    )
    require_equal(host, [GOOD])
    assert host.call("memoryBytes") < 768 * 2**20


def test_an_engine_that_stops_is_started_again(host: Host) -> None:
    want = expected(GOOD)
    host.call("stopAt", "dse_point", 1)
    rows = host.rows(GOOD)
    assert rows[1]["status"] == "failed"
    assert rows[1]["reason"] == "the engine stopped and was started again: unreachable"
    assert [rows[0], rows[2]] == [want[0], want[2]]
    host.call("stopAt", "dse_open", 0)
    answer = host.call("evaluate", scenario_json(GOOD.scenario), strategies_json(GOOD.strategies))
    assert answer == ("trap", "the engine stopped and was started again: unreachable")
    require_equal(host, [GOOD])


def test_a_clock_that_ends_is_a_reason(host: Host) -> None:
    system = replace(SYSTEM, network=(Dimension("Ring", 8, 50.0, 2.0**53 - 1),))
    group = Group(Scenario("late", MODEL, system), [Strategy(8)])
    rows = host.rows(group)
    assert rows[0]["status"] == "failed"
    assert rows == expected(group)


def test_a_recording_has_the_nodes_of_the_package(host: Host) -> None:
    strategy = Strategy(2, 2, 2)
    got = host.call("record", scenario_json(GOOD.scenario), strategies_json([strategy])[0])
    want = record_point(DesignPoint(GOOD.scenario, strategy), decisive_only=True)
    assert got["row"]["wall_time_ns"] == want.wall_time_ns
    rank = want.of(got["ranks"][0]["rank"])
    columns = got["ranks"][0]["nodes"]
    for name in ("name", "kind", "start_ns", "end_ns", "bytes", "num_ops"):
        assert columns[name] == [getattr(node, name) for node in rank.nodes]
    infeasible = host.call("record", scenario_json(GOOD.scenario), strategies_json([Strategy(16)])[0])
    assert infeasible["row"]["status"] == "infeasible"
    assert infeasible["row"]["reason"].startswith("strategy dp16 tp1 sp1 pp1 needs dp*tp*sp*pp = 16 NPUs")
    assert infeasible["ranks"] == []
