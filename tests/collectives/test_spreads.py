"""How fast chunks spread by messages where switches copy nothing: by hand, and against all schedules."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.collectives import Collective, Problem
from dse.collectives.bounds import lower_bounds
from dse.collectives.bounds.tight import Ends
from dse.collectives.bounds.view import View
from dse.collectives.check.checker import check
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph
from tests.collectives.link_graphs import bound_of, passive, problem_on, star

FAST_PS, SLOW_PS = 7_340_506, 43_443_040  # a chunk over a link of 150 and of 25 GB/s


def rails(nodes: int = 4, npus: int = 4) -> LinkGraph:
    """Nodes of some NPUs around a fast switch; the NPUs of a place in all nodes around a slow one."""
    count = nodes * npus
    links = [(npu, count + npu // npus, 350, 150) for npu in range(count)]
    links += [(npu, count + nodes + npu % npus, 1500, 25) for npu in range(count)]
    links += [(b, a, ns, gbps) for a, b, ns, gbps in links]
    return passive(LinkGraph.of(count, count + nodes + npus, links))


def test_eight_npus_around_a_switch_have_a_chunk_after_five_hops() -> None:
    """1, 1, 2, 3, 5, 8 have it after 0 to 5 hops: a message takes two, and the next follows after one."""
    problem = problem_on(passive(star(8)), "broadcast")
    assert bound_of(problem, "spread") == 5 * 21_471_520
    assert synthesize(problem, "auto", Effort(trials=2), compare=False).is_optimal


def test_seven_npus_take_28_messages_of_four_chunks_by_nine_hops() -> None:
    """Of 2, 3, … hops 1, 1, 2, 3, 5 bring one, and from then on the root's 7 neighbours take one a hop."""
    for name in ("broadcast", "reduce"):
        problem = problem_on(passive(star(8)), name, 4)
        assert bound_of(problem, "spread") == 9 * 21_471_520
        assert synthesize(problem, compare=False).time_ps == 9 * 21_471_520


def test_a_broadcast_over_rails_crosses_to_a_node_and_spreads_there() -> None:
    """The second NPU of the first node has it after 2 fast hops, the third after 3: so do others cross."""
    problem = problem_on(rails(), "broadcast")
    assert bound_of(problem, "spread") == 2 * SLOW_PS + 6 * FAST_PS


def test_twelve_messages_of_four_chunks_leave_a_node_over_four_rails() -> None:
    """The third one over the rail of the second NPU, which has a chunk after 2 fast hops, is the twelfth."""
    assert bound_of(problem_on(rails(), "broadcast", 4), "spread") == 2 * FAST_PS + 4 * SLOW_PS


def test_messages_leave_a_node_over_the_link_of_one_npu() -> None:
    """Three nodes of two NPUs, of which one of each has a link to a switch: the root serves both others."""
    pairs = [(0, 1, 0, 100), (2, 3, 0, 100), (4, 5, 0, 100), (0, 6, 0, 10), (2, 6, 0, 10), (4, 6, 0, 10)]
    links = [*pairs, *((b, a, ns, gbps) for a, b, ns, gbps in pairs)]
    problem = Problem(passive(LinkGraph.of(6, 7, links)), Collective("broadcast", 6), Fraction(1_000_000))
    assert bound_of(problem, "spread") == 310_000_000
    assert synthesize(problem, "auto", Effort(trials=2), compare=False).is_optimal


def test_an_all_reduce_over_rails_needs_a_seventh_message_on_a_rail_or_waits_inside() -> None:
    """Six on each rail would wait for sums of four NPUs, 4 fast hops, and for copies to four: 362.8 us."""
    assert bound_of(problem_on(rails(), "all_reduce"), "crossings") == 8 * SLOW_PS
    two = 3 * SLOW_PS + 2 * 2 * FAST_PS
    assert bound_of(problem_on(rails(2, 2), "all_reduce"), "crossings") == two


