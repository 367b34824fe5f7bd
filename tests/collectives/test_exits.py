"""Bounds on all-reduces from sums that leave one part and enter another: by hand, and against schedules."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from dse.collectives import Collective, Problem
from dse.collectives.bounds import best_bound, lower_bounds
from dse.collectives.bounds.exits import exits_bound
from dse.collectives.bounds.view import View
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph

FAST_GBPS = 100  # 10 us for a chunk


def islands(count: int, npus: int, slow_gbps: int, chunks: int = 1) -> Problem:
    """An all-reduce on islands of NPUs around a fast switch, and a slow one for all; they copy and add."""
    nodes, first = range(count * npus), count * npus
    links = [(npu, first + npu // npus, 0, FAST_GBPS) for npu in nodes]
    links += [(npu, first + count, 0, slow_gbps) for npu in nodes]
    links += [(b, a, ns, gbps) for a, b, ns, gbps in links]
    graph = LinkGraph.of(first, first + count + 1, links)
    return Problem(graph, Collective("all_reduce", first, chunks), Fraction(1_000_000))


def exits_ps(problem: Problem) -> int:
    return max(bound.time_ps for bound in exits_bound(View(problem)))


def test_sums_wait_for_seven_sends_each_and_spread_by_seven_deliveries() -> None:
    """16 sums leave an island over 8 links of 200 us, and take 400 us to the other one.

    The fourth one is whole after 28 sends, the last of which begin at 30 us, and 2 hops: at 50 us. Its link
    begins another 200 us later. Five come no sooner into the other island, and take 60 us to spread.
    """
    problem = islands(2, 8, 5)
    assert exits_ps(problem) == (50 + 200 + 400 + 60) * 1_000_000
    assert best_bound(problem).name == "exits"


def test_a_message_more_begins_when_a_link_is_free_for_the_third_time() -> None:
    """Of 100 us each: 2 before it, and a way of 2."""
    assert exits_ps(islands(2, 8, 10)) == 400_000_000


@pytest.mark.parametrize(("count", "npus", "gbps", "time_us"), [(2, 2, 5, 640), (3, 2, 10, 440)])
def test_all_reduces_past_switches_that_add_meet_the_bound(
    count: int, npus: int, gbps: int, time_us: int
) -> None:
    problem = islands(count, npus, gbps)
    assert exits_ps(problem) == time_us * 1_000_000
    assert synthesize(problem, effort=Effort(trials=2), compare=False).time_ps == time_us * 1_000_000


@pytest.mark.parametrize("are_passive", [False, True])
@pytest.mark.parametrize("gbps", [5, 10, 40, 80])
@pytest.mark.parametrize(("count", "npus", "chunks"), [(2, 1, 2), (2, 3, 1), (3, 2, 2), (4, 2, 1)])
def test_no_all_reduce_over_islands_takes_less(
    count: int, npus: int, chunks: int, gbps: int, are_passive: bool
) -> None:
    problem = islands(count, npus, gbps, chunks)
    if are_passive:
        switches = frozenset(range(problem.graph.npus, problem.graph.nodes))
        graph = replace(problem.graph, cannot_copy=switches, cannot_add=switches)
        problem = replace(problem, graph=graph)
    made = synthesize(problem, effort=Effort(trials=1), compare=False).schedule
    assert all(bound.time_ps <= made.time_ps for bound in lower_bounds(problem))


def test_all_gathers_and_single_parts_have_no_such_bound() -> None:
    problem = islands(2, 2, 5)
    assert list(exits_bound(View(replace(problem, collective=Collective("all_gather", 4))))) == []
    assert list(exits_bound(View(islands(2, 2, FAST_GBPS)))) == []
