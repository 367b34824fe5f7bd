"""The engine reads the JSON of a scenario and finds the rows of the package, to the last bit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from engine_points import (
    PAIRS,
    Group,
    expected,
    fixed,
    found,
    group_of,
    lab,
    request,
    scenario_json,
    strategies_json,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation.simulators.random_points import extreme_point, points, random_point, small_point
from small_points import small_scenarios

from dse.base.errors import DseError, InputError
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, RemoteMemory, SystemSpec
from dse.native import _explorer
from dse.studies.points import DesignPoint, Scenario, record_point

MODEL = ModelSpec("tiny", 64, 64, 32, 64, 4, 16, 8, 4)
SYSTEM = SystemSpec(
    "two rings",
    (Dimension("Ring", 4, 50.0, 500.0), Dimension("Ring", 2, 25.0, 500.0)),
    CollectiveAlgorithms(("ring", "ring"), ("ring", "ring"), ("ring", "ring"), ("ring", "ring")),
    peak_tflops=1.0,
    memory_bandwidth_gbps=100.0,
)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(pair))
def test_the_points_of_the_lab_are_equal(pair: tuple[str, str]) -> None:
    group = lab(*pair)
    assert len(group.strategies) == 56
    assert found(group) == expected(group)


def test_all_topologies_algorithms_faults_and_repairs_are_equal() -> None:
    for group in fixed():
        assert found(group) == expected(group), (group.scenario.model, group.scenario.system)


@pytest.mark.parametrize("divisibility", ["stage", "whole", "strict"])
def test_reasons_of_infeasible_points_are_equal(divisibility: Any) -> None:
    models = [
        replace(MODEL, num_heads=5, d_ff=30, input_dim=250, batch_size=18),
        replace(MODEL, fidelity="realistic", num_kv_heads=2, num_layers=5),
        replace(MODEL, fidelity="realistic", micro_batches=4),
    ]
    strategies = [
        *(Strategy(8), Strategy(tp=8), Strategy(sp=8), Strategy(pp=8), Strategy(2, 2, 2, 1), Strategy(16)),
        *(Strategy(0, 1, 1, 8), Strategy(-2, -4, 1, 1), Strategy(2**31 - 1, 2**31 - 1, 2**31 - 1, 2**31 - 1)),
        *(Strategy(4, 1, 2, weight_sharded=True), Strategy(pp=4, dp=2, activation_recompute=True)),
    ]
    for model in models:
        group = Group(Scenario("reasons", model, SYSTEM, divisibility), strategies)
        assert found(group) == expected(group)


def test_random_scenarios_are_equal() -> None:
    for scenario, strategies in small_scenarios(60, 5):
        group = Group(scenario, strategies)
        assert found(group) == expected(group)


def outcome(rows: Any, group: Group) -> Any:
    """The rows, or the error that concerns all points."""
    try:
        return rows(group)
    except DseError as error:
        return type(error).__name__, str(error)


@given(points(), st.sampled_from([None, "stage", "whole", "strict"]))
@settings(max_examples=60)
def test_any_point_is_equal(point: Any, divisibility: Any) -> None:
    group = group_of(point, divisibility)
    assert outcome(found, group) == outcome(expected, group)


@given(st.sampled_from([random_point, small_point, extreme_point]), st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_points_at_the_ends_of_what_is_allowed_are_equal(draw: Any, rng: Any) -> None:
    group = group_of(draw(rng))
    assert outcome(found, group) == outcome(expected, group)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a negative bandwidth": (
        {"system.network.0.bandwidth_gbps": -5},
        "system.network.0.bandwidth_gbps is -5; it must be a number greater than 0, and at most 1e+30",
    ),
    "no peak": (
        {"system.peak_tflops": 0},
        "system.peak_tflops is 0; it must be greater than 0 unless the roofline model is off",
    ),
    "a text for a number": (
        {"system.memory_bandwidth_gbps": "fast"},
        "system.memory_bandwidth_gbps is 'fast'; it must be a number 0 or greater, and at most 1e+30",
    ),
    "an endless latency": (
        {"system.network.1.latency_ns": 9007199254740992},
        "system.network.1.latency_ns is 9007199254740992; it must be below 9007199254740992 ns, the end of "
        "simulated time (104 days)",
    ),
    "half a layer": (
        {"model.num_layers": 2.5},
        "model.num_layers is 2.5; it must be an integer from 1 to 9223372036854775807",
    ),
    "one layer": (
        {"model.num_layers": 1},
        "model.num_layers is 1; it must be at least 2: with a single layer the output embedding is left "
        "unconnected, and the backward pass starts on its own",
    ),
    "too many layers": ({"model.num_layers": 10001}, "model.num_layers is 10001; at most 10000 are allowed"),
    "no batch": (
        {"model.batch_size": 0},
        "model.batch_size is 0; it must be an integer from 1 to 9223372036854775807",
    ),
    "heads of keys": (
        {"model.num_kv_heads": 3},
        "model.num_kv_heads is 3; it must divide model.num_heads, 4",
    ),
    "micro-batches round robin": (
        {"model.micro_batches": 2},
        "model.micro_batches is 2; with stages that go round robin it must be 1: write "
        "model.fidelity=realistic or model.repairs.contiguous_stages=true too",
    ),
    "an unknown key": (
        {"system.networks": []},
        "unknown key system.networks; keys of system are name, network,",
    ),
    "a misspelt algorithm": (
        {"system.collectives.all_reduce.0": "rings"},
        "system.collectives.all_reduce.0 is 'rings'; allowed are ring, direct,",
    ),
    "a schedule": (
        {"system.collectives.all_reduce.0": "synthesized"},
        "system.collectives.all_reduce.0 is 'synthesized'; schedules are not made in a page: python -m dse "
        "sweep makes them",
    ),
    "a topology without its shape": (
        {"system.network.0.topology": "Mesh2D"},
        "system.network.0.shape is []; Mesh2D needs",
    ),
    "a misspelt topology": (
        {"system.network.0.topology": "Rings"},
        "system.network.0.topology is 'Rings'; allowed are Ring, FullyConnected, Switch,",
    ),
    "a network that is too large": (
        {"system.network.0.npus": 2**24},
        "system.network has 33554432 NPUs or more; at most 16777216 are allowed",
    ),
    "a fault without links": (
        {"system.faults": [{"source": 0, "destination": 1}]},
        "system.faults.0 needs network_model congestion_aware; congestion_unaware has no links",
    ),
    "experts": (
        {"model.experts": {"count": 8, "top_k": 2, "d_ff": 64}},
        "model tiny has model.experts, which no execution trace can show; only predictions can, and those "
        "are not made in a page",
    ),
    "types of NPUs": (
        {"system.npu_types": [{"name": "a"}]},
        "system.npu_types is not empty; NPUs of several types are not simulated in a page",
    ),
    "a file": (
        {"system.network.0.file": "graph.csv", "system.network.0.topology": "Graph"},
        "system.network.0.file is set, but a page has no files",
    ),
    "divisibility": (
        {"divisibility": "some"},
        "request.divisibility is 'some'; allowed are stage, whole, strict",
    ),
    "a strategy": (
        {"strategies.0.dp": 1.5},
        "strategy.dp is 1.5; it must be an integer from -2147483647 to 2147483647",
    ),
    "endpoint delays": (
        {"system.injection_scale": 1e12},
        "system.injection_scale 1000000000000.0 times endpoint_delay_ns 10 must be at most 2147483647 ns",
    ),
}


def changed(changes: dict[str, Any]) -> str:
    """A request with other values under dotted keys."""
    value: Any = json.loads(request(Group(Scenario("bad", MODEL, SYSTEM), [Strategy(8)])))
    for key, entry in changes.items():
        *path, last = [int(part) if part.isdigit() else part for part in key.split(".")]
        at = value
        for part in path:
            at = at[part]
        at[last] = entry
    return json.dumps(value)


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_what_is_allowed(case: str) -> None:
    changes, message = BAD[case]
    with pytest.raises(InputError) as caught:
        _explorer.explorer_rows(changed(changes))
    assert str(caught.value).startswith(message)


def test_what_is_no_request_is_refused() -> None:
    for text in ("", "[]", "{}", '{"model": 1}', '{"model": {}, "system": {}}', "\x00"):
        with pytest.raises(InputError):
            _explorer.explorer_rows(text)


def test_predictions_are_refused() -> None:
    data = json.loads(changed({"model.fidelity": "realistic"}))
    data["system"]["accelerator"] = {"name": "a"}
    with pytest.raises(InputError, match="which is predicted; predictions are not made in a page"):
        _explorer.explorer_rows(json.dumps(data))


def test_what_younger_versions_leave_out_has_its_default() -> None:
    system = replace(SYSTEM, remote_memory=RemoteMemory("MEMORY_POOL", 10, 10))
    group = Group(Scenario("defaults", MODEL, system), [Strategy(8), Strategy(tp=4, dp=2)])
    data = json.loads(request(group))
    for key in ("micro_batches", "repairs", "fidelity", "gated_mlp", "num_kv_heads"):
        del data["model"][key]
    for key in ("faults", "deratings", "inert", "network_model", "injection_scale", "endpoint_delay_ns"):
        del data["system"][key]
    del data["divisibility"], data["method"]
    assert _explorer.explorer_rows(json.dumps(data)) == _explorer.explorer_rows(request(group))


@pytest.mark.parametrize(
    "strategy", [Strategy(8), Strategy(2, 2, 2, 1, True, True), Strategy(2, pp=4)], ids=Strategy.label
)
@pytest.mark.parametrize("fidelity", ["stage", "realistic"])
def test_a_recording_is_that_of_the_package(strategy: Strategy, fidelity: str) -> None:
    scenario = Scenario("recorded", replace(MODEL, fidelity=fidelity), SYSTEM, "stage")
    text = json.dumps({**scenario_json(scenario), "strategies": strategies_json([strategy])})
    got = json.loads(_explorer.explorer_recording(text, 0))
    want = record_point(DesignPoint(scenario, strategy), decisive_only=True)
    assert sorted(each["rank"] for each in got["ranks"]) == sorted(each.rank for each in want.ranks)
    for each in got["ranks"]:
        rank = want.of(each["rank"])
        columns = each["nodes"]
        for name in ("node", "name", "kind", "bound", "on_cpu", "start_ns", "end_ns", "bytes", "num_ops"):
            assert columns[name] == [getattr(node, name) for node in rank.nodes], name
        for name in ("peer", "peer_node", "message_ns"):
            assert columns[name] == [getattr(node, name) for node in rank.nodes], name
        assert columns["parents"] == [list(node.parents) for node in rank.nodes]
        groups = [got["groups"][index] if index >= 0 else None for index in columns["group"]]
        for group, node in zip(groups, rank.nodes, strict=True):
            assert (group is None) == (node.group is None)
            if group is None or node.group is None:
                continue
            assert (group["name"], group["axis"]) == (node.group.name, node.group.axis)
            assert group["by_dimension"] == bool(node.group.dimensions)
            if group["members"]:
                assert tuple(group["members"]) == node.group.members
        tensors = each["tensors"]
        for name, theirs in (("name", "name"), ("bytes", "bytes"), ("external", "is_external")):
            assert tensors[name] == [getattr(tensor, theirs) for tensor in rank.tensors]
        for name in ("birth_ns", "death_ns"):
            assert tensors[name] == [getattr(tensor, name) for tensor in rank.tensors]


def test_an_infeasible_point_has_an_empty_recording() -> None:
    text = request(Group(Scenario("none", MODEL, SYSTEM), [Strategy(16)]))
    assert json.loads(_explorer.explorer_recording(text, 0)) == {"ranks": [], "groups": []}
