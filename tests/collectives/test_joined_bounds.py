"""Bounds on several collectives and on groups: by hand, and below all schedules of few sends in steps."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.collectives import Collective, Problem
from dse.collectives.bounds import best_bound, lower_bounds
from dse.collectives.problem.collective import CUSTOM, REDUCING, Part
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph
from tests.collectives.link_graphs import MIB, grid
from tests.collectives.steps import can_end_by

HOP_PS = 21_471_520  # a chunk of 1 MiB over a link of 500 ns and 50 GB/s


def at_once(graph: LinkGraph, *parts: Part, chunk_bytes: int = MIB) -> Problem:
    return Problem(graph, Collective(CUSTOM, graph.npus, parts=parts), Fraction(chunk_bytes))


def test_rows_of_a_torus_that_reduce_at_once_need_every_column_for_themselves() -> None:
    """Columns as nodes are a ring of four, of 32 links, over which 16 chunks go 6 times each: 3 hops."""
    rows = [Part("all_reduce", tuple(range(row * 4, row * 4 + 4))) for row in range(4)]
    problem = at_once(grid(4, 4, wraps=True), *rows)
    bound = best_bound(problem)
    assert (bound.name, bound.time_ps) == ("all_sends", 3 * HOP_PS)
    assert (
        bound.text
        == "nodes in 4 blocks, with links inside that take no time: 96 sends are needed on 32 links"
    )
    assert synthesize(problem, "auto", Effort(trials=2), compare=False).is_optimal


def test_joined_nodes_are_listed_one_by_one() -> None:
    """Two pairs with a link of their own each, and links between them: a pair has to take in two chunks."""
    pairs = [(0, 1), (2, 3), (0, 2), (1, 3)]
    links = [(*ends, 500, 50) for a, b in pairs for ends in ((a, b), (b, a))]
    problem = at_once(LinkGraph.of(4, 4, links), Part("all_reduce", (0, 1)), Part("all_reduce", (2, 3)))
    found = {bound.name: bound for bound in lower_bounds(problem)}
    assert found["all_sends"].time_ps == 2 * HOP_PS
    assert found["ingress"].time_ps == 2 * HOP_PS
    assert found["ingress"].nodes in ((0, 2), (1, 3))


def test_a_group_has_the_windows_of_all_npus() -> None:
    """NPU 4 is no member; of a group that is all others the bounds are those of the ring without it."""
    links = [(a, b, 500, 50) for i in range(4) for a, b in ((i, (i + 1) % 4), ((i + 1) % 4, i))]
    whole = Problem(LinkGraph.of(4, 4, links), Collective("all_gather", 4, 2), Fraction(MIB))
    lonely = LinkGraph.of(5, 5, [*links, (0, 4, 0, 1), (4, 0, 0, 1)])
    group = at_once(lonely, Part("all_gather", (0, 1, 2, 3), 2))
    cuts = [{b.name: b.time_ps for b in lower_bounds(problem)} for problem in (whole, group)]
    assert cuts[0]["entry_window"] == cuts[1]["entry_window"] == 3 * HOP_PS


@st.composite
def small_questions(draw: st.DrawFn) -> Problem:
    """One to three collectives of up to four chunks in all, on three or four NPUs with equal links."""
    npus = draw(st.integers(3, 4))
    random = Random(draw(st.integers(0, 10**6)))
    order = random.sample(range(npus), npus)
    pairs = set(zip(order, (*order[1:], order[0]), strict=True))
    while len(pairs) < npus + random.randrange(2):
        pairs.add(tuple(random.sample(range(npus), 2)))  # type: ignore[arg-type]
    graph = LinkGraph.of(npus, npus, [(*ends, 0, 1) for ends in sorted(pairs)])
    parts: list[Part] = []
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from([*REDUCING, "all_gather", "broadcast", "gather", "scatter"]))
        group = tuple(draw(st.lists(st.integers(0, npus - 1), min_size=2, max_size=3, unique=True)))
        part = Part(name, group, 1, draw(st.integers(0, len(group) - 1)))
        if sum(p.collective.chunks for p in (*parts, part)) <= 4:
            parts.append(part)
    return at_once(graph, *(parts or [Part("all_reduce", (0, npus - 1))]), chunk_bytes=1000)


@settings(max_examples=40, deadline=None)
@given(small_questions())
def test_no_schedule_of_all_ends_before_the_bound(problem: Problem) -> None:
    step_ps = int(problem.arrival_ps[0])
    steps = best_bound(problem).time_ps // step_ps
    assert not can_end_by(problem, min(steps, 4) - 1)


@pytest.mark.parametrize(("steps", "ends"), [(1, False), (2, True)])
def test_all_sends_of_all_steps_tell_when_two_pairs_can_end(steps: int, ends: bool) -> None:
    links = [(a, b, 0, 1) for a, b in ((0, 1), (1, 0), (1, 2), (2, 1))]
    parts = Part("all_reduce", (0, 1)), Part("all_reduce", (1, 2))
    problem = at_once(LinkGraph.of(3, 3, links), *parts, chunk_bytes=1000)
    assert can_end_by(problem, steps) is ends
    assert best_bound(problem).time_ps == 2_000_000
