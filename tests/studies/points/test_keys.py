"""A key stands for all inputs of a point: any change of one changes it, and nothing else does."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dse
from dse.base.errors import InputError
from dse.inputs.accelerators import GroupAlgorithms
from dse.inputs.strategies import AXES, Strategy
from dse.inputs.systems import (
    CollectiveAlgorithms,
    CustomCollectives,
    Derating,
    Dimension,
    LinkFault,
    NpuType,
    RemoteMemory,
    SystemSpec,
)
from dse.simulation.simulators import NativeSimulator, Simulator
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, Scenario, evaluate, inputs
from dse.testing.builders import RING16, TINY, design_point

POINT = design_point(Strategy(dp=16))


def with_system(**changes: Any) -> DesignPoint:
    return design_point(Strategy(dp=16), system=dataclasses.replace(RING16, **changes))


def changed_points() -> Iterator[tuple[str, DesignPoint]]:
    """One point for each input, different from `POINT` in that input."""
    for name in ("dp", "tp", "sp", "pp"):
        yield name, design_point(dataclasses.replace(Strategy(dp=16), **{name: 2}))
    for name in ("weight_sharded", "activation_recompute"):
        yield name, design_point(dataclasses.replace(Strategy(dp=16), **{name: True}))
    for field in dataclasses.fields(TINY):
        value = getattr(TINY, field.name)
        if isinstance(value, int) and not isinstance(value, bool):
            model = dataclasses.replace(TINY, **{field.name: value + 1})
            yield f"model.{field.name}", design_point(Strategy(dp=16), model=model)
    (dimension,) = RING16.network
    systems: dict[str, Any] = {
        "name": "other",
        "network": (dataclasses.replace(dimension, latency_ns=dimension.latency_ns + 1),),
        "collectives": CollectiveAlgorithms(("direct",), ("ring",), ("ring",), ("ring",)),
        "peak_tflops": 1.5,
        "memory_bandwidth_gbps": 1.5,
        "network_model": "congestion_aware",
        "scheduling_policy": "FIFO",
        "endpoint_delay_ns": 11,
        "active_chunks_per_dimension": 5,
        "preferred_dataset_splits": 11,
        "collective_optimization": "baseline",
        "roofline_enabled": False,
        "track_local_memory": False,
        "replay_only": True,
        "queues_per_dimension": 2,
        "rendezvous_protocol": True,
        "injection_scale": 2.0,
        "remote_memory": RemoteMemory("PER_NPU_MEMORY_EXPANSION", 1, 1),
        "deratings": (Derating(3, 0.5),),
        "issue_order": "safe",
        "switch_copies": False,
        "switch_adds": False,
        "custom_collectives": CustomCollectives("runs", (("all_reduce", "ring"),)),
    }
    for name, value in systems.items():
        yield f"system.{name}", with_system(**{name: value})
    on = POINT.scenario.system
    halves = [NpuType(name, 8, on.peak_tflops, on.memory_bandwidth_gbps) for name in ("one", "other")]
    yield "system.npu_types", with_system(npu_types=tuple(halves))
    cluster = compose_config(["system=dgx_h100", "system.nodes=2"]).system
    h100 = cluster.accelerator
    assert h100 is not None
    clusters = {
        "accelerator": {"accelerator": dataclasses.replace(h100, memory_bytes=h100.memory_bytes + 1)},
        "nodes": {"nodes": 4},
        "npus_per_node": {"npus_per_node": 4},
        "tiers": {"tiers": (dataclasses.replace(cluster.tiers[0], latency_us=3.0), cluster.tiers[1])},
        "group_algorithms": {"group_algorithms": GroupAlgorithms(dp="hierarchical")},
        "": {},
    }
    for name, change in clusters.items():
        yield f"system.{name}", design_point(Strategy(dp=16), system=cluster.replaced(**change))
    aware = with_system(network_model="congestion_aware", faults=(LinkFault(0, 1, removed=True),))
    yield "system.faults", aware
    yield "divisibility", design_point(Strategy(dp=16), divisibility="strict")
    yield "simulator", design_point(Strategy(dp=16), simulator=OtherSimulator())
    of_2026 = NativeSimulator(reference="astra-sim-2026-03")
    yield "simulator.reference", design_point(Strategy(dp=16), simulator=of_2026)


class OtherSimulator(NativeSimulator):
    def identity(self) -> dict[str, str]:
        return {"name": "other"}


CHANGED = dict(changed_points())


@pytest.mark.parametrize("name", CHANGED)
def test_changing_an_input_changes_the_key(name: str) -> None:
    assert CHANGED[name].key != POINT.key


def test_no_two_of_these_points_have_one_key() -> None:
    assert len({point.key for point in CHANGED.values()} | {POINT.key}) == len(CHANGED) + 1


def test_every_field_of_a_system_is_tried() -> None:
    tried = {name.removeprefix("system.") for name in CHANGED if name.startswith("system.")} - {""}
    untold = {"trace_enabled", "local_memory_trace_filename", "model_shared_bus", "inert", "omitted_keys"}
    assert tried | untold == {field.name for field in dataclasses.fields(SystemSpec)}


def test_new_results_change_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = design_point(Strategy(dp=16)).key
    monkeypatch.setattr("dse.native._engine.RESULT_VERSION", 0)
    assert design_point(Strategy(dp=16)).key != before


def test_a_new_release_changes_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = design_point(Strategy(dp=16))
    monkeypatch.setattr("importlib.metadata.version", lambda package: f"99.0 of {package}")
    assert dse.__version__ == "99.0 of dse"
    after = design_point(Strategy(dp=16))
    assert (after.key, after.scenario.options) == (before.key, before.scenario.options)


def test_a_key_is_32_hexadecimal_digits_and_the_same_in_every_process() -> None:
    assert len(POINT.key) == 32
    assert int(POINT.key, 16) >= 0
    assert POINT.key == design_point(Strategy(dp=16)).key


def test_what_does_not_change_a_result_does_not_change_the_key() -> None:
    (dimension,) = RING16.network
    as_integer = dataclasses.replace(dimension, bandwidth_gbps=int(dimension.bandwidth_gbps))
    for same in (
        design_point(Strategy(dp=16), study="another study"),
        design_point(Strategy(dp=16), simulator=NativeSimulator("general")),
        with_system(omitted_keys=("scheduling-policy",)),
        with_system(network=(as_integer,)),
    ):
        assert same.key == POINT.key


def graph_system(file: Path) -> SystemSpec:
    dimension = Dimension("Graph", 16, 1.0, 1.0, file=str(file))
    return dataclasses.replace(RING16, network=(dimension,))


def test_the_content_of_a_file_counts(tmp_path: Path) -> None:
    file = tmp_path / "links.csv"
    keys = []
    for text in ("src,dst\n0,1\n", "src,dst\n1,0\n", "src,dst\n0,1\n"):
        file.write_text(text)
        keys.append(design_point(Strategy(dp=16), system=graph_system(file)).key)
    assert keys[0] == keys[2] != keys[1]
    stored = inputs.system_json(graph_system(file))
    assert inputs.system_of_json(stored) == graph_system(file)
    file.write_text("src,dst\n1,0\n")
    with pytest.raises(InputError, match=r"links\.csv has changed since the point was stored"):
        inputs.system_of_json(stored)


def test_a_row_has_the_key_of_its_point_and_all_that_rebuilds_it() -> None:
    row = evaluate(POINT)
    assert row.key == POINT.key
    assert row.model_spec is not None
    assert row.system_spec is not None
    rebuilt = design_point(
        Strategy(row.dp, row.tp, row.sp, row.pp, row.weight_sharded, row.activation_recompute),
        model=inputs.model_of_json(row.model_spec),
        system=inputs.system_of_json(row.system_spec),
    )
    assert rebuilt.key == row.key
    assert evaluate(rebuilt) == row


@pytest.mark.parametrize(
    "system", ["system1", "dgx_2k", "mesh_8x8", "switch_128k", "tpu_512", "torus_1k", "dgx16"]
)
def test_systems_survive_the_way_through_json(system: str) -> None:
    spec = compose_config([f"system={system}"]).system
    again = inputs.system_of_json(inputs.system_json(spec))
    assert again == spec
    assert inputs.system_json(again) == inputs.system_json(spec)


@given(
    factor=st.floats(0.01, 1.0),
    at_ns=st.integers(0, 2**40),
    npu=st.integers(0, 15),
    nodes=st.none() | st.integers(1, 4),
)
def test_nested_values_survive_the_way_through_json(
    factor: float, at_ns: int, npu: int, nodes: int | None
) -> None:
    spec = dataclasses.replace(
        RING16,
        network_model="congestion_aware",
        faults=(LinkFault(0, 1, bandwidth_factor=factor, at_ns=at_ns),),
        deratings=(Derating(npu, factor, factor),),
        remote_memory=RemoteMemory("NO_MEMORY_EXPANSION", 1, 2, nodes, nodes),
        inert=(("L", 3), ("boost-mode", 0)),
    )
    assert inputs.system_of_json(inputs.system_json(spec)) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "a stored model is not JSON"),
        ("[]", "a stored model is not a JSON object"),
        ('{"name":"tiny","layers":2}', "a stored model is not one of this version"),
        ('{"name":"tiny"}', "a stored model is not one of this version"),
    ],
)
def test_a_text_that_is_no_model_of_this_version_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        inputs.model_of_json(text)


def test_scenarios_can_be_copied_to_other_processes() -> None:
    import pickle

    scenario: Scenario = pickle.loads(pickle.dumps(POINT.scenario))
    assert DesignPoint(scenario, POINT.strategy).key == POINT.key
    assert isinstance(scenario.simulator, Simulator)


# ---- specifications of 0.2.0, and fields that came later ----


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_specifications_are_written_as_version_0_2_0_wrote_them() -> None:
    """Digests of what that version wrote: a new field at its default must not appear."""
    config = compose_config(["system=system1", "model=llama70b"])
    assert _sha256(inputs.system_json(config.system)).startswith("76f829e64cfbf87d5fe5725ae52b2b69203d62b8")
    assert _sha256(inputs.model_json(config.model)).startswith("867a65d51b887596f94884d7d27ef978e6822d13c")
    slow = compose_config(
        [
            *("model=tiny", "model.fidelity=realistic", "system=mesh_8x8"),
            "system.network_model=congestion_aware",
            "system.faults=[{source: 0, destination: 1}]",
            "system.deratings=[{npu: 3}]",
        ]
    )
    text = inputs.model_json(slow.model) + inputs.system_json(slow.system)
    assert _sha256(text) == "5f324f9f556c168376bb1569a30ba3c05b792237438fe9cd4178ecffa7f03796"


def test_a_younger_field_is_written_only_if_it_has_another_value() -> None:
    assert "issue_order" not in inputs.system_json(RING16)
    safe = dataclasses.replace(RING16, issue_order="safe")
    assert '"issue_order":"safe"' in inputs.system_json(safe)
    assert inputs.system_of_json(inputs.system_json(safe)) == safe
    assert inputs.system_of_json(inputs.system_json(RING16)).issue_order is None


def test_every_younger_field_has_a_default_so_that_older_rows_can_be_rebuilt() -> None:
    for spec, written in inputs._ALWAYS_WRITTEN.items():
        fields = {field.name: field for field in dataclasses.fields(spec)}
        assert written <= set(fields)
        for name in set(fields) - written:
            factory = fields[name].default_factory
            assert (fields[name].default, factory) != (dataclasses.MISSING, dataclasses.MISSING), name


def test_a_younger_axis_counts_only_if_it_has_another_value() -> None:
    younger = [axis for axis in AXES if axis.since > 1]
    assert len(younger) == 23
    keys = {POINT.key}
    for axis in younger:
        assert design_point(Strategy(dp=16, **{axis.name: axis.default})).key == POINT.key  # type: ignore[arg-type]
        other: object = not axis.default if axis.kind == "flag" else 2
        other = axis.choices[-1] if axis.choices else other
        keys.add(design_point(Strategy(dp=16, **{axis.name: other})).key)  # type: ignore[arg-type]
    assert len(keys) == 1 + 23
