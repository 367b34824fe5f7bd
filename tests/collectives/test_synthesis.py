"""Synthesis as a whole: valid results of every collective, never above fixed algorithms, overlapping."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import MIB, random_graph, ring, torus

from dse.base.errors import InputError
from dse.collectives import COLLECTIVES, Collective, LinkModel, Problem, Schedule
from dse.collectives.check.checker import check
from dse.collectives.search import overlap
from dse.collectives.search.fixed_algorithms import fixed_algorithms
from dse.collectives.search.overlap import Overlaps, turned
from dse.collectives.search.reductions import halves, in_sequence, tightened, turned_links, without_waste
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort, Progress
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.csv import read_link_graph

GOLDEN = Path(__file__).parent.parent / "golden" / "topologies"
QUICK = Effort(trials=4, time_limit_s=2)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(2, 7),
    st.integers(0, 8),
    st.integers(0, 99),
    st.sampled_from(COLLECTIVES),
    st.sampled_from(["total", "bandwidth"]),
)
def test_every_result_is_valid_above_its_bounds_and_not_above_fixed_algorithms(
    npus: int, links: int, seed: int, collective: str, occupancy: str
) -> None:
    model = LinkModel(occupancy=occupancy)
    problem = Problem(
        random_graph(npus, links, seed), Collective(collective, npus, root=npus - 1), MIB, model
    )

    result = synthesize(problem, "auto", Effort(seed=seed, trials=4, time_limit_s=0.3))

    assert check(result.schedule).is_valid
    assert all(bound.time_ps <= result.time_ps for bound in result.bounds)
    assert result.time_ps <= min(result.fixed.values())
    assert result.gap >= 0
    if collective == "all_reduce":
        assert result.barrier_ps is not None
        assert result.time_ps <= result.barrier_ps


def test_reduce_scatter_takes_as_long_as_the_all_gather_it_mirrors() -> None:
    gathered = synthesize(Problem(torus(4, 4), Collective("all_gather", 16), MIB), compare=False)
    scattered = synthesize(Problem(torus(4, 4), Collective("reduce_scatter", 16), MIB), compare=False)

    assert check(scattered.schedule).is_valid
    assert scattered.time_ps == gathered.time_ps == gathered.bound_ps


def test_an_overlapped_all_reduce_is_faster_where_links_differ() -> None:
    graph = read_link_graph(GOLDEN / "randhet_4_4_1_500_50.csv")

    result = synthesize(Problem(graph, Collective("all_reduce", 16), MIB), "restarts", Effort(trials=4))

    assert check(result.schedule).is_valid
    assert result.time_ps < 0.9 * result.barrier_ps
    assert result.fixed["hier_up"] == 675_088_640


def test_an_all_reduce_starts_from_nothing_once_for_all_that_it_overlaps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The two halves and the best fixed algorithm: the second search has the fresh starts of the first."""
    seeds, freed = [], []
    fresh, again = overlap._fresh, overlap._chunks_made_again

    def counted_fresh(problem: Problem, seed: int) -> Schedule:
        seeds.append(seed)
        return fresh(problem, seed)

    def counted_again(problem: Problem, start: Schedule | None, effort: Effort) -> Schedule | None:
        freed.append(start)
        return again(problem, start, effort)

    monkeypatch.setattr(overlap, "_fresh", counted_fresh)
    monkeypatch.setattr(overlap, "_chunks_made_again", counted_again)
    problem = Problem(random_graph(11, 12, seed=1), Collective("all_reduce", 11), MIB)
    fixed = fixed_algorithms(problem).schedules
    starts = [fixed[name] for name in sorted(fixed, key=lambda name: fixed[name].time_ps)[:2]]

    shared = Overlaps()
    once = [shared.best(start, Effort(seed=3)) for start in starts]
    assert seeds == [12, 13, 14, 15]
    assert freed.count(None) == 1
    apart = [Overlaps().best(start, Effort(seed=3)) for start in starts]
    assert len(seeds) == 12

    assert [each.time_ps for each in once] == [each.time_ps for each in apart]
    for one, other in zip(once, apart, strict=True):
        assert np.array_equal(one.link, other.link)
        assert np.array_equal(one.start_ps, other.start_ps)
    seeds.clear()
    synthesize(problem, "auto", Effort(seed=3, trials=4), compare=False)
    assert seeds == [12, 13, 14, 15]

    seeds.clear()
    shared, makers = Overlaps(), ("greedy", "restarts")
    effort = Effort(seed=3, trials=4)
    made = [synthesize(problem, maker, effort, compare=False, overlaps=shared) for maker in makers]
    assert seeds == [12, 13, 14, 15]
    alone = [synthesize(problem, maker, effort, compare=False) for maker in makers]
    assert [each.time_ps for each in made] == [each.time_ps for each in alone]


