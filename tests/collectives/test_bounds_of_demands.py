"""Bounds where every chunk goes from one NPU to one other: cuts of all sets, and weights of links."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.collectives import Collective, LinkModel, Problem
from dse.collectives.bounds import lower_bounds
from dse.collectives.bounds.flows import demand_cut
from dse.collectives.bounds.view import NEVER, View
from dse.collectives.bounds.weights import time_of_weights, weight_of_ways
from dse.collectives.check.checker import check
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph

MIB = Fraction(1 << 20)
FAST, MIDDLE, SLOW = 200, 100, 50
# Two boards of eight dies, as in a node of MI250: within a board, and between the boards.
BOARD = [
    (0, 1, FAST), (2, 3, FAST), (4, 5, FAST), (6, 7, FAST), (0, 4, MIDDLE), (3, 7, MIDDLE), (1, 5, SLOW),
    (2, 6, SLOW), (4, 6, SLOW), (5, 6, SLOW), (5, 7, SLOW),
]  # fmt: skip
BETWEEN = [(0, 8), (1, 9), (1, 10), (2, 9), (2, 10), (3, 11)]


def two_boards() -> LinkGraph:
    pairs = [*BOARD, *((a + 8, b + 8, speed) for a, b, speed in BOARD), *((a, b, SLOW) for a, b in BETWEEN)]
    return LinkGraph.of(16, 16, [(u, v, 600, s) for a, b, s in pairs for u, v in ((a, b), (b, a))])


def uneven_ring(npus: int) -> LinkGraph:
    ways = [((u, (u + 1) % npus, 400, 80), ((u + 1) % npus, u, 400, 20)) for u in range(npus)]
    return LinkGraph.of(npus, npus, [link for pair in ways for link in pair])


def problem_of(graph: LinkGraph, demand: np.ndarray | None = None, model: LinkModel | None = None) -> Problem:
    """An all-to-all, or a demand of chunks between pairs of NPUs."""
    if demand is None:
        return Problem(graph, Collective("all_to_all", graph.npus), MIB, model or LinkModel())
    pairs = [(s, t) for (s, t), n in np.ndenumerate(demand) if s != t for _ in range(int(n))]
    held, wanted = (tuple((pair[end], chunk) for chunk, pair in enumerate(pairs)) for end in (0, 1))
    collective = Collective("custom", graph.npus, preconditions=held, postconditions=wanted)
    return Problem(graph, collective, MIB, model or LinkModel())


def skewed(npus: int) -> np.ndarray:
    """Few pairs send much, most little."""
    rng = random.Random(npus)
    return np.array([[int(rng.paretovariate(1.2)) for _ in range(npus)] for _ in range(npus)])


def bounds_ps(problem: Problem) -> dict[str, int]:
    return {bound.name: bound.time_ps for bound in lower_bounds(problem)}


def test_six_links_between_two_boards_of_eight_decide_an_all_to_all() -> None:
    # 64 chunks over 6 links of 21.57152 µs each: the fullest carries 11.
    problem = problem_of(two_boards())
    cut = next(bound for bound in lower_bounds(problem) if bound.name == "cut")
    assert cut.time_ps == 11 * 21_571_520
    assert cut.nodes in (tuple(range(8)), tuple(range(8, 16)))
    assert synthesize(problem, "restarts", compare=False).is_optimal


def test_weights_beat_all_cuts_on_a_ring_with_a_slow_way_round() -> None:
    pytest.importorskip("highspy")
    found = bounds_ps(problem_of(uneven_ring(10)))
    assert (found["cut"], found["ways"]) == (270_144_000, 316_972_800)
    assert synthesize(problem_of(uneven_ring(10)), "restarts", Effort(trials=40), compare=False).is_optimal


@pytest.mark.parametrize(
    "graph",
    [
        two_boards(),
        uneven_ring(10),
        LinkGraph.of(8, 9, [link for u in range(8) for link in ((u, 8, 500, 50), (8, u, 500, 50))]),
        LinkGraph.of(12, 12, [(u, (u + s) % 12, 500, 25 * s) for u in range(12) for s in (1, 5, 7, 11)]),
    ],
)
def test_a_skewed_demand_takes_at_most_five_percent_more_than_its_bound(graph: LinkGraph) -> None:
    result = synthesize(problem_of(graph, skewed(graph.npus)), "auto", Effort(trials=5), compare=False)
    assert check(result.schedule).is_valid
    assert result.gap <= 0.05


def demands(draw: st.DrawFn, npus: int) -> np.ndarray:
    rng = random.Random(draw(st.integers(0, 10**6)))
    matrix = np.array([[rng.choice((0, 0, 1, 2, 5)) for _ in range(npus)] for _ in range(npus)])
    matrix[0, npus - 1] = max(1, matrix[0, npus - 1])
    return matrix


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Random links between few NPUs and up to two switches, with a demand."""
    npus, switches = draw(st.integers(2, 5)), draw(st.integers(0, 2))
    rng = random.Random(draw(st.integers(0, 10**6)))
    nodes = npus + switches
    pairs = {(u, (u + 1) % nodes) for u in range(nodes)}
    pairs |= {(u, v) for u in range(nodes) for v in range(nodes) if u != v and rng.random() < 0.4}
    kinds: list[tuple[int, Fraction | int]] = [(0, 100), (0, 50), (3000, 100), (500, Fraction(100, 3))]
    kinds = kinds[: rng.randint(1, 4)]
    graph = LinkGraph.of(npus, nodes, [(u, v, *rng.choice(kinds)) for u, v in sorted(pairs)])
    model = LinkModel(occupancy=draw(st.sampled_from(("total", "bandwidth"))))
    return problem_of(graph, demands(draw, npus), model)


