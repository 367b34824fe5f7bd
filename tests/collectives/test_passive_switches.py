"""Trees past switches that only pass messages on, and the bound from how long messages are on their way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dse.collectives.bounds import lower_bounds
from dse.collectives.check.checker import check
from dse.collectives.files.messages import messages_of
from dse.collectives.search.freed_chunks import search_sums
from dse.collectives.search.negotiated import negotiated
from dse.collectives.search.replay import Replay
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph
from tests.collectives.link_graphs import bound_of, passive, problem_on, random_graph, star
from tests.collectives.messages import faults_of

HOP_PS = 21_571_520
WANTED_BY_ALL = ("all_reduce", "all_gather", "broadcast")


def fat_tree() -> LinkGraph:
    """Four leaves with four NPUs each, and two spines; all links are alike."""
    ups = [(npu, 16 + npu // 4) for npu in range(16)]
    ups += [(leaf, spine) for leaf in range(16, 20) for spine in (20, 21)]
    ends = [*ups, *((b, a) for a, b in ups)]
    return passive(LinkGraph.of(16, 22, [(a, b, 600, 50) for a, b in ends]))


def islands(npus: int) -> LinkGraph:
    """Two fast switches with as many NPUs each, and one slow switch that all of them share."""
    ups = [(npu, 2 * npus + npu // npus, 350, 300) for npu in range(2 * npus)]
    ups += [(npu, 2 * npus + 2, 1500, 25) for npu in range(2 * npus)]
    links = [*ups, *((b, a, ns, gbps) for a, b, ns, gbps in ups)]
    return passive(LinkGraph.of(2 * npus, 2 * npus + 3, links))


def test_an_all_reduce_on_a_fat_tree_takes_no_less_than_32_hops() -> None:
    """Each of 16 NPUs sends 30 messages of 2 hops, and 6 of a chunk's 30 take 4: 29 + 2 + 0.4 hops."""
    assert bound_of(problem_on(fat_tree(), "all_reduce"), "lags") == 32 * HOP_PS
    assert bound_of(problem_on(fat_tree(), "all_gather"), "lags") == 17 * HOP_PS
    assert bound_of(problem_on(fat_tree(), "reduce_scatter"), "lags") == 17 * HOP_PS


def test_messages_through_one_switch_leave_15_hops_to_an_all_reduce_of_8() -> None:
    """14 messages leave each NPU, the last after 13 hops, and take 2."""
    assert bound_of(problem_on(passive(star(8)), "all_reduce"), "lags") == 15 * 21_471_520


def test_switches_that_copy_have_no_such_bound() -> None:
    problem = problem_on(star(8), "all_reduce")
    assert "lags" not in {bound.name for bound in lower_bounds(problem)}
    assert negotiated(problem, synthesize(problem, "fast", compare=False).schedule, Effort()) is None


def test_as_many_npus_as_one_pass_would_take_long_for_are_left_alone() -> None:
    problem = problem_on(passive(star(64)), "all_gather")
    start = synthesize(problem, "fast", Effort(trials=1), compare=False).schedule
    assert negotiated(problem, start, Effort(trials=1)) is None


def test_an_all_gather_on_a_fat_tree_takes_the_17_hops_of_its_bound() -> None:
    problem = problem_on(fat_tree(), "all_gather")
    start = synthesize(problem, "restarts", Effort(trials=4), compare=False).schedule
    assert start.time_ps >= 20 * HOP_PS
    found = negotiated(problem, start, Effort(trials=2))
    assert found is not None
    assert found.time_ps == 17 * HOP_PS
    assert check(found).is_valid
    assert faults_of(found) == []


def test_an_all_reduce_on_a_fat_tree_is_near_its_bound() -> None:
    problem = problem_on(fat_tree(), "all_reduce")
    start = synthesize(problem, "fast", Effort(trials=1), compare=False).schedule
    found = negotiated(problem, start, Effort(trials=3))
    assert found is not None
    assert found.time_ps <= 34 * HOP_PS
    assert check(found).is_valid
    assert faults_of(found) == []


@pytest.mark.parametrize("npus", [2, 3, 4, 8, 12])
def test_an_all_reduce_through_one_switch_is_optimal_as_two_npus_exchange_their_sums(npus: int) -> None:
    """With a root no message is on its way while the root waits for the last sum: a hop more."""
    found = synthesize(problem_on(passive(star(npus)), "all_reduce"), "auto", Effort(trials=4), compare=False)
    assert found.time_ps == found.bound_ps == (2 * npus - 1) * 21_471_520
    assert check(found.schedule).is_valid
    assert faults_of(found.schedule) == []
    # Programs of runtimes are made of as many messages from NPU to NPU as have passed the switch.
    assert len(messages_of(found.schedule)) == 2 * (npus - 1) * npus


def test_an_all_reduce_over_two_islands_is_within_8_percent_of_its_bound() -> None:
    found = synthesize(problem_on(islands(8), "all_reduce"), "auto", Effort(trials=4), compare=False)
    assert found.gap <= 0.08
    assert check(found.schedule).is_valid
    assert faults_of(found.schedule) == []


@pytest.mark.parametrize("name", WANTED_BY_ALL)
def test_the_same_seed_negotiates_the_same_schedule(name: str) -> None:
    problem = problem_on(passive(random_graph(7, 5, 3)), name)
    start = synthesize(problem, "fast", Effort(trials=1), compare=False).schedule
    one, again = (negotiated(problem, start, Effort(trials=1)) for _ in range(2))
    assert (one and one.time_ps) == (again and again.time_ps)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(WANTED_BY_ALL))
def test_what_is_negotiated_is_valid_faster_and_no_less_than_all_bounds(seed: int, name: str) -> None:
    graph = passive(random_graph(seed, 5, 3))
    assume(graph.nodes > graph.npus)
    problem = problem_on(graph, name)
    start = search_sums(problem, None, Effort(), 1)
    assert check(start).is_valid
    assert faults_of(start) == []
    found = negotiated(problem, start, Effort(trials=1, seed=seed))
    best = start if found is None else found
    assert best.time_ps <= start.time_ps
    assert all(bound.time_ps <= best.time_ps for bound in lower_bounds(problem))
    if found is not None:
        assert found.time_ps < start.time_ps
        assert check(found).is_valid
        assert faults_of(found) == []
        if name != "all_reduce":
            assert Replay(found).times_ps()[0] <= found.time_ps


@given(st.integers(0, 10**6), st.sets(st.integers(5, 7)), st.sets(st.integers(5, 7)))
def test_chunks_are_made_again_past_switches_of_any_ability(
    seed: int, copying: set[int], adding: set[int]
) -> None:
    graph = random_graph(seed, 5, 3)
    assume(graph.nodes > graph.npus)
    switches = frozenset(range(graph.npus, graph.nodes))
    able = replace(graph, cannot_copy=switches - copying, cannot_add=switches - adding)
    made = search_sums(problem_on(able, "all_reduce"), None, Effort(seed=seed), 40)
    assert check(made).is_valid
    assert faults_of(made) == []
