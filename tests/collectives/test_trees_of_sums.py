"""All-reduces of a tree per chunk: valid, repeatable, through switches that add, and on large meshes."""

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
from dse.collectives.search.reductions import halves, tightened
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph
from dse.native import _solvers


def drawn(
    problem: Problem, seed: int, steps: int, work: int = 10**6, enough_ps: int = 0, *, exchange: bool = False
) -> Schedule:
    """Return what so many steps make of trees, whose roots exchange sums with a neighbour if asked."""
    (link, chunk, start_ps), sums, _ = _solvers.search_sum_trees(
        halves(problem)[1].native, work, seed, steps, enough_ps, None, exchange=exchange
    )
    return Schedule.of(problem, link, chunk, start_ps, np.arange(len(link)) < sums)


def with_switches(graph: LinkGraph, npus: int) -> LinkGraph:
    """Return the graph with its last nodes as switches."""
    ends = (graph.sources, graph.destinations, graph.kind_of)
    return LinkGraph(npus, graph.nodes, *ends, graph.kinds)


def star(npus: int) -> LinkGraph:
    """NPUs at one switch, by links of 500 ns and 50 GB/s."""
    links = [ends for npu in range(npus) for ends in ((npu, npus, 500, 50), (npus, npu, 500, 50))]
    return LinkGraph.of(npus, npus + 1, links)


def mesh(rows: int, columns: int) -> LinkGraph:
    """A mesh with faster links along its columns."""
    links = []
    for node in range(rows * columns):
        if node % columns + 1 < columns:
            links += [(node, node + 1, 500, 50), (node + 1, node, 500, 50)]
        if node + columns < rows * columns:
            links += [(node, node + columns, 500, 75), (node + columns, node, 500, 75)]
    return LinkGraph.of(rows * columns, rows * columns, links)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 9),
    st.integers(0, 12),
    st.integers(1, 3),
    st.integers(0, 999),
    st.integers(0, 3),
    st.sampled_from(["total", "bandwidth"]),
    st.booleans(),
)
def test_what_is_drawn_is_valid_and_above_its_bound(
    nodes: int, links: int, k: int, seed: int, switches: int, occupancy: str, exchange: bool
) -> None:
    npus = max(2, nodes - switches)
    graph = with_switches(random_graph(nodes, links, seed), npus)
    problem = Problem(graph, Collective("all_reduce", npus, k), MIB, LinkModel(occupancy=occupancy))

    found = drawn(problem, seed, 60, exchange=exchange)

    assert check(found).is_valid
    assert found.time_ps >= best_bound(problem).time_ps
    tight = tightened(found)
    assert check(tight).is_valid
    assert tight.time_ps <= found.time_ps


def test_roots_that_exchange_sums_need_a_step_less() -> None:
    """On a ring of four each chunk takes 6 messages, so 4 of them fill 8 links for 3 steps of 1 us."""
    pairs = [(npu, (npu + step) % 4, 0, 1) for npu in range(4) for step in (1, 3)]
    problem = Problem(LinkGraph.of(4, 4, pairs), Collective("all_reduce", 4), Fraction(1000))
    assert drawn(problem, 0, 200).time_ps == 4_000_000
    found = drawn(problem, 0, 200, exchange=True)
    assert (found.time_ps, best_bound(problem).time_ps) == (3_000_000, 3_000_000)
    assert len(found) == 24
    assert check(found).is_valid


def test_switches_at_the_end_of_a_one_way_street_are_no_roots() -> None:
    """Node 2 has no way out, node 3 no way in."""
    links = [(0, 1, 500, 50), (1, 0, 500, 50), (0, 2, 500, 50), (3, 1, 500, 50)]
    graph = LinkGraph.of(2, 4, links)
    problem = Problem(graph, Collective("all_reduce", 2, 2), MIB, LinkModel())
    found = drawn(problem, 0, 20)
    assert check(found).is_valid
    assert set(graph.destinations[found.link].tolist()) == {0, 1}


def test_a_seed_draws_the_same_trees_again() -> None:
    problem = Problem(random_graph(8, 6, seed=3), Collective("all_reduce", 8), MIB)
    one, again = drawn(problem, 5, 300), drawn(problem, 5, 300)
    assert np.array_equal(one.link, again.link)
    assert np.array_equal(one.start_ps, again.start_ps)


def test_more_steps_are_no_slower() -> None:
    problem = Problem(random_graph(8, 4, seed=7), Collective("all_reduce", 8), MIB)
    first = drawn(problem, 0, 0)
    assert drawn(problem, 0, 2000).time_ps < first.time_ps
    assert drawn(problem, 0, 2000, enough_ps=first.time_ps).time_ps == first.time_ps


@pytest.mark.parametrize("npus", [4, 8, 13])
def test_a_switch_that_adds_takes_each_chunk_once_up_and_down(npus: int) -> None:
    problem = Problem(star(npus), Collective("all_reduce", npus), MIB)
    result = synthesize(problem, "auto", Effort(), compare=False)
    assert check(result.schedule).is_valid
    assert len(result.schedule) == 2 * npus * npus
    assert result.is_optimal


def test_a_large_mesh_is_near_its_bound() -> None:
    problem = Problem(mesh(12, 16), Collective("all_reduce", 192), Fraction(1 << 20))
    found = drawn(problem, 0, 0, work=4 * 10**6)
    assert check(found).is_valid
    assert len(found) == 2 * 191 * 192
    assert found.time_ps <= best_bound(problem).time_ps * 1.15


def test_no_time_gives_no_sends() -> None:
    from dse.base.cancellation import Cancellation

    cancellation = Cancellation()
    cancellation.cancel()
    native = halves(Problem(mesh(12, 16), Collective("all_reduce", 192), MIB))[1].native
    (link, _, _), sums, trials = _solvers.search_sum_trees(native, 10**9, 0, 100, 0, cancellation)
    assert (len(link), sums, trials) == (0, 0, 0)
