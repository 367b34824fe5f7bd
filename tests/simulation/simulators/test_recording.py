"""Recordings: times by hand, the same by classes and by ranks, in agreement with the figures of ranks."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from random_points import Point, points, seeded_points

from dse.base.errors import DseError, InputError
from dse.inputs.strategies import Strategy, axis_of_group
from dse.simulation.simulators import NEVER, NativeSimulator, Recording
from dse.simulation.workloads import generate, parse_name, workload_of
from dse.studies.config import compose_config
from dse.studies.points import point_of, run_point
from dse.testing.builders import ALL_REDUCE, TINY, coll, comp, recv, send, system, workload

AUTO, GENERAL = NativeSimulator("auto"), NativeSimulator("general")


def check_consistency(recording: Recording) -> None:
    for entry in recording.ranks:
        if entry.metrics is None:
            continue
        assert all(0 <= node.start_ns <= node.end_ns for node in entry.nodes)
        assert max(node.end_ns for node in entry.nodes) == entry.metrics.wall_time_ns
        assert max(size for _, size in entry.memory_curve()) == entry.metrics.peak_memory_bytes
        end_of = {node.node: node.end_ns for node in entry.nodes}
        for node in entry.nodes:
            assert all(end_of[parent] <= node.start_ns for parent in node.parents)
            if node.kind == "receive":
                assert 0 <= node.message_ns <= node.end_ns


def check_both_ways(point: Point) -> bool:
    """Record every rank with both methods; return whether the first one used classes."""
    work, ranks = generate(point.model, point.strategy), range(point.strategy.npus)
    try:
        got = AUTO.record(work, point.system, ranks=ranks)
    except DseError:
        return False
    truth = GENERAL.record(work, point.system, ranks=ranks)
    assert got.ranks == truth.ranks, point
    outcome = AUTO.simulate(work, point.system)
    assert (got.outcome.status, got.outcome.classes) == (outcome.status, outcome.classes)
    check_consistency(got)
    return outcome.obstacle is None


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(points())
def test_drawn_points_are_recorded_the_same_by_classes_and_by_ranks(point: Point) -> None:
    check_both_ways(point)


def test_random_points_are_recorded_the_same_by_classes_and_by_ranks() -> None:
    pipelines = [point for point in seeded_points(7, 200) if point.strategy.pp > 1]
    assert sum(check_both_ways(point) for point in pipelines[:40]) > 15


def test_times_by_hand() -> None:
    """1e9 operations on 1e8 bytes take 33333 ns, a message of 1e6 bytes 9363 ns."""
    first = [comp(1, writes={"a": 10}), send(2, to=1, size=10**6, after=[1], reads={"a": 10})]
    second = [recv(7, source=0, size=10**6, writes={"b": 5}), comp(9, after=[7], reads={"b": 5})]
    recording = AUTO.record(workload(first, second), system(track_local_memory=True))
    one, other = recording.ranks
    assert [(n.id, n.kind, n.bound, n.start_ns, n.end_ns) for n in one.nodes] == [
        (1, "compute", "memory", 0, 33333),
        (2, "send", "", 33333, 42696),
    ]
    receive, compute = other.nodes
    assert (receive.start_ns, receive.message_ns, receive.end_ns) == (0, 33333, 42696)
    assert (receive.peer, receive.peer_node, receive.parents) == (0, 1, ())
    assert (compute.start_ns, compute.end_ns, compute.parents) == (42696, 76029, (0,))
    assert one.memory_curve() == [(0, 10), (42696, 0)]
    assert other.memory_curve() == [(0, 5), (76029, 0)]
    assert (recording.wall_time_ns, recording.last_rank().rank, recording.fullest_rank().rank) == (
        76029,
        1,
        0,
    )


def test_the_bound_is_that_of_the_roofline() -> None:
    nodes = [comp(1, ops=17179869184000, size=4862246912), comp(2, cpu=True, micros=1)]
    entry = AUTO.record(workload(nodes, [comp(1)]), system()).of(0)
    assert [(node.bound, node.end_ns - node.start_ns, node.on_cpu) for node in entry.nodes] == [
        ("compute", 19088743, False),
        ("", 1000, True),
    ]


def test_a_deadlock_is_recorded_with_nodes_that_have_no_end() -> None:
    recording = AUTO.record(workload([comp(1)], [recv(1, source=0, size=8)]), system())
    (node,) = recording.of(1).nodes
    assert (recording.outcome.status, node.start_ns, node.end_ns, node.message_ns) == (
        "deadlock",
        0,
        NEVER,
        NEVER,
    )
    with pytest.raises(InputError, match="1 of 2 ranks never finish"):
        recording.last_rank()


def test_ranks_are_chosen() -> None:
    work, on = generate(TINY, Strategy(dp=2, tp=2, pp=4)), compose_config(["system=dgx16"]).system
    every = AUTO.record(work, on)
    assert [entry.rank for entry in every.ranks] == [0, 4, 8, 12]
    assert [entry.members for entry in every.ranks][1] == (4, 5, 6, 7)
    decisive = AUTO.record(work, on, decisive_only=True)
    assert {entry.rank for entry in decisive.ranks} == {every.last_rank().rank, every.fullest_rank().rank}
    named = AUTO.record(work, on, ranks=[13, 2])
    assert [entry.rank for entry in named.ranks] == [2, 13]
    assert named.of(14).rank == 13
    with pytest.raises(InputError, match="rank 5 was not recorded"):
        named.of(5)
    with pytest.raises(InputError, match="rank 16 cannot be recorded: the workload has 16 ranks"):
        AUTO.record(work, on, ranks=[16])


def test_memory_that_is_not_tracked_leaves_no_tensors() -> None:
    recording = AUTO.record(workload([comp(1)], [comp(1)]), system())
    assert recording.ranks[0].tensors == ()
    with pytest.raises(InputError, match="memory was not tracked"):
        recording.fullest_rank()


# Groups and their axes


@pytest.mark.parametrize(
    "strategy", [Strategy(2, 2, 2, 2), Strategy(4, 1, 2, 2), Strategy(1, 4, 4, 1), Strategy(2, 2, 1, 4)]
)
def test_axes_of_groups_are_those_of_their_members(strategy: Strategy) -> None:
    on = compose_config(["system=dgx16"]).system
    recording = AUTO.record(generate(TINY, strategy), on, ranks=range(16))
    stride = {"dp": 1, "tp": strategy.dp, "sp": strategy.dp * strategy.tp}
    groups = {node.group for entry in recording.ranks for node in entry.nodes if node.group is not None}
    assert len(groups) == sum(16 // d for d in (strategy.dp, strategy.tp, strategy.sp) if d > 1)
    for group in groups:
        assert group.axis in stride
        assert len(group.members) == getattr(strategy, group.axis)
        assert group.members[1] - group.members[0] == stride[group.axis]


def test_a_group_of_another_size_or_name_has_no_axis() -> None:
    strategy = Strategy(dp=2, tp=2)
    assert [axis_of_group(str(number), 2, strategy) for number in range(6)] == [
        None, "dp", "dp", "tp", "tp", None,
    ]  # fmt: skip
    assert axis_of_group("1", 4, strategy) is None
    assert axis_of_group("dp", 2, strategy) is None


def test_groups_of_imported_traces_have_titles() -> None:
    nodes = [
        coll(1, ALL_REDUCE, 100),
        coll(2, ALL_REDUCE, 100, group="g"),
        coll(3, ALL_REDUCE, 100, dims=[True]),
    ]
    entry = AUTO.record(workload(nodes, nodes, groups={"g": [1, 0]}), system()).ranks[0]
    titles = [node.group.title() for node in entry.nodes if node.group is not None]
    assert titles == ["comm group {0,1}", "comm group {1,0}", "comm over network dimensions 0"]


def test_the_strategy_of_an_imported_workload_can_be_given() -> None:
    nodes = [coll(1, ALL_REDUCE, 100, group="1")]
    work = workload(nodes, nodes, groups={"1": [0, 1]})
    group = AUTO.record(work, system(), strategy=Strategy(dp=2)).ranks[0].nodes[0].group
    assert group is not None
    assert (group.axis, group.title()) == ("dp", "dp group {0,1}")


def test_a_generated_point_read_back_from_its_files_is_recorded_the_same() -> None:
    strategy = Strategy(dp=2, tp=2, sp=2, pp=2, activation_recompute=True)
    work, on = generate(TINY, strategy), compose_config(["system=dgx16"]).system
    files = [work.trace_bytes(rank) for rank in range(work.rank_count)]
    imported = workload_of(files, json.loads(work.groups_json()))
    got = AUTO.record(imported, on, ranks=range(16), strategy=strategy)
    expected = AUTO.record(work, on, ranks=range(16))
    for mine, other in zip(got.ranks, expected.ranks, strict=True):
        assert mine.nodes == other.nodes
        assert sorted(mine.tensors) == sorted(other.tensors)


# Names


def test_every_name_of_a_generated_workload_is_understood() -> None:
    config = compose_config(["system=dgx16", "model=tiny"])
    strategy = Strategy(dp=2, tp=2, sp=2, pp=2, weight_sharded=True, activation_recompute=True)
    work, _ = run_point(point_of(config, strategy))
    for entry in AUTO.record(work, config.system).ranks:
        assert all(parse_name(node.name) for node in entry.nodes)
        assert all(parse_name(tensor.name) for tensor in entry.tensors)


@pytest.mark.parametrize(
    ("text", "title", "role"),
    [
        ("stack_3_ffn_x1_recomp@0_X1COMM", "layer 3 mlp x1_recomp", "activation"),
        ("stack_12_mha_wq@1Dmodel,Dmodel/Head,Head/tp", "layer 12 attention wq update", "weight"),
        ("stack_0_mha_d_wq@0Dmodel", "layer 0 attention d_wq", "gradient"),
        ("out_emb_dx@0Batch/dp,Seq/sp,Dmodel", "output embedding dx", "activation_gradient"),
        ("shadow_in_emb_y@0_Y_RECV", "input embedding y", "received"),
    ],
)
def test_names_are_read_back(text: str, title: str, role: str) -> None:
    name = parse_name(text)
    assert name is not None
    assert (name.title, name.role, name.is_recompute) == (title, role, "recomp" in text)


def test_other_names_are_not_understood() -> None:
    assert parse_name("node1") is None
    assert parse_name("stack_x_mha_q@0") is None
