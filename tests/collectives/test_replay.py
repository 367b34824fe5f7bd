"""A schedule played again: what a send waits for, one draw and many, the critical path."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import MIB, all_gather, all_reduce_of, greedy, random_graph, replay, ring, torus

from dse.base.errors import InputError
from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.collectives.search.replay import Replay, compacted
from dse.inputs.networks import LinkGraph

ASTRASIM = LinkModel("gib", "bandwidth", "ns")


def sends(problem: Problem, *rows: tuple[int, int, int], reduce: bool = False) -> Schedule:
    """A schedule of rows (link, chunk, start)."""
    link, chunk, start = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Schedule.of(problem, link.astype(np.int32), chunk.astype(np.int32), start.copy(), reduce)


def line() -> Problem:
    """A broadcast of two chunks along 0 -> 1 -> 2; 1000 bytes a chunk at 1 GB/s."""
    graph = LinkGraph.of(3, 3, [(0, 1, 0, 1), (1, 2, 0, 1)])
    return Problem(graph, Collective("broadcast", 3, 2), Fraction(1000))


def test_a_send_waits_for_its_link_and_for_its_chunk() -> None:
    idle = sends(line(), (0, 0, 0), (0, 1, 5_000_000), (1, 0, 2_000_000), (1, 1, 9_000_000))

    assert idle.time_ps == 10_000_000
    assert compacted(idle).start_ps.tolist() == [0, 1_000_000, 1_000_000, 2_000_000]
    slow_second = np.array([[1_000_000], [7_000_000]])
    assert replay(idle, slow_second).tolist() == [1_000_000 + 2 * 7_000_000]
    slow_first = np.array([[7_000_000], [1_000_000]])
    assert replay(idle, slow_first).tolist() == [2 * 7_000_000 + 1_000_000]


def test_a_link_that_is_free_before_the_arrival_takes_the_next_send_then() -> None:
    graph = LinkGraph.of(2, 2, [(0, 1, 500, 1)])
    problem = Problem(graph, Collective("broadcast", 2, 3), Fraction(1000), LinkModel(occupancy="bandwidth"))
    schedule = sends(problem, (0, 0, 0), (0, 1, 1_000_000), (0, 2, 2_000_000))

    assert replay(schedule).tolist() == [3_500_000]
    with pytest.raises(ValueError, match="give `held_ps`"):
        replay(schedule, np.array([[1_000_000]]))


def test_a_sum_waits_for_everything_it_adds_up() -> None:
    graph = LinkGraph.of(4, 4, [(0, 2, 0, 1), (1, 2, 0, 1), (2, 3, 0, 1)])
    problem = Problem(graph, Collective("reduce", 4, 1, root=3), Fraction(1000))
    schedule = sends(problem, (0, 0, 0), (1, 0, 0), (2, 0, 1_000_000), reduce=True)

    draws = np.array([[5, 1], [3, 9], [1, 1]])
    assert replay(schedule, draws).tolist() == [6, 10]


def test_the_critical_path_names_its_links() -> None:
    schedule = sends(line(), (0, 0, 0), (0, 1, 1_000_000), (1, 0, 1_000_000), (1, 1, 2_000_000))

    critical = Replay(schedule).critical(np.array([[7, 1], [2, 5]]))

    assert critical.times_ps.tolist() == [16, 11]
    assert critical.draws.tolist() == [2, 2]
    assert critical.path_ps.tolist() == [14 + 1, 2 + 10]
    assert (critical.arrivals + critical.waits).tolist() == [3, 3]


def test_a_send_that_leaves_before_its_chunk_is_there_is_refused() -> None:
    with pytest.raises(InputError, match="chunk 0 from 1 to 2 at 999999 ps leaves before its chunk is there"):
        replay(sends(line(), (0, 0, 0), (1, 0, 999_999)))


def test_sends_that_take_no_time_may_follow_each_other_at_once() -> None:
    graph = LinkGraph.of(3, 3, [(1, 2, 0, 10**9), (0, 1, 0, 10**9)])
    problem = Problem(graph, Collective("broadcast", 3), Fraction(1))

    assert replay(sends(problem, (0, 0, 0), (1, 0, 0))).tolist() == [0]


def test_an_exchange_of_partial_sums_is_not_compacted_into_sums_that_count_twice() -> None:
    graph = LinkGraph.of(2, 2, [(0, 1, 0, 1), (1, 0, 0, 2)])
    problem = Problem(graph, Collective("all_reduce", 2), Fraction(1000))
    exchange = sends(problem, (0, 1, 0), (1, 1, 0), (1, 0, 600_000), (0, 0, 1_000_000), reduce=True)

    assert replay(exchange).tolist() == [2_000_000]
    assert compacted(exchange).start_ps.tolist() == [0, 0, 600_000, 1_000_000]


@pytest.mark.parametrize("model", [LinkModel(), ASTRASIM])
def test_draws_of_a_block_do_not_touch_each_other(model: LinkModel) -> None:
    problem = all_gather(torus(3, 4), model=model)
    schedule = greedy(problem)
    factors = np.random.default_rng(3).integers(1, 50, (len(problem.graph), 19))
    arrival, held = problem.arrival_ps[:, None] * factors, problem.held_ps[:, None] * factors

    together = replay(schedule, arrival, held)

    alone = [replay(schedule, arrival[:, [d]], held[:, [d]])[0] for d in range(19)]
    assert together.tolist() == alone
    per_send = replay(schedule, arrival[schedule.link], held[schedule.link], per_send=True)
    assert per_send.tolist() == alone
    assert Replay(schedule).critical(arrival, held).times_ps.tolist() == alone


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 7), st.integers(0, 12), st.integers(0, 10**6), st.sampled_from([LinkModel(), ASTRASIM]))
def test_replay_is_never_later_and_never_earlier_on_slower_links(
    npus: int, links: int, seed: int, model: LinkModel
) -> None:
    problem = all_gather(random_graph(npus, links, seed), model=model)
    schedule = greedy(problem, seed)
    compact = compacted(schedule)
    assert compact.time_ps == replay(schedule)[0] <= schedule.time_ps
    assert compacted(compact).start_ps.tolist() == compact.start_ps.tolist()

    slower = 1 + np.random.default_rng(seed).integers(0, 2, (len(problem.graph), 9))
    times = replay(schedule, problem.arrival_ps[:, None] * slower, problem.held_ps[:, None] * slower)
    assert (times >= compact.time_ps).all()


@settings(max_examples=15, deadline=None)
@given(st.integers(3, 6), st.integers(0, 10**6))
def test_the_parts_of_the_critical_path_add_up_to_the_time(npus: int, seed: int) -> None:
    schedule = greedy(all_gather(random_graph(npus, 5, seed)), seed)

    critical = Replay(schedule).critical()

    assert critical.path_ps.sum() == critical.times_ps[0]


def test_an_all_reduce_with_a_barrier_starts_its_second_phase_earlier() -> None:
    barrier = all_reduce_of(greedy(all_gather(ring(5))))

    assert compacted(barrier).time_ps <= barrier.time_ps == 2 * greedy(all_gather(ring(5))).time_ps
    assert barrier.problem.chunk_bytes == MIB
