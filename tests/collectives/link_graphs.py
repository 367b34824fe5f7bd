"""Graphs of links for tests: grids, switches, random graphs that reach everyone; and a check of schedules."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
from hypothesis import strategies as st

from dse.collectives.bounds import lower_bounds
from dse.collectives.problem.collective import Collective
from dse.collectives.problem.problem import LinkModel, Problem
from dse.inputs.networks import LinkGraph

MIB = 1 << 20
Link = tuple[int, int, int, int]


def grid(*sides: int, wraps: bool = False, latency_ns: int = 500, gbps: int = 50) -> LinkGraph:
    """A mesh, or a torus."""
    places = list(itertools.product(*(range(side) for side in sides)))
    number = {place: i for i, place in enumerate(places)}
    links: dict[tuple[int, int], Link] = {}
    for place, axis, step in itertools.product(places, range(len(sides)), (1, -1)):
        to = list(place)
        to[axis] += step
        if wraps:
            to[axis] %= sides[axis]
        if tuple(to) in number and tuple(to) != place:
            ends = number[place], number[tuple(to)]
            links[ends] = (*ends, latency_ns, gbps)
    return LinkGraph.of(len(places), len(places), links.values())


def star(npus: int) -> LinkGraph:
    """NPUs round one switch node."""
    links = [ends for npu in range(npus) for ends in ((npu, npus, 500, 50), (npus, npu, 500, 50))]
    return LinkGraph.of(npus, npus + 1, links)


def passive(graph: LinkGraph) -> LinkGraph:
    """The same links; no switch copies or adds."""
    switches = frozenset(range(graph.npus, graph.nodes))
    return replace(graph, cannot_copy=switches, cannot_add=switches)


def random_graph(seed: int, most_npus: int = 7, most_switches: int = 0) -> LinkGraph:
    """A directed graph with mixed links in which every node reaches every other one."""
    random = Random(seed)
    npus = random.randint(2, most_npus)
    nodes = npus + random.randint(0, most_switches)
    order = random.sample(range(nodes), nodes)
    pairs = set(zip(order, (*order[1:], order[0]), strict=True))
    pairs |= {(random.randrange(nodes), random.randrange(nodes)) for _ in range(random.randint(0, 2 * nodes))}
    links = [
        (u, v, random.choice([0, 300, 500, 7000]), random.choice([1, 25, 50, 90, 400]))
        for u, v in sorted(pairs)
        if u != v
    ]
    return LinkGraph.of(npus, nodes, links)


def problem_on(graph: LinkGraph, name: str, chunks: int = 1) -> Problem:
    """A collective among all NPUs, of chunks of 1 MiB."""
    return Problem(graph, Collective(name, graph.npus, chunks), Fraction(MIB))


def bound_of(problem: Problem, name: str) -> int:
    """The time of the bound of a name, in ps."""
    return {bound.name: bound.time_ps for bound in lower_bounds(problem)}[name]


def graphs(most_npus: int = 7, most_switches: int = 0) -> st.SearchStrategy[LinkGraph]:
    """Random graphs, by their seed: many links are drawn faster so."""
    return st.integers(0, 10**6).map(lambda seed: random_graph(seed, most_npus, most_switches))


@st.composite
def problems(draw: st.DrawFn, graph: st.SearchStrategy[LinkGraph]) -> Problem:
    """All collectives without sums on graphs, with both occupancies."""
    links = draw(graph)
    name = draw(st.sampled_from(["all_gather", "broadcast", "scatter", "gather", "all_to_all", "custom"]))
    if name == "custom":
        collective = draw(custom(links.npus))
    else:
        collective = Collective(
            name, links.npus, draw(st.integers(1, 2)), draw(st.integers(0, links.npus - 1))
        )
    model = LinkModel(occupancy=draw(st.sampled_from(["total", "bandwidth"])))
    return Problem(links, collective, Fraction(draw(st.sampled_from([100, MIB]))), model)


@st.composite
def custom(draw: st.DrawFn, npus: int) -> Collective:
    """Chunks with one holder or more, wanted by anyone or by nobody."""
    chunks = draw(st.integers(1, 5))
    some = st.sets(st.integers(0, npus - 1), max_size=npus)
    holders = [(npu, c) for c in range(chunks) for npu in sorted(draw(some) or {0})]
    wants = [(npu, c) for c in range(chunks) for npu in sorted(draw(some))]
    return Collective("custom", npus, preconditions=tuple(holders), postconditions=tuple(wants))


def faults(
    problem: Problem, columns: Sequence[np.ndarray], late: dict[tuple[int, int], int] | None = None
) -> list[str]:
    """What is wrong with sends (link, chunk, start in ps); `late`: when a node has a chunk at first."""
    graph, found = problem.graph, []
    held = zip(*(column.tolist() for column in problem.collective.holdings()), strict=True)
    there = dict.fromkeys(held, 0) if late is None else dict(late)
    sends = sorted(zip(columns[2].tolist(), columns[0].tolist(), columns[1].tolist(), strict=True))
    arrival, holds = problem.arrival_ps.tolist(), problem.held_ps.tolist()
    got = set()
    for start, link, chunk in sends:
        place = int(graph.destinations[link]), chunk
        if place in got or there.get(place, start + arrival[link] + 1) <= start:
            found.append(f"node {place[0]} gets chunk {chunk} again")
        got.add(place)
        there[place] = min(start + arrival[link], there.get(place, start + arrival[link]))
    free: dict[int, int] = {}
    for start, link, chunk in sends:
        if start < free.get(link, 0):
            found.append(f"link {link} is not free at {start}")
        free[link] = start + holds[link]
        if there.get((int(graph.sources[link]), chunk), start + 1) > start:
            found.append(f"chunk {chunk} leaves node {graph.sources[link]} at {start} before it is there")
    wants = zip(*(column.tolist() for column in problem.collective.wants()), strict=True)
    return found + [f"NPU {npu} lacks chunk {chunk}" for npu, chunk in wants if (npu, chunk) not in there]
