"""The wall time in parts: by hand, and the exact sum for every point of the lab and for random points."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from simulation.simulators.random_points import Point, points, seeded_points

from dse.answers.explain import AXES, PARTS, Breakdown, breakdown, explain
from dse.base.errors import DseError, InputError
from dse.inputs.strategies import Strategy
from dse.inputs.systems import RemoteMemory, SystemSpec
from dse.simulation.simulators import NEVER, NativeSimulator, RankRecording, Recording
from dse.simulation.workloads import generate, parse_name
from dse.studies.config import compose_config
from dse.testing.builders import (
    ALL_REDUCE,
    RING16,
    TINY,
    Node,
    coll,
    comp,
    load,
    recv,
    send,
    system,
    workload,
)

SIMULATOR = NativeSimulator()
OPS_90_TFLOP = {"ops": 10**12, "size": 10**6}  # 1111111 ns, bound by compute


def parts_of(time: Breakdown) -> dict[str, int]:
    return {part: ns for part, ns in time.parts.items() if ns}


def record(*ranks: list[Node], on: SystemSpec | None = None, strategy: Strategy | None = None) -> Recording:
    groups = {name: list(range(len(ranks))) for name in ("1", "3", "5")}
    return SIMULATOR.record(workload(*ranks, groups=groups), on or system(), strategy=strategy)


def oracle(entry: RankRecording, wall_time_ns: int) -> dict[str, int]:
    """The same rules one nanosecond at a time; only for short points."""
    assert entry.metrics is not None
    parts = dict.fromkeys(PARTS, 0)
    for now in range(wall_time_ns):
        running = [node for node in entry.nodes if node.start_ns <= now < node.end_ns]
        compute = [node for node in running if node.kind == "compute"]
        sending = [node for node in running if node.kind not in ("compute", "receive")]
        arriving = [node for node in running if node.kind == "receive" and node.message_ns <= now]
        if compute:
            name = parse_name(compute[0].name)
            again = name is not None and name.is_recompute
            part = (
                "recompute" if again else f"{compute[0].bound}_bound" if compute[0].bound else "other_compute"
            )
        elif sending:
            group = sending[0].group
            part = "exposed_pp" if group is None else f"exposed_{group.axis or 'comm'}"
        elif arriving:
            part = "exposed_pp"
        elif any(node.kind == "receive" for node in running):
            part = "pipeline_bubble"
        else:
            part = "finished" if now >= entry.metrics.wall_time_ns else "idle"
        parts[part] += 1
    return parts


def check(recording: Recording) -> None:
    for rank in [None, *(entry.rank for entry in recording.ranks)]:
        time = breakdown(recording, rank)
        assert list(time.parts) == list(PARTS)
        assert all(ns >= 0 for ns in (*time.parts.values(), *time.overlapped.values()))
        assert sum(time.parts.values()) == time.wall_time_ns == recording.wall_time_ns
        assert time.parts["idle"] == 0
        metrics = recording.outcome.rank(time.rank)
        assert metrics is not None
        no_compute = [part for part in PARTS if part.startswith(("exposed", "pipeline", "remote", "idle"))]
        assert sum(time.parts[part] for part in no_compute) == metrics.exposed_comm_ns
        if rank is None:
            assert time.parts["finished"] == 0


# By hand: 1e9 operations on 1e8 bytes take 33333 ns, bound by memory; a message of 1e6 bytes takes 9363 ns


def test_a_rank_that_waits_has_a_bubble_until_the_message_leaves() -> None:
    first = [comp(1), send(2, to=1, size=10**6, after=[1])]
    second = [recv(7, source=0, size=10**6), comp(9, after=[7])]
    recording = record(first, second)
    assert breakdown(recording).rank == 1
    assert parts_of(breakdown(recording)) == {
        "memory_bound": 33333,
        "exposed_pp": 9363,
        "pipeline_bubble": 33333,
    }
    assert parts_of(breakdown(recording, 0)) == {
        "memory_bound": 33333,
        "exposed_pp": 9363,
        "finished": 33333,
    }
    check(recording)


def test_a_message_behind_compute_is_overlapped() -> None:
    first = [comp(1), send(2, to=1, size=10**6, after=[1])]
    second = [recv(7, source=0, size=10**6), comp(8), comp(9, after=[7, 8], **OPS_90_TFLOP)]
    recording = record(first, second)  # node 8 until 33333, then the message until 42696
    time = breakdown(recording)
    assert parts_of(time) == {"compute_bound": 1111111, "memory_bound": 33333, "exposed_pp": 9363}
    assert time.overlapped == dict.fromkeys(AXES, 0)
    late = [recv(7, source=0, size=10**6), comp(8, **OPS_90_TFLOP), comp(9, after=[7, 8])]
    time = breakdown(record(first, late))
    assert parts_of(time) == {"compute_bound": 1111111, "memory_bound": 33333}
    assert time.overlapped["pp"] == 9363


@pytest.mark.parametrize(
    ("strategy", "group", "axis"),
    [
        (None, "1", "comm"),
        (Strategy(dp=2), "1", "dp"),
        (Strategy(tp=2), "3", "tp"),
        (Strategy(sp=2), "5", "sp"),
    ],
)
def test_a_collective_is_exposed_where_it_outlasts_compute(
    strategy: Strategy | None, group: str, axis: str
) -> None:
    nodes = [comp(1), coll(2, ALL_REDUCE, 10**7, group=group)]
    recording = record(nodes, nodes, strategy=strategy)
    end_ns = recording.wall_time_ns
    time = breakdown(recording)
    assert end_ns > 33333
    assert parts_of(time) == {"memory_bound": 33333, f"exposed_{axis}": end_ns - 33333}
    assert time.overlapped == {**dict.fromkeys(AXES, 0), axis: 33333}


def test_a_message_that_arrives_during_a_collective_is_overlapped() -> None:
    both = coll(1, ALL_REDUCE, 10**7, group="1")
    first = [both, send(2, to=1, size=10**6), comp(3, after=[1])]
    second = [both, recv(2, source=0, size=10**6), comp(3, after=[1, 2])]
    recording = record([send(0, to=1, size=10), *first], [recv(0, source=0, size=10), *second])
    check(recording)
    assert breakdown(recording, 1).parts["exposed_comm"] > 0


def test_recorded_durations_cpu_work_and_remote_memory_have_parts() -> None:
    nodes = [comp(1, cpu=True, micros=3), load(2, size=1000), comp(3, after=[1, 2])]
    memory = RemoteMemory("PER_NPU_MEMORY_EXPANSION", 4000, 1)
    recording = record(nodes, [comp(1)], on=system(remote_memory=memory))
    assert parts_of(breakdown(recording)) == {
        "memory_bound": 33333,
        "other_compute": 3000,
        "remote_memory": 2000,
    }
    replayed = record(nodes, [comp(1, micros=1)], on=system(replay_only=True))
    assert set(parts_of(breakdown(replayed))) <= {"other_compute", "remote_memory"}


def test_recompute_is_a_part_whatever_bounds_it() -> None:
    on = compose_config(["system=dgx16"]).system
    plain, again = (
        breakdown(SIMULATOR.record(generate(TINY, Strategy(dp=4, tp=4, activation_recompute=switch)), on))
        for switch in (False, True)
    )
    assert plain.parts["recompute"] == 0
    assert again.parts["recompute"] > 0
    assert plain.parts["compute_bound"] == again.parts["compute_bound"]
    assert plain.parts["memory_bound"] == again.parts["memory_bound"]


def test_json_is_a_list_of_parts() -> None:
    time = breakdown(record([comp(1)], [comp(1)])).to_json()
    assert (time["rank"], time["wall_time_ns"]) == (0, 33333)
    assert time["breakdown"][:2] == [
        {"part": "compute_bound", "ns": 0},
        {"part": "memory_bound", "ns": 33333},
    ]
    assert sum(part["ns"] for part in time["breakdown"]) == 33333


def test_a_deadlock_has_no_breakdown() -> None:
    recording = SIMULATOR.record(generate(TINY, Strategy(dp=4, tp=4)), RING16)
    assert any(node.end_ns == NEVER for node in recording.ranks[0].nodes)
    with pytest.raises(InputError, match="there is no wall time to explain: 16 of 16 ranks never finish"):
        breakdown(recording)


# Sums


@pytest.mark.parametrize("system_name", ["system1", "system2"])
@pytest.mark.parametrize("model", ["llama70b", "gpt175b"])
def test_every_point_of_the_lab_sums_exactly(model: str, system_name: str) -> None:
    config = compose_config([f"system={system_name}", f"model={model}"])
    strategies = config.space.strategies(config.model, config.system)
    assert len(strategies) == 56
    for strategy in strategies:
        work = generate(config.model, strategy)
        outcome = SIMULATOR.simulate(work, config.system)
        explanation = explain(SIMULATOR.record(work, config.system, decisive_only=True))
        assert outcome.obstacle is None
        (metrics,) = outcome.classes
        assert metrics is not None
        time, memory = explanation.time, explanation.memory
        assert sum(time.parts.values()) == time.wall_time_ns == metrics.wall_time_ns
        busy = {part: ns for part, ns in time.parts.items() if part.endswith(("bound", "compute"))}
        assert sum(busy.values()) == metrics.gpu_time_ns
        exposed = sum(ns for part, ns in time.parts.items() if part.startswith("exposed"))
        assert exposed == metrics.exposed_comm_ns
        assert exposed + sum(time.overlapped.values()) == metrics.comm_time_ns
        assert time.parts["exposed_comm"] == time.parts["idle"] == time.parts["pipeline_bubble"] == 0
        assert (time.parts["recompute"] > 0) == strategy.activation_recompute
        for axis in ("dp", "tp", "sp"):
            busy_ns = time.parts[f"exposed_{axis}"] + time.overlapped[axis]
            assert (busy_ns > 0) == (getattr(strategy, axis) > 1)
        assert memory is not None
        assert sum(memory.categories.values()) == memory.peak_memory_bytes == metrics.peak_memory_bytes
        assert sum(item.bytes for item in memory.items) == memory.peak_memory_bytes
        assert memory.categories["other"] == 0
        assert memory.operator is not None


def record_point(point: Point) -> Recording | None:
    try:
        recording = SIMULATOR.record(generate(point.model, point.strategy), point.system)
    except DseError:
        return None
    return recording if recording.outcome.status == "ok" else None


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(points())
def test_random_points_sum_exactly(point: Point) -> None:
    recording = record_point(point)
    if recording is None:
        return
    check(recording)
    memory = explain(recording).memory
    assert memory is not None
    assert sum(memory.categories.values()) == memory.peak_memory_bytes
    assert memory.peak_memory_bytes == max(m.peak_memory_bytes or 0 for m in recording.outcome.classes if m)


def test_short_points_are_what_a_look_at_each_nanosecond_gives() -> None:
    compared = []
    for point in seeded_points(3, 300):
        recording = record_point(point)
        if recording is not None and recording.wall_time_ns <= 3000:
            time = breakdown(recording)
            assert time.parts == oracle(recording.last_rank(), recording.wall_time_ns), point
            compared.append(time)
    assert len(compared) > 10
    seen = {part for time in compared for part, ns in time.parts.items() if ns}
    assert {"memory_bound", "recompute", "exposed_pp", "pipeline_bubble", "exposed_dp"} <= seen
