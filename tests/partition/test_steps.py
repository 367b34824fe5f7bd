"""Steps of partitioned models by the engine: by hand, against the closed form and against the schedules."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.partition.files.results import traffic
from dse.partition.graphs.graph import ModelGraph
from dse.partition.graphs.steps import (
    StageGraph,
    closed_form_ns,
    cut_tensors,
    simulate_step,
    stage_graph,
    stage_order,
)
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.prediction.steps.schedules import StageTimes, pipeline


def _ns(stages: StageGraph, schedule: str, micro_batches: int, devices: Devices) -> int:
    outcome = simulate_step(stages, schedule, micro_batches, devices).outcome
    assert outcome.status == "ok"
    return max(metrics.finish_ns for metrics in outcome.classes if metrics is not None)


def _linked(count: int, latency: float, each: float) -> Devices:
    def matrix(value: float) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(value if a != b else 0.0 for b in range(count)) for a in range(count))

    return Devices(count, (), matrix(latency), matrix(each))


def test_two_stages_by_hand() -> None:
    """Forward 10 and 20, backward 20 and 40, two micro-batches, a message takes 5 + 100 x 0.1 = 15.

    Stage 0 sends at 10 and 20. Stage 1 runs 25-45-85 and 85-105-145, and answers at 100 and 160.
    """
    stages = StageGraph((10, 20), {(0, 1): 100})
    assert _ns(stages, "1f1b", 2, _linked(2, 5, 0.1)) == 180


def test_tensor_that_skips_a_stage_is_waited_for() -> None:
    """A rank sends one message at a time, the nearest stage first: the skipping tensor leaves 1 ns late.

    It arrives at 10 + 1 + 1000 and starts stage 2; so does its gradient on the way back.
    """
    stages = StageGraph((10, 10, 10), {(0, 1): 1, (1, 2): 1, (0, 2): 1000}, backward=1)
    devices = _linked(3, 0, 1)
    assert _ns(stages, "gpipe", 1, devices) == 10 + 1001 + 10 + 10 + 1001 + 10


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(2, 500), min_size=2, max_size=4),
    st.integers(4, 6),
    st.sampled_from(["gpipe", "1f1b"]),
)
def test_chain_with_free_links_takes_what_the_schedule_says(
    times: list[int], micro_batches: int, schedule: str
) -> None:
    """Messages of one byte take no time; the recurrence of docs/schedules.md has them take none either."""
    chain = {(stage, stage + 1): 1.0 for stage in range(len(times) - 1)}
    stages = StageGraph(tuple(map(float, times)), chain)
    expected = pipeline(schedule, [[StageTimes(t, 2 * t, 0)] for t in times], micro_batches, 0).makespan_s
    assert _ns(stages, schedule, micro_batches, Devices(len(times))) == pytest.approx(expected, abs=30)


def test_equal_stages_take_the_closed_form() -> None:
    stages = StageGraph((100.0,) * 4, {(0, 1): 1, (1, 2): 1, (2, 3): 1})
    assert closed_form_ns(stages, 8) == (7 + 4) * 300
    assert _ns(stages, "1f1b", 8, Devices(4)) == pytest.approx(3300, abs=30)


def test_framework_lengthens_each_pass_of_a_stage() -> None:
    """Passes of 100 + 25 and 200 + 25 ns, forward and backward; the second stage has nothing besides."""
    stages = StageGraph((100.0, 100.0), {(0, 1): 1}, overhead_ns=(25.0, 0.0))
    assert closed_form_ns(stages, 8) == 7 * 350 + 350 + 300
    even = StageGraph((100.0,) * 4, {(0, 1): 1, (1, 2): 1, (2, 3): 1}, overhead_ns=(25.0,) * 4)
    assert _ns(even, "1f1b", 8, Devices(4)) == pytest.approx((7 + 4) * 350, abs=30)


def test_optimizer_comes_after_the_last_micro_batch() -> None:
    stages = StageGraph((100.0, 100.0), {(0, 1): 1}, after_ns=(50.0, 70.0))
    assert _ns(stages, "1f1b", 4, Devices(2)) == pytest.approx(5 * 300 + 50, abs=20)


def test_stages_are_devices_in_the_order_of_the_forward_pass() -> None:
    graph = ModelGraph((3, 4, 5), ((0, 1), (1, 2), (0, 2)), (10, 20, 30))
    stages = stage_graph(graph, (2, 0, 1), (1, 1, 2))
    assert stages.device_of == (2, 0, 1)
    assert stages.forward_ns == (1.5, 4, 5)
    assert stages.messages == {(0, 1): 10, (1, 2): 20, (0, 2): 30}
    assert stage_graph(graph, (2, 0, 1), relay=True).messages == {(0, 1): 40, (1, 2): 50}


def test_tensor_is_sent_once_to_each_device() -> None:
    graph = ModelGraph((1,) * 4, ((0, 1), (0, 2), (0, 3)), (8, 8, 8), (0, 0, 0))
    assert cut_tensors(graph, (0, 1, 1, 2)) == [(0, 0, 1, 8), (0, 0, 2, 8)]
    problem = PartitionProblem(graph, Devices(3), "edge_cut")
    assert traffic(problem, (0, 1, 1, 2)) == [(0, 1, 1, 8), (0, 2, 1, 8)]
    assert traffic(problem, (0, 0, 0, 0)) == []


def test_devices_that_wait_for_each_other_are_named() -> None:
    with pytest.raises(InputError, match="devices 0 and 1 wait for each other"):
        stage_order(((0, 1), (1, 2)), (0, 1, 0))


@pytest.mark.parametrize(
    ("schedule", "count", "message"),
    [
        ("interleaved", 2, "interleaved"),
        ("zb-v", 2, "zb-v"),
        ("1f2b", 2, "schedule is '1f2b'"),
        ("1f1b", 1, "all nodes are on one device"),
    ],
)
def test_schedule_that_does_not_fit_is_refused(schedule: str, count: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate_step(StageGraph((1.0,) * count, {}), schedule, 4, Devices(count))
