"""Times that the greedy searches must reach, and what sets the two directions apart."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dse.collectives.problem.collective import Collective
from dse.collectives.problem.problem import LinkModel, Problem
from dse.collectives.search.synthesizers import Effort, Synthesizer
from dse.collectives.search.synthesizers.greedy import Arrival, Greedy
from dse.collectives.search.synthesizers.restarts import Restarts
from dse.inputs.networks import LinkGraph
from tests.collectives.link_graphs import MIB, grid, star

CHUNK_PS = 21471520  # 1 MiB over 500 ns and 50 GB/s


def time_ps(search: Synthesizer, graph: LinkGraph, name: str = "all_gather") -> int:
    problem = Problem(graph, Collective(name, graph.npus), Fraction(MIB))
    return search.synthesize(problem, Effort()).schedule.time_ps


@pytest.mark.parametrize("search", [Greedy(), Arrival(), Restarts()], ids=lambda s: s.name)
@pytest.mark.parametrize(
    ("graph", "k", "chunks_of_time"),
    [
        pytest.param(grid(16, 16), 1, 128, id="mesh"),  # 255 chunks by 2 links into a corner
        pytest.param(grid(16, 16), 4, 510, id="mesh, 4 chunks each"),
        pytest.param(grid(3, 4, 5), 1, 20, id="mesh of 3 dimensions"),
        pytest.param(grid(8, 8, wraps=True), 1, 16, id="torus"),
        pytest.param(grid(4, 4, 4, wraps=True), 1, 11, id="torus of 3 dimensions"),
        pytest.param(grid(4, 4, 4, wraps=True), 4, 42, id="torus of 3 dimensions, 4 chunks each"),
        pytest.param(grid(2, 2, 2, 2, 2, 2), 1, 11, id="hypercube"),
        pytest.param(grid(9, wraps=True), 1, 4, id="ring"),
    ],
)
def test_all_gather_on_uniform_grids_takes_no_longer_than_chunks_take_to_come_in(
    search: Synthesizer, graph: LinkGraph, k: int, chunks_of_time: int
) -> None:
    problem = Problem(graph, Collective("all_gather", graph.npus, k), Fraction(MIB))
    bound_ps = chunks_of_time * CHUNK_PS
    assert search.synthesize(problem, Effort(enough_ps=bound_ps)).schedule.time_ps == bound_ps


def test_a_slow_link_does_not_claim_what_fast_ones_bring_sooner() -> None:
    fast = [(0, 1, 0, 100), (1, 2, 0, 100), (2, 1, 0, 100), (1, 0, 0, 100)]
    graph = LinkGraph.of(3, 3, [*fast, (0, 2, 0, 1), (2, 0, 0, 1)])
    assert time_ps(Arrival(), graph) == 2 * 10485760
    assert time_ps(Greedy(), graph) == 1048576000


def test_latency_overlaps_with_the_next_chunk_if_links_are_held_for_the_bytes_only() -> None:
    graph = LinkGraph.of(2, 2, [(0, 1, 1000, 50), (1, 0, 1000, 50)])
    for occupancy, expected in (("total", 3 * 21971520), ("bandwidth", 3 * 20971520 + 1000000)):
        problem = Problem(graph, Collective("broadcast", 2, 3), Fraction(MIB), LinkModel(occupancy=occupancy))
        for search in (Greedy(), Arrival()):
            assert search.synthesize(problem, Effort()).schedule.time_ps == expected


@pytest.mark.parametrize(
    ("name", "chunks_of_time"),
    [
        ("scatter", 8),  # 15 chunks by 2 links out of the root
        ("gather", 8),
        ("all_to_all", 16),  # 64 chunks by 4 links from one half to the other
        ("broadcast", 6),  # as far as the opposite corner is
    ],
)
def test_chunks_that_others_relay_take_no_longer_than_a_bound(name: str, chunks_of_time: int) -> None:
    assert time_ps(Restarts(), grid(4, 4), name) == chunks_of_time * CHUNK_PS


def test_ways_avoid_links_that_others_fill() -> None:
    # From 0 to 3 there are two ways; three chunks on the short one would take 4 steps.
    links = [(0, 1), (1, 3), (0, 2), (2, 4), (4, 3), (3, 0), (1, 0), (2, 0), (4, 0)]
    graph = LinkGraph.of(5, 5, [(*ends, 500, 50) for ends in links])
    pairs = tuple((0, chunk) for chunk in range(3)), tuple((3, chunk) for chunk in range(3))
    collective = Collective("custom", 5, preconditions=pairs[0], postconditions=pairs[1])
    problem = Problem(graph, collective, Fraction(MIB))
    assert Restarts().synthesize(problem, Effort()).schedule.time_ps == 3 * CHUNK_PS


def test_a_broadcast_enters_a_switch_once() -> None:
    problem = Problem(star(6), Collective("broadcast", 6), Fraction(MIB))
    schedule = Restarts().synthesize(problem, Effort()).schedule
    assert (len(schedule), schedule.time_ps) == (6, 2 * CHUNK_PS)


@pytest.mark.parametrize("seed", range(10))
def test_a_hypercube_of_512_meets_its_bound_whatever_the_seed(seed: int) -> None:
    cube = grid(*[2] * 9)
    problem = Problem(cube, Collective("all_gather", 512), Fraction(MIB))
    found = Greedy().synthesize(problem, Effort(seed=seed, trials=1)).schedule
    assert found.time_ps == 57 * CHUNK_PS  # 511 chunks by 9 links