def test_an_all_reduce_run_backwards_is_one_on_turned_links() -> None:
    graph = random_graph(6, 5, seed=2)
    problem = Problem(graph, Collective("all_reduce", 6), MIB)
    schedule = synthesize(problem, "restarts", QUICK, compare=False).schedule

    backwards = turned(schedule)

    assert backwards.problem.graph.sources.tolist() == graph.destinations.tolist()
    assert check(backwards).is_valid
    assert backwards.time_ps <= schedule.time_ps


def test_halves_behind_a_barrier_take_the_sum_and_compacting_keeps_them_valid() -> None:
    problem = Problem(random_graph(7, 4, seed=8), Collective("all_reduce", 7), MIB)
    first, second = (synthesize(half, "restarts", QUICK, compare=False).schedule for half in halves(problem))

    barrier = in_sequence(problem, first, second)
    tight = tightened(barrier)
    moved = tightened(barrier, rounds=20, seed=1)

    assert barrier.time_ps == first.time_ps + second.time_ps
    assert check(barrier).is_valid
    assert check(tight).is_valid
    assert check(moved).is_valid
    assert moved.time_ps <= tight.time_ps <= barrier.time_ps


def test_compacting_moves_every_send_to_the_end_of_what_it_waits_for() -> None:
    problem = Problem(ring(4, 0, 100), Collective("broadcast", 4, 1), Fraction(1_000_000))
    links = problem.graph.number_of
    link = np.array([links[0, 1], links[1, 2], links[0, 3]], dtype=np.int32)
    late = Schedule.of(problem, link, np.zeros(3, dtype=np.int32), np.array([5, 10_000_099, 70]))

    assert sorted(tightened(late).start_ps.tolist()) == [0, 0, 10_000_000]


def test_deliveries_in_vain_are_left_out() -> None:
    problem = Problem(ring(4, 0, 100), Collective("broadcast", 4, 1), Fraction(1_000_000))
    links = problem.graph.number_of
    pairs = [(0, 1), (1, 2), (0, 3), (3, 2), (2, 1)]
    link = np.array([links[pair] for pair in pairs], dtype=np.int32)
    start = np.array([0, 1, 0, 2, 3]) * 10_000_000

    tidy = without_waste(Schedule.of(problem, link, np.zeros(5, dtype=np.int32), start))

    assert sorted(tidy.link.tolist()) == sorted(links[pair] for pair in pairs[:3])


def test_links_with_a_twin_in_the_other_direction_are_found() -> None:
    both = turned_links(Problem(torus(4, 4), Collective("all_reduce", 16), MIB))
    one_way = LinkGraph.of(3, 3, [(0, 1, 0, 1), (1, 2, 0, 1), (2, 0, 0, 1)])

    assert both is not None
    assert np.array_equal(both[both], np.arange(len(both)))
    assert turned_links(Problem(one_way, Collective("all_reduce", 3), MIB)) is None


