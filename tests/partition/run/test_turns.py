"""Processes that share cores: equal shares of those with work, averaging when the last has come."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.trace_nodes import TraceNode
from dse.partition.graphs.steps import StageGraph, simulate_step, step_programs
from dse.partition.problem.problem import Devices
from dse.partition.run.turns import End, shared_step_ns
from dse.simulation.workloads.nodes import compute_node

FREE = Devices(3)


def works(*times_ns: int) -> list[list[TraceNode]]:
    """Return a process for each time, which computes so long and sends nothing."""
    return [[compute_node(0, ns, ())] for ns in times_ns]


def ends(*groups: int, averaging_ns: float = 0.0, after_ns: float = 0.0) -> list[End]:
    return [End(group, averaging_ns, after_ns) for group in groups]


def linked(devices: int, latency_ns: float) -> Devices:
    return Devices(devices, (), ((latency_ns,) * devices,) * devices)


@pytest.mark.parametrize(("cores", "step_ns"), [(1, 70.0), (2, 35.0), (3, 30.0), (9, 30.0)])
def test_more_processes_than_cores_have_equal_shares(cores: int, step_ns: float) -> None:
    """On two cores the short one of three ends at 15 ns; the others have 20 ns of work left then."""
    found = shared_step_ns(works(10, 30, 30), ends(0, 1, 2), FREE, range(3), cores)
    assert found == pytest.approx(step_ns, rel=1e-12)


@pytest.mark.parametrize(("cores", "step_ns"), [(1, 59.0), (2, 42.0)])
def test_averaging_begins_with_the_last_and_takes_its_time_on_any_cores(cores: int, step_ns: float) -> None:
    """On one core the passes of 10 and 30 ns are over at 20 and 40; 5 ns later both compute for 7 ns."""
    both = ends(0, 0, averaging_ns=5.0, after_ns=7.0)
    assert shared_step_ns(works(10, 30), both, FREE, range(2), cores) == pytest.approx(step_ns, rel=1e-12)


def test_who_averages_alone_leaves_its_core_to_others() -> None:
    """The third process computes from 20 to 50 ns, while the others average until 120 ns."""
    after = [End(0, 100.0, 0.0), End(0, 100.0, 0.0), End(1, 0.0, 30.0)]
    assert shared_step_ns(works(10, 10, 10), after, FREE, range(3), 1.5) == pytest.approx(120.0, rel=1e-12)


def test_a_pipeline_on_one_core_takes_all_its_work_and_two_on_two_cores_no_longer() -> None:
    """8 micro-batches of 10 + 30 ns and twice that backward, and 40 ns of optimizers."""
    stages = StageGraph((10.0, 30.0), {(0, 1): 4.0}, backward=2.0)
    devices, programs = step_programs(stages, "1f1b", 8, FREE, 2)
    after = [End(0, 0.0, 15.0), End(1, 0.0, 25.0)]
    alone, both = (
        shared_step_ns(programs, after, FREE, devices, pipelines, pipelines) for pipelines in (1, 2)
    )
    assert alone == pytest.approx(1000.0, rel=1e-12)
    assert both == pytest.approx(1000.0, rel=1e-12)


def test_three_processes_on_two_cores_wait_longer_than_all_work_takes() -> None:
    """With 8 micro-batches of 18 ms in one of two replicas and 9 ms in the last stage, all work is 219 ms."""
    stages = StageGraph((6e6, 3e6), {(0, 1): 4.0}, backward=2.0, homes=((0, 2), (1,)))
    devices, programs = step_programs(stages, "1f1b", 8, linked(3, 8e4), 2)
    found = [
        shared_step_ns(programs, ends(0, 0, 1, after_ns=1e6), linked(3, 8e4), devices, cores)
        for cores in (2, 3)
    ]
    assert found == pytest.approx([115.58e6, 91.16e6], rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1000, 5000), min_size=2, max_size=4),
    st.integers(0, 300),
    st.sampled_from(["1f1b", "gpipe", "zb-h1"]),
    st.integers(1, 9),
)
def test_with_a_core_each_the_step_is_the_simulated_one(
    times_ns: list[int], latency_ns: int, schedule: str, micro_batches: int
) -> None:
    messages = {(stage, stage + 1): 1.0 for stage in range(len(times_ns) - 1)}
    stages = StageGraph(tuple(map(float, times_ns)), messages)
    links = linked(len(times_ns), float(latency_ns))
    simulated = simulate_step(stages, schedule, micro_batches, links).outcome.classes
    devices, programs = step_programs(stages, schedule, micro_batches, links)
    cores = len(times_ns)
    found = shared_step_ns(programs, ends(*range(cores)), links, devices, cores)
    assert found == pytest.approx(
        max(one.finish_ns for one in simulated if one), abs=4 * micro_batches * cores
    )
    halved = shared_step_ns(programs, ends(*range(cores)), links, devices, cores / 2)
    assert found <= halved + 1e-6
    assert halved <= 2 * found + 1e-6