def islands(npus: int, gbps: int = 300) -> LinkGraph:
    """Two fast switches with as many NPUs each, and one slow switch that all of them share."""
    links = [(npu, 2 * npus + npu // npus, 350, gbps) for npu in range(2 * npus)]
    links += [(npu, 2 * npus + 2, 1500, 25) for npu in range(2 * npus)]
    links += [(b, a, ns, speed) for a, b, ns, speed in links]
    return passive(LinkGraph.of(2 * npus, 2 * npus + 3, links))


def test_sums_of_eight_islanders_leave_over_as_many_links_one_after_the_other() -> None:
    """Two messages leave each NPU. The first of all waits 5 hops for its sum, and the last link's 8 hops.

    As the 16 sums of an island and a chunk take 7 messages each, 7 over each link, the last of them is there
    after 8 hops. It is the same backwards, so that 13 hops are lost, and not 10.
    """
    assert bound_of(problem_on(islands(8), "all_reduce"), "crossings") == 3 * SLOW_PS + 13 * 3_845_253


def test_a_third_message_on_a_link_begins_too_late_unless_it_has_what_one_npu_contributes() -> None:
    """Four NPUs in each of two nodes: three messages take 4 slow hops, and a sum of two NPUs 2 fast ones."""
    time_ps = 4 * SLOW_PS + 2 * FAST_PS
    assert bound_of(problem_on(rails(2, 4), "all_reduce"), "crossings") == time_ps


@pytest.mark.parametrize("npus", [4, 5, 6])
@pytest.mark.parametrize("gbps", [50, 100, 200, 400])
def test_all_reduces_over_islands_take_no_less_than_their_bounds(npus: int, gbps: int) -> None:
    problem = problem_on(islands(npus, gbps), "all_reduce")
    made = synthesize(problem, "auto", Effort(trials=1), compare=False).schedule
    assert all(bound.time_ps <= made.time_ps for bound in lower_bounds(problem))


def cliques(nodes: int, npus: int, fast_gbps: int, slow_gbps: int = 10) -> Problem:
    """An all-reduce on nodes of NPUs with links to each other, and slow ones between NPUs of a place."""
    pairs = [(i, j) for i in range(nodes * npus) for j in range(nodes * npus) if i != j]
    inside = [(i, j, 0, fast_gbps) for i, j in pairs if i // npus == j // npus]
    between = [(i, j, 0, slow_gbps) for i, j in pairs if i % npus == j % npus]
    graph = LinkGraph.of(nodes * npus, nodes * npus, inside + between)
    return Problem(graph, Collective("all_reduce", graph.npus), Fraction(1_000_000))


def test_sums_of_four_cliques_of_eight_npus_take_five_rounds_around_two_messages() -> None:
    """A round of 10 us makes 32 sums of a node. 33 let 32 messages go back: they leave after two rounds.

    So 65 are to come no sooner, and take three rounds to spread. It is 2 messages of 100 us and 5 rounds.
    """
    problem = cliques(4, 8, 100)
    assert bound_of(problem, "crossings") == 250_000_000
    assert synthesize(problem, "auto", Effort(trials=2), compare=False).is_optimal


def test_sums_of_eight_cliques_of_eight_npus_take_nine_rounds_around_two_messages() -> None:
    """64 sums a round are 9 chunks' and let 63 messages go back, so the 64th leaves after two rounds.

    As 385 are to come no sooner, and 64 spread in a round, 7 follow.
    """
    assert bound_of(cliques(8, 8, 100), "crossings") == 290_000_000


def test_three_messages_after_each_other_need_no_more_rounds_and_a_third_on_a_link_begins_early() -> None:
    """With 20 us for a slow link 2 and 5 rounds would take 90. A sum, 3 after each other and a copy take 80.

    If chunks have more messages, a link has three, of which the first waits for no sum of two NPUs: 70.
    """
    problem = cliques(4, 8, 100, 50)
    ends = Ends.of(View(problem), np.arange(32) // 8)
    assert ends is not None
    assert (ends.there_and_back_ps, ends.more_ps) == (80_000_000, 70_000_000)
    assert bound_of(problem, "crossings") == 70_000_000


def test_early_messages_are_those_before_half_of_a_clique_can_have_a_sum() -> None:
    """Rows of 2 NPUs on 5 us, joined by fours on 40 us: 4 of 8 have a sum after a link of 40, and 2 after 5.

    Three messages of 200 us on a link take 600, and the first of all begins at 40 or later.
    """
    speeds = {1: 200, 2: 25, 4: 25, 6: 25}
    links = [
        (i, j, 0, speeds[i ^ j] if i // 8 == j // 8 else 5)
        for i in range(32)
        for j in range(32)
        if i != j and (i % 8 == j % 8 or (i // 8 == j // 8 and i ^ j in speeds))
    ]
    problem = Problem(LinkGraph.of(32, 32, links), Collective("all_reduce", 32), Fraction(1_000_000))
    ends = Ends.of(View(problem), np.arange(32) // 8)
    assert ends is not None
    assert ends.more_ps == 640_000_000


@pytest.mark.parametrize(("nodes", "npus"), [(4, 2), (4, 3), (5, 3), (4, 4), (5, 4)])
@pytest.mark.parametrize("gbps", [20, 50, 100, 400])
def test_all_reduces_over_cliques_take_no_less_than_their_bounds(nodes: int, npus: int, gbps: int) -> None:
    problem = cliques(nodes, npus, gbps)
    made = synthesize(problem, "auto", Effort(trials=1), compare=False).schedule
    assert all(bound.time_ps <= made.time_ps for bound in lower_bounds(problem))


def test_switches_that_copy_or_add_have_no_such_bounds() -> None:
    able = replace(rails(), cannot_copy=frozenset(), cannot_add=frozenset())
    assert "spread" not in {bound.name for bound in lower_bounds(problem_on(able, "broadcast"))}
    assert bound_of(problem_on(able, "all_reduce"), "crossings") == 4 * SLOW_PS


def least_time_ps(problem: Problem, known_ps: int) -> int:
    """The least time of a broadcast past switches that copy nothing, by all orders of all sends."""
    graph, chunks = problem.graph, problem.collective.chunks
    ends = list(zip(graph.sources.tolist(), graph.destinations.tolist(), strict=True))
    times = list(zip(problem.arrival_ps.tolist(), problem.held_ps.tolist(), strict=True))
    best = known_ps

    def go_on(
        free: list[int], has: dict[tuple[int, int], int], on_way: list[tuple[int, int, int]], since: int
    ) -> None:
        nonlocal best
        missing = graph.npus * chunks - len(has)
        if missing == 0:
            best = min(best, max(has.values()))
            return
        for link, (there, to) in enumerate(ends):
            arrival, held = times[link]
            if there < graph.npus:
                tokens = [(there, chunk, at) for (npu, chunk), at in has.items() if npu == there]
            else:
                tokens = sorted({token for token in on_way if token[0] == there})
            for token in tokens:
                _, chunk, at = token
                start = max(free[link], at)
                if start < since or start + arrival >= best or (to, chunk) in has:
                    continue
                left = list(on_way)
                if there >= graph.npus:
                    left.remove(token)
                elif len(on_way) == missing:
                    continue
                later = [*free[:link], start + held, *free[link + 1 :]]
                if to < graph.npus:
                    go_on(later, {**has, (to, chunk): start + arrival}, left, start)
                else:
                    go_on(later, has, [*left, (to, chunk, start + arrival)], start)

    go_on([0] * len(ends), {(problem.collective.root, chunk): 0 for chunk in range(chunks)}, [], 0)
    return best


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(0, 2), st.integers(1, 2))
def test_no_schedule_at_all_is_faster_than_the_bounds(
    seed: int, npus: int, switches: int, chunks: int
) -> None:
    rng = random.Random(seed)
    order = rng.sample(range(npus), npus)
    pairs = {(u, npus + i) for i in range(switches) for u in rng.sample(order, rng.randint(1, npus))}
    pairs |= {(b, a) for a, b in pairs} | set(zip(order, (*order[1:], order[0]), strict=True))
    kinds = ((0, 100), (0, 50), (3000, 100), (500, 400))
    graph = passive(
        LinkGraph.of(npus, npus + switches, [(u, v, *rng.choice(kinds)) for u, v in sorted(pairs)])
    )
    problem = problem_on(graph, "broadcast", chunks if npus < 4 else 1)
    made = synthesize(problem, "fast", Effort(trials=1), compare=False).schedule
    assert check(made).is_valid
    least = least_time_ps(problem, made.time_ps)
    assert all(bound.time_ps <= least for bound in lower_bounds(problem))


@pytest.mark.parametrize("nodes", [2, 3])
@pytest.mark.parametrize("npus", [2, 3])
def test_all_reduces_over_rails_take_no_less_than_their_bounds(nodes: int, npus: int) -> None:
    problem = problem_on(rails(nodes, npus), "all_reduce")
    made = synthesize(problem, "auto", Effort(trials=2), compare=False).schedule
    assert all(bound.time_ps <= made.time_ps for bound in lower_bounds(problem))
