"""What every search of the engine must do: valid schedules, the same ones per seed, early ends, errors."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.cancellation import Cancellation
from dse.base.errors import Cancelled, InputError
from dse.collectives.problem.collective import Collective
from dse.collectives.problem.problem import LinkModel, Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.synthesizers import Effort, Progress, Synthesizer
from dse.collectives.search.synthesizers.base import RULES, Approach, Rule, numbered
from dse.collectives.search.synthesizers.beam import Beam
from dse.collectives.search.synthesizers.greedy import Arrival, Greedy
from dse.collectives.search.synthesizers.improve import Improve
from dse.collectives.search.synthesizers.restarts import Restarts
from dse.inputs.networks import LinkGraph
from dse.native import _solvers
from tests.collectives.link_graphs import MIB, faults, graphs, grid, problems, star

SEARCHES = [
    Greedy(),
    Arrival(),
    Restarts(),
    Improve(),
    Beam(beams=2),
    Beam(beams=2, fitness="shortest_path", temperature=1e5),
]
EVERY_SEARCH = pytest.mark.parametrize("search", SEARCHES, ids=lambda s: f"{s.name}{SEARCHES.index(s)}")


def all_gather(graph: LinkGraph, chunks_per_npu: int = 1) -> Problem:
    return Problem(graph, Collective("all_gather", graph.npus, chunks_per_npu), Fraction(MIB))


@EVERY_SEARCH
@settings(max_examples=25, deadline=None)
@given(problem=problems(graphs(most_switches=2)), seed=st.integers(0, 9))
def test_schedules_are_valid_and_deliver_nothing_twice(
    search: Synthesizer, problem: Problem, seed: int
) -> None:
    schedule = search.synthesize(problem, Effort(seed=seed, trials=4)).schedule
    assert faults(problem, (schedule.link, schedule.chunk, schedule.start_ps)) == []


@pytest.mark.parametrize("approach", ["forward", "arrival"])
@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=20, deadline=None)
@given(graph=graphs(), k=st.integers(1, 3), occupancy=st.sampled_from(["total", "bandwidth"]))
def test_every_rule_makes_valid_schedules(
    approach: Approach, rule: Rule, graph: LinkGraph, k: int, occupancy: str
) -> None:
    problem = Problem(
        graph, Collective("all_gather", graph.npus, k), Fraction(MIB), LinkModel(occupancy=occupancy)
    )
    found, _ = _solvers.search_restarts(problem.native, numbered(((approach, rule),)), 5, 2, 0, None, None)
    assert faults(problem, found.take_columns()) == []


@settings(max_examples=30, deadline=None)
@given(problem=problems(graphs(most_switches=1)), data=st.data())
def test_searches_go_on_from_chunks_that_come_late_and_links_that_are_not_free(
    problem: Problem, data: st.DataObject
) -> None:
    nodes, chunks = problem.collective.holdings()
    times = st.integers(0, 10**9)
    at = np.array(data.draw(st.lists(times, min_size=len(nodes), max_size=len(nodes))), dtype=np.int64)
    links = len(problem.graph)
    free = np.array(data.draw(st.lists(times, min_size=links, max_size=links)), dtype=np.int64)
    native = problem.native.resumed((nodes, chunks), at, free)
    late = dict(zip(zip(nodes.tolist(), chunks.tolist(), strict=True), at.tolist(), strict=True))
    for variant in (("forward", "oldest"), ("arrival", "needed"), ("routes", "oldest")):
        found, _ = _solvers.search_restarts(native, numbered((variant,)), 0, 1, 0, None, None)
        columns = found.take_columns()
        assert faults(problem, columns, dict(late)) == []
        assert all(columns[2] >= free[columns[0]])
        better, _ = _solvers.search_improve(native, *columns, 0, 20, 0, None, None)
        assert faults(problem, better, dict(late)) == []
        assert all(better[2] >= free[better[0]])


@EVERY_SEARCH
def test_a_seed_gives_the_same_schedule_again(search: Synthesizer) -> None:
    problem = all_gather(grid(3, 4))
    first, again = (search.synthesize(problem, Effort(seed=7, trials=3)).schedule for _ in range(2))
    assert np.array_equal(first.link, again.link)
    assert np.array_equal(first.chunk, again.chunk)
    assert np.array_equal(first.start_ps, again.start_ps)


@EVERY_SEARCH
def test_more_trials_are_never_worse(search: Synthesizer) -> None:
    problem = all_gather(grid(2, 3, 2, wraps=True))
    times = [search.synthesize(problem, Effort(trials=n)).schedule.time_ps for n in (1, 3, 9)]
    assert times == sorted(times, reverse=True)


@EVERY_SEARCH
def test_a_time_that_is_enough_ends_the_search(search: Synthesizer) -> None:
    synthesis = search.synthesize(all_gather(grid(3, 3)), Effort(trials=50, enough_ps=10**12))
    assert synthesis.trials == 1


@EVERY_SEARCH
def test_progress_tells_the_best_time_so_far(search: Synthesizer) -> None:
    told: list[Progress] = []
    synthesis = search.synthesize(all_gather(grid(3, 3)), Effort(trials=2, report=told.append))
    assert told[0].best_ps is not None
    assert told[0].best_ps >= synthesis.schedule.time_ps


@EVERY_SEARCH
def test_no_way_names_both_npus(search: Synthesizer) -> None:
    graph = LinkGraph.of(3, 3, [(0, 1, 500, 50), (1, 0, 500, 50), (2, 0, 500, 50)])
    with pytest.raises(InputError, match="no way from NPU 0 to NPU 2"):
        search.synthesize(all_gather(graph), Effort())


@EVERY_SEARCH
def test_a_time_limit_too_short_for_any_schedule_is_named(search: Synthesizer) -> None:
    with pytest.raises(InputError, match="no schedule was found in the 1e-09 s that time_limit_s left"):
        search.synthesize(all_gather(grid(4, 4)), Effort(time_limit_s=1e-9))


@EVERY_SEARCH
def test_a_time_limit_gives_the_best_so_far(search: Synthesizer) -> None:
    problem = all_gather(grid(3, 3))
    schedule = search.synthesize(problem, Effort(trials=10**8, time_limit_s=0.2)).schedule
    assert faults(problem, (schedule.link, schedule.chunk, schedule.start_ps)) == []


@EVERY_SEARCH
def test_a_cancelled_search_without_a_schedule_raises(search: Synthesizer) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        search.synthesize(all_gather(grid(3, 3)), Effort(cancellation=cancellation))


@EVERY_SEARCH
def test_a_cancelled_search_keeps_the_best_so_far(search: Synthesizer) -> None:
    cancellation = Cancellation()
    problem = all_gather(grid(3, 3))
    effort = Effort(trials=10**8, cancellation=cancellation, report=lambda _: cancellation.cancel())
    schedule = search.synthesize(problem, effort).schedule
    assert faults(problem, (schedule.link, schedule.chunk, schedule.start_ps)) == []


@EVERY_SEARCH
def test_nothing_to_do_is_an_empty_schedule(search: Synthesizer) -> None:
    collective = Collective("custom", 4, preconditions=((0, 0),), postconditions=((0, 0),))
    schedule = search.synthesize(Problem(grid(2, 2), collective, Fraction(MIB)), Effort(trials=2)).schedule
    assert (len(schedule), schedule.time_ps) == (0, 0)


@EVERY_SEARCH
def test_switches_store_and_forward(search: Synthesizer) -> None:
    schedule = search.synthesize(all_gather(star(3)), Effort(trials=4)).schedule
    # Into the switch, and then two chunks to each NPU, one after the other.
    assert schedule.time_ps == 3 * 21471520
    assert len(schedule) == 9


@pytest.mark.parametrize("rule", ["oldest", "random"])
def test_schedules_found_know_their_time_and_size_before_their_columns(rule: Rule) -> None:
    problem = all_gather(grid(4, 4), 2)
    asked = numbered((("forward", rule),)), 5, 2, 0, None, None
    found, again = (_solvers.search_restarts(problem.native, *asked)[0] for _ in range(2))
    columns = again.take_columns()
    schedule, read = Schedule.found(problem, found), Schedule.of(problem, *columns)
    assert (len(schedule), schedule.time_ps) == (len(columns[0]), read.time_ps)
    for name in ("link", "chunk", "start_ps", "reduce"):
        assert (getattr(schedule, name) == getattr(read, name)).all()
    assert len(schedule) == len(schedule.link) == 16 * 15 * 2