def longest_cut_ps(view: View) -> int:
    """Over all sets, one by one: when the links into it can have delivered what goes there."""
    problem, graph, demand = view.problem, view.problem.graph, view.needs.demand
    assert demand is not None
    longest = 0
    for choice in product((False, True), repeat=graph.nodes):
        inside = np.array(choice)
        need = int(demand[np.ix_(~inside, inside)].sum())
        links = [
            (
                int(view.first_ps[u] + view.last_ps[v] + problem.arrival_ps[i]),
                int(problem.held_ps[i]),
            )
            for i, (u, v) in enumerate(zip(graph.sources, graph.destinations, strict=True))
            if not inside[u] and inside[v] and max(view.first_ps[u], view.last_ps[v]) < NEVER
        ]
        moments = sorted(first + held * i for first, held in links for i in range(need))
        if need:
            longest = max(longest, moments[need - 1])
    return longest


@settings(max_examples=60, deadline=None)
@given(problems())
def test_the_longest_cut_is_that_of_all_sets_one_by_one(problem: Problem) -> None:
    view = View(problem)
    found = list(demand_cut(view, []))
    assert max((bound.time_ps for bound in found), default=0) == longest_cut_ps(view)


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 10**6))
def test_no_weights_and_no_cut_beat_a_valid_schedule(problem: Problem, seed: int) -> None:
    rng = np.random.default_rng(seed)
    view = View(problem)
    schedule = synthesize(problem, "restarts", Effort(seed=seed, trials=5), compare=False).schedule
    assert check(schedule).is_valid
    assert max(bounds_ps(problem).values()) <= schedule.time_ps
    for _ in range(3):
        weights = rng.integers(0, 20, len(problem.graph))
        assert time_of_weights(view, weights, weight_of_ways(view, weights)) <= schedule.time_ps


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_of_many_nodes_sets_near_others_are_cuts_too(seed: int) -> None:
    rng = random.Random(seed)
    pairs = {(u, (u + s) % 24) for u in range(24) for s in (1, 23)}
    pairs |= {tuple(rng.sample(range(24), 2)) for _ in range(30)}  # type: ignore[misc]
    graph = LinkGraph.of(24, 24, [(u, v, 500, rng.choice((25, 50, 100))) for u, v in sorted(pairs)])
    view = View(problem_of(graph, skewed(24)))
    start = np.array([rng.random() < 0.5 for _ in range(24)])
    (found,) = demand_cut(view, [start])
    inside = np.isin(np.arange(24), found.nodes).astype(np.int64)
    into = (inside[graph.sources] == 0) & (inside[graph.destinations] == 1)
    assert view.needs.demand is not None
    need = int((view.needs.demand * np.outer(1 - inside, inside)).sum())
    assert time_of_weights(view, into.astype(np.int64), need) == found.time_ps
