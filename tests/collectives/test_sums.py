"""Large neighbourhoods of all-reduces: chunks freed in both halves, and put into the gaps again."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import MIB, random_graph

from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check
from dse.collectives.search.reductions import halves, in_sequence, without_waste
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph
from dse.native import _solvers

NOTHING = (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.uint8))


def freed(problem: Problem, start: Schedule | None, seed: int, steps: int, enough_ps: int = 0) -> Schedule:
    """Return what so many steps make of an all-reduce, or of nothing."""
    columns = NOTHING
    if start is not None:
        columns = (start.link, start.chunk, start.start_ps, start.reduce.astype(np.uint8))
    native = halves(problem)[1].native
    (link, chunk, start_ps), sums, _ = _solvers.search_sums(
        native, True, *columns, seed, steps, enough_ps, None
    )
    return Schedule.of(problem, link, chunk, start_ps, np.arange(len(link)) < sums)


def with_barrier(problem: Problem) -> Schedule:
    """Return a reduce-scatter, and then an all-gather."""
    first, second = (
        synthesize(half, "restarts", Effort(trials=2), compare=False) for half in halves(problem)
    )
    return in_sequence(problem, first.schedule, without_waste(second.schedule))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 9),
    st.integers(0, 12),
    st.integers(1, 3),
    st.integers(0, 999),
    st.sampled_from(["total", "bandwidth"]),
    st.booleans(),
)
def test_what_is_found_is_valid_above_its_bound_and_no_slower_than_the_start(
    npus: int, links: int, k: int, seed: int, occupancy: str, from_nothing: bool
) -> None:
    graph = random_graph(npus, links, seed)
    problem = Problem(graph, Collective("all_reduce", npus, k), MIB, LinkModel(occupancy=occupancy))
    start = None if from_nothing else with_barrier(problem)

    found = freed(problem, start, seed, 40)

    assert check(found).is_valid
    assert found.time_ps >= best_bound(problem).time_ps
    assert len(found) == 2 * (npus - 1) * npus * k
    if start is not None:
        assert found.time_ps <= start.time_ps


def test_a_seed_gives_the_same_sends_again() -> None:
    problem = Problem(random_graph(7, 6, seed=3), Collective("all_reduce", 7), MIB)
    one, again = freed(problem, None, 5, 200), freed(problem, None, 5, 200)
    assert np.array_equal(one.link, again.link)
    assert np.array_equal(one.start_ps, again.start_ps)


def test_the_search_ends_at_what_is_enough() -> None:
    problem = Problem(random_graph(6, 5, seed=1), Collective("all_reduce", 6), MIB)
    nothing_done = freed(problem, None, 0, 0)
    assert freed(problem, None, 0, 500, enough_ps=nothing_done.time_ps).time_ps == nothing_done.time_ps


# Links in both directions, 500 ns each, with what they carry in GB/s.
MIXED = (
    (0, 1, 100), (0, 2, 50), (0, 6, 10), (1, 3, 10), (2, 3, 100), (2, 4, 200), (2, 5, 100), (2, 6, 100),
    (2, 7, 25), (3, 5, 50), (3, 6, 200), (3, 7, 50), (4, 5, 200), (4, 6, 25), (4, 7, 200), (5, 6, 200),
    (5, 7, 200),
)  # fmt: skip


def mixed() -> LinkGraph:
    """Eight NPUs on links of many speeds."""
    return LinkGraph.of(8, 8, [(a, b, 500, gbps) for x, y, gbps in MIXED for a, b in ((x, y), (y, x))])


@pytest.mark.parametrize("from_nothing", [True, False])
def test_chunks_weave_through_both_halves_where_links_have_many_speeds(from_nothing: bool) -> None:
    """Making one half again around the other, in turn, ends at 195.24 us."""
    problem = Problem(mixed(), Collective("all_reduce", 8), MIB)
    start = with_barrier(problem)
    found = freed(problem, None if from_nothing else start, 0, 1000)
    assert check(found).is_valid
    assert (start.time_ps, found.time_ps) == (232_686_720, 172_772_160)


def test_messages_between_clusters_bound_an_all_reduce() -> None:
    """A chunk needs two messages per cluster but two: 8 chunks of 1 us on 4 + 4 links between four pairs.

    Each pair takes 1 ns to sum what its first message brings, and 1 ns to share what its last one brings.
    """
    fast, slow = 1000, 1
    pairs = [(2 * i, 2 * i + 1, 0, fast) for i in range(4)]
    between = [(2 * i, (2 * i + 2) % 8, 0, slow) for i in range(4)]
    links = [*pairs, *between]
    graph = LinkGraph.of(8, 8, [*links, *((b, a, ns, gbps) for a, b, ns, gbps in links)])
    bound = best_bound(Problem(graph, Collective("all_reduce", 8), Fraction(1000)))
    assert (bound.name, bound.time_ps) == ("crossings", 6_002_000)
    assert bound.text == (
        "48 messages are needed between 4 clusters of NPUs on 8 links. "
        "Those of chunks that have no more wait, and are to spread, for 2000 ps in all"
    )


@pytest.mark.parametrize("name", ["all_gather", "reduce_scatter", "all_to_all"])
def test_crossings_are_counted_for_all_reduces_alone(name: str) -> None:
    problem = Problem(mixed(), Collective(name, 8), MIB)
    assert best_bound(problem).name != "crossings"