def test_results_depend_on_the_seed_alone() -> None:
    problem = Problem(random_graph(8, 8, seed=4), Collective("all_reduce", 8), MIB)
    effort = Effort(seed=3, trials=3)

    one, other = (synthesize(problem, "restarts", effort, compare=False).schedule for _ in range(2))

    assert np.array_equal(one.start_ps, other.start_ps)
    assert np.array_equal(one.link, other.link)


def test_progress_is_reported_and_the_story_says_why() -> None:
    seen: list[Progress] = []
    problem = Problem(random_graph(6, 4, seed=1), Collective("all_gather", 6), MIB)

    result = synthesize(problem, "auto", Effort(trials=4, time_limit_s=2, report=seen.append), compare=False)

    assert seen
    assert "restarts of greedy searches, 4 runs" in result.why
    assert result.fixed == {}


def test_an_unknown_synthesizer_is_an_error_that_lists_them() -> None:
    with pytest.raises(InputError, match=r"allowed are auto"):
        synthesize(Problem(ring(4), Collective("all_gather", 4), MIB), "fastest")


def test_a_synthesizer_that_cannot_take_a_collective_says_so() -> None:
    with pytest.raises(InputError, match=r"synthesizer is symmetric, but broadcast.*synthesizer=auto"):
        synthesize(Problem(ring(4), Collective("broadcast", 4), MIB), "symmetric")


def test_a_single_npu_needs_nothing() -> None:
    alone = LinkGraph.of(1, 1, [])

    for collective in COLLECTIVES:
        result = synthesize(Problem(alone, Collective(collective, 1), MIB))
        assert (result.time_ps, result.bound_ps, result.is_optimal) == (0, 0, True)


def test_an_all_reduce_that_trees_cannot_improve_is_not_called_optimal() -> None:
    """Three NPUs that exchange partial sums take 3 ns, trees 4."""
    links = [(0, 1, 0), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 0), (2, 1, 1)]
    graph = LinkGraph.of(3, 3, [(source, to, latency, 1) for source, to, latency in links])
    result = synthesize(Problem(graph, Collective("all_reduce", 3), Fraction(1)))
    assert result.bound_ps <= 3_000
    assert result.is_optimal == (result.time_ps == result.bound_ps)
    assert "search" not in {bound.name for bound in result.bounds}


def test_two_npus_that_swap_overlap_latencies() -> None:
    graph = LinkGraph.of(2, 2, [(0, 1, 9, 1), (1, 0, 9, 1)])
    problem = Problem(graph, Collective("all_reduce", 2), Fraction(1), LinkModel(occupancy="bandwidth"))
    assert synthesize(problem).bound_ps <= 11_000  # what a direct exchange takes


def test_a_want_that_is_written_twice_counts_once() -> None:
    graph = LinkGraph.of(2, 2, [(0, 1, 0, 1), (1, 0, 0, 1)])
    twice = Collective("custom", 2, preconditions=((0, 0),), postconditions=((1, 0), (1, 0)))
    result = synthesize(Problem(graph, twice, Fraction(1)))
    assert (result.time_ps, result.bound_ps) == (1_000, 1_000)


def test_a_want_that_nobody_has_is_an_error() -> None:
    with pytest.raises(InputError, match="NPU 1 wants chunk 1, which no NPU has"):
        Collective("custom", 2, preconditions=((0, 0),), postconditions=((1, 1),))


@pytest.mark.parametrize(("chunk_bytes", "clock"), [(Fraction(1, 10**9), "ps"), (Fraction(1), "ns")])
def test_links_on_which_a_chunk_takes_no_time_are_refused(
    chunk_bytes: Fraction, clock: Literal["ps", "ns"]
) -> None:
    problem = Problem(ring(3, latency_ns=0), Collective("all_reduce", 3), chunk_bytes, LinkModel(clock=clock))
    message = f"a chunk takes 0 {clock} on a link of 50 GB/s, which cannot be scheduled; take larger chunks"
    with pytest.raises(InputError, match=message):
        synthesize(problem, effort=QUICK)
