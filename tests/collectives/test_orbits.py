"""All-reduces and all-gathers that images keep: chunks that stand for all others, and what is found so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import MIB

from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check
from dse.collectives.search.images import Images, images_of
from dse.collectives.search.overlap import trees_drawn
from dse.collectives.search.reductions import halves, in_sequence, without_waste
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import DEFAULT_EFFORT, Effort
from dse.inputs.networks import LinkGraph

CLIQUE, RING = "clique", "ring"


def product(*dimensions: tuple[str, int, int, float]) -> LinkGraph:
    """A graph of cliques and rings along each digit of a node: shape, size, latency in ns, GB/s."""
    nodes = int(np.prod([size for _, size, _, _ in dimensions]))
    links, stride = set(), 1
    for shape, size, latency_ns, gbps in dimensions:
        steps = range(1, size) if shape == CLIQUE else (1, size - 1)
        for node in range(nodes):
            digit = node // stride % size
            for step in steps:
                there = node + ((digit + step) % size - digit) * stride
                links.add((node, there, latency_ns, gbps))
        stride *= size
    return LinkGraph.of(nodes, nodes, sorted(links))


def all_reduce(graph: LinkGraph, k: int = 1, occupancy: str = "total") -> Problem:
    return Problem(graph, Collective("all_reduce", graph.npus, k), MIB, LinkModel(occupancy=occupancy))


def with_barrier(problem: Problem) -> Schedule:
    """Return a reduce-scatter, and then an all-gather, both by symmetry."""
    gathered = synthesize(halves(problem)[1], "symmetric", Effort(trials=2), compare=False).schedule
    tidy = without_waste(gathered)
    scattered = synthesize(halves(problem)[0], "symmetric", Effort(trials=2), compare=False).schedule
    return in_sequence(problem, scattered, tidy)


SLOW_CLIQUES = product((CLIQUE, 8, 500, 57.1428571), (CLIQUE, 4, 2000, 16.6666667))


def kept(problem: Problem, images: Images, effort: Effort, steps: int, *, exchange: bool = False) -> Schedule:
    """Return what about so many steps find that images keep."""
    work = steps * problem.collective.tree_sends // len(images.links)
    found = trees_drawn(problem, effort, exchange=exchange, work=work, images=images)
    assert found is not None
    return found


def test_chunks_of_unlike_timing_overlap_where_those_of_like_timing_cannot() -> None:
    """Cliques of 8, four of them: one of two orbits has its sums early, so that its copies go first."""
    problem = all_reduce(SLOW_CLIQUES)
    barrier = with_barrier(problem)
    by_size = {len(images.made): images for images in reversed(list(images_of(problem)))}
    found = {made: kept(problem, by_size[made], DEFAULT_EFFORT, 2000) for made in (1, 2)}
    assert all(check(each).is_valid for each in found.values())
    assert (barrier.time_ps, found[1].time_ps, found[2].time_ps) == (242_929_598, 242_929_598, 224_079_518)
    assert synthesize(problem, "auto").schedule.time_ps <= found[2].time_ps


def test_rings_of_cliques_exchange_sums_where_all_chunks_are_alike() -> None:
    problem = all_reduce(product((CLIQUE, 8, 700, 42.8571429), (RING, 4, 500, 25.0)))
    images = next(images_of(problem))
    assert len(images.made) == 1
    found = [
        kept(problem, images, DEFAULT_EFFORT, 5000, exchange=exchange).time_ps for exchange in (False, True)
    ]
    assert found == [235_886_718, 227_996_212]


@pytest.mark.parametrize("name", ["all_gather", "reduce_scatter"])
def test_a_torus_with_a_slow_ring_is_gathered_and_scattered_at_its_bound(name: str) -> None:
    """A tree from each NPU by translation takes 277.896 us, as do trees that are changed one by one."""
    graph = product((RING, 3, 500, 60), (RING, 4, 500, 45), (RING, 5, 500, 17))
    found = synthesize(Problem(graph, Collective(name, 60), MIB), compare=False)
    assert (found.time_ps, found.bound_ps) == (276_396_133, 276_396_133)
    assert check(found.schedule).is_valid


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["all_reduce", "all_gather"]),
    st.lists(
        st.tuples(
            st.sampled_from([CLIQUE, RING]),
            st.integers(2, 5),
            st.integers(0, 2000),
            st.sampled_from([12.5, 50, 400]),
        ),
        min_size=1,
        max_size=3,
    ).filter(lambda sizes: np.prod([size for _, size, _, _ in sizes]) <= 40),
    st.integers(1, 2),
    st.sampled_from(["total", "bandwidth"]),
    st.integers(0, 999),
    st.booleans(),
)
def test_what_is_found_is_valid_and_kept_by_the_images(
    name: str,
    dimensions: list[tuple[str, int, int, float]],
    k: int,
    occupancy: str,
    seed: int,
    exchange: bool,
) -> None:
    problem = all_reduce(product(*dimensions), k, occupancy)
    problem = replace(problem, collective=problem.collective.renamed(name))
    exchange, sends_a_pair = exchange and name == "all_reduce", 2 if name == "all_reduce" else 1
    npus = problem.graph.npus
    effort, bound_ps = replace(DEFAULT_EFFORT, seed=seed), best_bound(problem).time_ps
    for images in images_of(problem):
        assert len(images.made) * len(images.links) == npus * k
        found = kept(problem, images, effort, 30, exchange=exchange)
        assert check(found).is_valid
        assert found.time_ps >= bound_ps
        assert len(found) == sends_a_pair * (npus - 1) * npus * k
        sends = set(zip(found.link, found.chunk, found.start_ps, found.reduce, strict=True))
        for links, chunks in zip(images.links, images.chunks, strict=True):
            led = zip(links[found.link], chunks[found.chunk], found.start_ps, found.reduce, strict=True)
            assert set(led) == sends
