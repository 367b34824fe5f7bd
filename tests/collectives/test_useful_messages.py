"""Messages weighed by how many NPUs they have something from, and for: by hand, and against all schedules."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.collectives import Collective, LinkModel, Problem
from dse.collectives.bounds import lower_bounds
from dse.collectives.bounds.useful import useful_bound
from dse.collectives.bounds.view import View
from dse.collectives.check.checker import check
from dse.collectives.problem.collective import Part
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph
from tests.collectives.link_graphs import MIB, passive, problem_on, random_graph, star

HOP_PS = 21_471_520
WANTED_BY_ALL = ("all_gather", "all_reduce", "broadcast", "reduce_scatter")


def leaves(count: int, npus: int, gbps: int = 50) -> LinkGraph:
    """NPUs round passive switches, which are round another one."""
    all_npus, top = count * npus, count * npus + count
    ups = [(npu, all_npus + npu // npus, 500, 50) for npu in range(all_npus)]
    ups += [(all_npus + leaf, top, 500, gbps) for leaf in range(count)]
    return passive(LinkGraph.of(all_npus, top + 1, ups + [(b, a, *link) for a, b, *link in ups]))


def useful_ps(problem: Problem) -> int:
    return {bound.name: bound.time_ps for bound in lower_bounds(problem)}.get("useful", 0)


@pytest.mark.parametrize(("count", "npus", "hops"), [(2, 2, 6), (2, 3, 8), (3, 2, 8), (3, 3, 11), (4, 4, 18)])
def test_an_all_gather_over_leaves_is_optimal(count: int, npus: int, hops: int) -> None:
    """Of 2 x 3: the 3 chunks of the other leaf come to an NPU after 4, 5 and 6 hops.

    With 7 hops in all the first is of use to 3 NPUs, the second to 2 and the others to 1 each, of 3.
    """
    for name in ("all_gather", "reduce_scatter"):
        found = synthesize(problem_on(leaves(count, npus), name), "auto", Effort(trials=20), compare=False)
        assert found.time_ps == useful_ps(found.schedule.problem) == found.bound_ps == hops * HOP_PS
        assert check(found.schedule).is_valid


def test_an_all_reduce_over_two_leaves_of_three_is_optimal() -> None:
    """6 chunks go up each link. After 1, 2, 3 and 4 hops one has something of 1, 1, 2 and 3 NPUs, of 3.

    Likewise at the end: with 12 hops that is 4/3 + 3 + 4/3, and with 13 it is 6 or more.
    """
    found = synthesize(problem_on(leaves(2, 3), "all_reduce"), "auto", Effort(trials=20), compare=False)
    assert found.time_ps == useful_ps(found.schedule.problem) == 13 * HOP_PS
    assert found.is_optimal


def test_small_all_reduces_through_a_switch_wait_for_first_messages() -> None:
    """Links of 4 NPUs are free after 40,960 ps, and a message is there after 181,920.

    Each sum needs 12 times something of another NPU. Of a link 4 messages before the first is there have 1
    each, the next one has 2, and further ones have 3: 4 + 2 + 3 + 3 = 12. The third is there at 445,760.
    """
    ends = [(npu, 4, 50, 100) for npu in range(4)]
    graph = passive(LinkGraph.of(4, 5, ends + [(b, a, *link) for a, b, *link in ends]))
    problem = Problem(graph, Collective("all_reduce", 4), Fraction(4096), LinkModel(occupancy="bandwidth"))
    assert useful_ps(problem) == 181_920 + 2 * 40_960 + 181_920


def test_npus_without_switches_take_as_many_messages_as_their_links() -> None:
    """A line of 3 NPUs: 4 messages for each of 3 chunks, of which 4 links take one a hop: 3 hops.

    A broadcast from its end takes 2.
    """
    line = LinkGraph.of(3, 3, [(u, v, 500, 50) for u, v in ((0, 1), (1, 0), (1, 2), (2, 1))])
    assert useful_ps(problem_on(line, "all_reduce")) == 3 * HOP_PS
    assert useful_ps(problem_on(line, "broadcast")) == 2 * HOP_PS


def test_a_message_past_a_fast_top_costs_a_turn_of_the_links_of_npus() -> None:
    """Links of 8 NPUs take 7 messages each, in turns of a hop; one to the other leaf takes 3.02 hops, so 4.

    With 2 hops each 8 would do, as the bound of useful messages has it.
    """
    problem = problem_on(leaves(2, 4, 100), "all_gather")
    assert useful_ps(problem) == 8 * HOP_PS
    found = synthesize(problem, "auto", Effort(trials=20), compare=False)
    assert (found.time_ps, found.bound and found.bound.name) == (9 * HOP_PS, "lags")
    assert found.is_optimal
    both = {bound.name: bound.time_ps for bound in lower_bounds(problem_on(leaves(2, 4, 100), "all_reduce"))}
    assert (both["useful"], both["lags"]) == (15 * HOP_PS, 16 * HOP_PS)


@pytest.mark.parametrize("name", ["all_reduce", "all_gather"])
def test_switches_that_copy_have_no_such_bound(name: str) -> None:
    assert list(useful_bound(View(problem_on(star(4), name)))) == []
    only_adds = replace(star(4), cannot_copy=frozenset([4]))
    assert bool(list(useful_bound(View(problem_on(only_adds, name))))) == (name == "all_gather")


def test_some_members_or_other_collectives_have_no_such_bound() -> None:
    some = Problem(passive(star(4)), Collective.of_part(Part("all_gather", (0, 1)), 4), Fraction(MIB))
    assert list(useful_bound(View(some))) == []
    assert list(useful_bound(View(problem_on(passive(star(4)), "all_to_all")))) == []


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(WANTED_BY_ALL),
    st.integers(1, 2),
    st.sampled_from(["total", "bandwidth"]),
    st.sampled_from([0, 3]),
)
def test_no_schedule_is_shorter(seed: int, name: str, chunks: int, occupancy: str, switches: int) -> None:
    graph = passive(random_graph(seed, 6, switches))
    model = LinkModel(occupancy=occupancy)
    problem = Problem(graph, Collective(name, graph.npus, chunks), Fraction(MIB), model)
    found = synthesize(problem, "restarts", Effort(trials=4, seed=seed), compare=False)
    assert useful_ps(problem) <= found.time_ps
