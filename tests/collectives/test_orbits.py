"""All-reduces that some translations keep: what stands for all others, and what is found with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import MIB

from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check
from dse.collectives.search.reductions import halves, in_sequence, without_waste
from dse.collectives.search.symmetric_reductions import families
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import DEFAULT_EFFORT, Effort
from dse.inputs.networks import LinkGraph

CLIQUE, RING = "clique", "ring"


def product(*dimensions: tuple[str, int, int, float]) -> LinkGraph:
    """A graph of cliques and rings along each digit of a node: shape, size, latency in ns, GB/s."""
    nodes = int(np.prod([size for _, size, _, _ in dimensions]))
    links, stride = set(), 1
    for shape, size, latency_ns, gbps in dimensions:
        steps = range(1, size) if shape == CLIQUE else (1, size - 1)
        for node in range(nodes):
            digit = node // stride % size
            for step in steps:
                there = node + ((digit + step) % size - digit) * stride
                links.add((node, there, latency_ns, gbps))
        stride *= size
    return LinkGraph.of(nodes, nodes, sorted(links))


def all_reduce(graph: LinkGraph, k: int = 1, occupancy: str = "total") -> Problem:
    return Problem(graph, Collective("all_reduce", graph.npus, k), MIB, LinkModel(occupancy=occupancy))


def with_barrier(problem: Problem) -> Schedule:
    """Return a reduce-scatter, and then an all-gather, both by symmetry."""
    gathered = synthesize(halves(problem)[1], "symmetric", Effort(trials=2), compare=False).schedule
    tidy = without_waste(gathered)
    scattered = synthesize(halves(problem)[0], "symmetric", Effort(trials=2), compare=False).schedule
    return in_sequence(problem, scattered, tidy)


SLOW_CLIQUES = product((CLIQUE, 8, 500, 57.1428571), (CLIQUE, 4, 2000, 16.6666667))


def test_chunks_of_unlike_timing_overlap_where_those_of_like_timing_cannot() -> None:
    """Cliques of 8, four of them: two of four owners have their sums early, so that their copies go first."""
    problem = all_reduce(SLOW_CLIQUES)
    barrier = with_barrier(problem)
    (kept_small, kept_large) = families(problem)
    found = kept_small.search(None, DEFAULT_EFFORT, 800)
    assert found is not None
    assert check(found).is_valid
    assert (len(kept_small.made), len(kept_large.made)) == (4, 8)
    assert (barrier.time_ps, found.time_ps) == (242_929_598, 224_079_518)
    assert synthesize(problem, "auto").schedule.time_ps <= found.time_ps


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([CLIQUE, RING]),
            st.integers(2, 5),
            st.integers(0, 2000),
            st.sampled_from([12.5, 50, 400]),
        ),
        min_size=1,
        max_size=3,
    ).filter(lambda sizes: np.prod([size for _, size, _, _ in sizes]) <= 40),
    st.integers(1, 2),
    st.sampled_from(["total", "bandwidth"]),
    st.integers(0, 999),
)
def test_what_is_found_is_valid_and_kept_by_the_translations(
    dimensions: list[tuple[str, int, int, float]], k: int, occupancy: str, seed: int
) -> None:
    problem = all_reduce(product(*dimensions), k, occupancy)
    npus = problem.graph.npus
    effort = replace(DEFAULT_EFFORT, seed=seed)
    for orbits in families(problem):
        assert len(orbits.made) * len(orbits.shifts) == npus * k
        found = orbits.search(None, effort, 30)
        assert found is not None
        assert check(found).is_valid
        assert found.time_ps >= best_bound(problem).time_ps
        assert len(found) == 2 * (npus - 1) * npus * k
        part = orbits.part_of(found)
        assert part is not None
        assert len(part) * len(orbits.shifts) == len(found)
        better = orbits.search(found, effort, 30)
        assert better is not None
        assert check(better).is_valid
        assert better.time_ps <= found.time_ps


def test_what_the_translations_do_not_keep_is_no_start() -> None:
    problem = all_reduce(SLOW_CLIQUES)
    barrier = with_barrier(problem)
    start_ps = barrier.start_ps.copy()
    start_ps[np.argmax(start_ps)] += 1
    later = Schedule.of(problem, barrier.link, barrier.chunk, start_ps, barrier.reduce)
    for orbits in families(problem):
        assert orbits.part_of(barrier) is not None
        assert orbits.part_of(later) is None
        assert orbits.search(later, DEFAULT_EFFORT, 10) is None


@pytest.mark.parametrize(
    ("dimensions", "k", "made"),
    [
        (((RING, 5, 500, 50.0),), 1, []),
        (((RING, 5, 500, 50.0),), 3, [3]),
        (((RING, 3, 500, 50.0), (RING, 4, 500, 25.0)), 1, [3, 4]),
        (((CLIQUE, 4, 500, 50.0), (CLIQUE, 2, 500, 25.0)), 2, [4, 8, 2]),
    ],
)
def test_one_digit_is_left_or_all_chunks_of_one_npu(
    dimensions: tuple[tuple[str, int, int, float], ...], k: int, made: list[int]
) -> None:
    assert [len(orbits.made) for orbits in families(all_reduce(product(*dimensions), k))] == made


def test_a_graph_without_translations_has_no_orbits() -> None:
    line = LinkGraph.of(3, 3, [(0, 1, 500, 50), (1, 0, 500, 50), (1, 2, 500, 50), (2, 1, 500, 50)])
    assert list(families(all_reduce(line))) == []
