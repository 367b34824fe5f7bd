"""Bounds of latency are never above the optimum, and say what work, ways, links and memory force."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.partition.search.bounds import lower_bound
from dse.partition.search.latency_bounds import jackson_ns
from dse.partition.search.partitioner import Limits
from dse.testing.partitioners import Enumeration, random_problem

FORK = ModelGraph((4.0, 10.0, 10.0, 4.0), ((0, 1), (0, 2), (1, 3), (2, 3)), (1.0,) * 4)


def _linked(count: int, latency_ns: float, memory_bytes: tuple[float, ...] = ()) -> Devices:
    link = tuple(tuple(latency_ns * (a != b) for b in range(count)) for a in range(count))
    return Devices(count, latency_ns=link, memory_bytes=memory_bytes)


def _bound(graph: ModelGraph, devices: Devices, pinned: dict[int, int] | None = None) -> float:
    return lower_bound(PartitionProblem(graph, devices, "latency", pinned or {}))


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**7))
def test_no_partition_is_below_the_bound(seed: int) -> None:
    problem = random_problem(seed, "latency")
    try:
        least = Enumeration().partition(problem, Limits()).cost
    except InfeasiblePartition:
        return
    assert lower_bound(problem) <= least


def test_most_small_problems_are_proven_by_the_bound_alone() -> None:
    proven = count = 0
    for seed in range(300):
        problem = random_problem(seed, "latency")
        try:
            least = Enumeration().partition(problem, Limits()).cost
        except InfeasiblePartition:
            continue
        count += 1
        proven += lower_bound(problem) >= least * (1 - 1e-9)
    assert proven > 0.7 * count


@pytest.mark.parametrize(("latency_ns", "bound_ns"), [(0.0, 18.0), (3.0, 21.0), (4.0, 22.0), (50.0, 28.0)])
def test_two_devices_pay_for_the_link_or_one_does_all_the_work(latency_ns: float, bound_ns: float) -> None:
    """One device takes 28 ns; two cut an edge, and every way through an edge has 18 ns of work."""
    assert _bound(FORK, _linked(2, latency_ns)) == pytest.approx(bound_ns, rel=1e-10)


def test_memory_forces_cuts() -> None:
    graph = ModelGraph((5.0, 5.0, 5.0), ((0, 1), (1, 2)), (0.0, 0.0), memory_bytes=(4.0, 4.0, 4.0))
    assert _bound(graph, _linked(3, 7.0, memory_bytes=(12.0,) * 3)) == pytest.approx(15.0, rel=1e-10)
    assert _bound(graph, _linked(3, 7.0, memory_bytes=(8.0,) * 3)) == pytest.approx(22.0, rel=1e-10)


def test_pins_force_links_along_ways() -> None:
    chain = ModelGraph((2.0, 3.0, 2.0), ((0, 1), (1, 2)), (1.0, 1.0))
    assert _bound(chain, _linked(2, 5.0), {0: 0, 2: 1}) == pytest.approx(12.0, rel=1e-10)
    assert _bound(chain, _linked(2, 5.0), {0: 0, 1: 1, 2: 0}) == pytest.approx(17.0, rel=1e-10)


def test_work_counts_from_when_it_can_start() -> None:
    """Four nodes of 10 ns after one of 6, before one of 6: on two free links 6 + 40 / 2 + 6."""
    wide = ModelGraph(
        (6.0, 10.0, 10.0, 10.0, 10.0, 6.0),
        tuple((0, v) for v in range(1, 5)) + tuple((v, 5) for v in range(1, 5)),
    )
    assert _bound(wide, _linked(2, 0.0)) == pytest.approx(32.0, rel=1e-10)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=7))
def test_jacksons_schedule_is_the_worst_of_all_sets(jobs: list[tuple[int, int, int]]) -> None:
    starts, times, after = (tuple(float(job[k]) for job in jobs) for k in range(3))
    sets = [s for size in range(1, len(jobs) + 1) for s in combinations(jobs, size)]
    worst = max(min(a for a, _, _ in s) + sum(b for _, b, _ in s) + min(c for _, _, c in s) for s in sets)
    assert jackson_ns(starts, times, after) == worst
