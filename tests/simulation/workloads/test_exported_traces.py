"""Workloads that are written as execution traces simulate as they do in memory."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.inputs.strategies import Strategy
from dse.inputs.systems import SystemSpec
from dse.native import _engine
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import generate, read_groups, read_workload
from dse.testing.builders import (
    COMP,
    RING16,
    TINY,
    system,
)


def _assert_files_simulate_alike(folder: Path, strategy: Strategy, on: SystemSpec) -> str:
    """Compare, rank by rank; the files have a trace for each rank, memory only one for each stage."""
    work = generate(TINY, strategy)
    *traces, groups = work.export(folder)
    assert [path.name for path in traces] == [f"trace.{rank}.et" for rank in range(16)]
    assert groups.name == "comm_group.json"
    again = read_workload(traces, read_groups(groups))
    assert again.communicator_group_count == work.communicator_group_count
    assert [again.counts(rank) for rank in range(16)] == [work.counts(rank) for rank in range(16)]

    expected = NativeSimulator("general").simulate(again, on)
    got = NativeSimulator().simulate(work, on)
    assert got.status == expected.status
    assert [got.rank(rank) for rank in range(16)] == [expected.rank(rank) for rank in range(16)]
    # in memory, one rank stands for those that hang alike
    assert set(got.blocked) <= set(expected.blocked)
    assert got.reason == expected.reason
    return got.status


@pytest.mark.parametrize(
    ("strategy", "status"),
    [
        (Strategy(dp=16), "ok"),
        (Strategy(tp=4, sp=4, activation_recompute=True), "ok"),
        (Strategy(dp=2, tp=2, sp=2, pp=2), "ok"),
        (Strategy(dp=2, tp=4, pp=2, activation_recompute=True), "ok"),
        (Strategy(dp=4, tp=2, sp=2, weight_sharded=True), "ok"),
        (Strategy(dp=2, tp=2, sp=2, pp=2, weight_sharded=True, activation_recompute=True), "ok"),
        (Strategy(tp=2, sp=2, pp=4), "ok"),
        (Strategy(dp=4, tp=4), "deadlock"),
    ],
)
def test_exported_files_simulate_like_the_workload_in_memory(
    tmp_path: Path, strategy: Strategy, status: str
) -> None:
    assert _assert_files_simulate_alike(tmp_path, strategy, RING16) == status


STRATEGIES_OF_16 = [
    Strategy(dp, tp, sp, 16 // (dp * tp * sp), *flags)
    for dp, tp, sp in itertools.product((1, 2, 4, 8, 16), repeat=3)
    if 16 % (dp * tp * sp) == 0 and 16 // (dp * tp * sp) <= 4
    for flags in itertools.product((False, True), repeat=2)
]
NETWORKS_OF_16 = st.sampled_from(
    [
        "Ring 16 @50/500",
        "Ring 4 @200/100, Switch 4 @50/1000",
        "FullyConnected 8 @128.5714/20, Switch 2 @25/100",
        "Ring 2 @100/50, Ring 4 @50/50, FullyConnected 2 @10/500",
        "Switch 16 @100/0.5",
    ]
)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(STRATEGIES_OF_16),
    NETWORKS_OF_16,
    st.lists(st.sampled_from(["ring", "direct", "direct2", "halvingDoubling"]), min_size=3, max_size=3),
    st.integers(1, 4),
    st.sampled_from([1, 4, 10]),
    st.sampled_from(["baseline", "localBWAware"]),
    st.sampled_from([1, 2, 4]),
    st.booleans(),
)
def test_exported_files_simulate_like_the_workload_in_memory_on_any_system(
    strategy: Strategy,
    network: str,
    algorithms: list[str],
    places: int,
    splits: int,
    optimization: str,
    queues: int,
    rendezvous: bool,
) -> None:
    on = system(
        network,
        " ".join(algorithms[: network.count(",") + 1]),
        active_chunks_per_dimension=places,
        preferred_dataset_splits=splits,
        collective_optimization=optimization,
        queues_per_dimension=queues,
        rendezvous_protocol=rendezvous,
        track_local_memory=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        _assert_files_simulate_alike(Path(folder), strategy, on)


def test_export_writes_the_bytes_that_trace_bytes_gives(tmp_path: Path) -> None:
    work = generate(TINY, Strategy(dp=2, pp=2))
    *traces, groups = work.export(tmp_path / "new" / "folder", "point")
    assert [path.read_bytes() for path in traces] == [work.trace_bytes(rank) for rank in range(4)]
    assert groups.read_text() == work.groups_json()
    assert all(path.name.startswith("point.") for path in traces)


def test_one_npu_has_compute_nodes_only_and_nodes_of_sources_are_dropped() -> None:
    trace = _engine.parse_trace(generate(TINY, Strategy()).trace_bytes(0), "trace")
    assert trace.node_count == 2 * 3 + 4 * (23 + 10) + 2 * 1 + 4 * 5  # section 15: blocks, then updates
    assert {node["type"] for node in trace.nodes()} == {COMP}
