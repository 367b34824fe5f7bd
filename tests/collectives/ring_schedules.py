"""Small schedules that need no search: pipelines round a ring, and what mirrors and joins make of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.inputs.networks import LinkGraph


def ring(npus: int, latency: int | Fraction = 0, bandwidth: int = 1) -> LinkGraph:
    """One way round: link i leads from i to i + 1."""
    return LinkGraph.of(npus, npus, [(i, (i + 1) % npus, latency, bandwidth) for i in range(npus)])


def fully_connected(npus: int) -> LinkGraph:
    pairs = [(a, b) for a in range(npus) for b in range(npus) if a != b]
    return LinkGraph.of(npus, npus, [(a, b, 0, 1) for a, b in pairs])


def problem(
    graph: LinkGraph, name: str, k: int = 1, model: LinkModel | None = None, size: int = 1000
) -> Problem:
    return Problem(graph, Collective(name, graph.npus, k), Fraction(size), model or LinkModel())


def _schedule(asked: Problem, link: np.ndarray, chunk: np.ndarray, turn: np.ndarray) -> Schedule:
    start = turn * int(asked.arrival_ps[0])
    return Schedule.of(asked, link.astype(np.int32), chunk.astype(np.int32), start)


def ring_all_gather(npus: int, k: int = 1, model: LinkModel | None = None) -> Schedule:
    """Each NPU passes on what came last."""
    turns = [(step, j, i) for step in range(npus - 1) for j in range(k) for i in range(npus)]
    step, j, link = np.array(turns).T
    asked = problem(ring(npus), "all_gather", k, model)
    return _schedule(asked, link, j * npus + (link - step) % npus, step * k + j)


def ring_reduce_scatter(npus: int, k: int = 1) -> Schedule:
    return ring_all_gather(npus, k).mirrored(problem(ring(npus).transposed, "reduce_scatter", k))


def ring_all_reduce(npus: int, k: int = 1) -> Schedule:
    """A reduce-scatter one way round, then an all-gather the same way."""
    graph = ring(npus).transposed
    first = ring_reduce_scatter(npus, k)
    turns = [(step, j, i) for step in range(npus - 1) for j in range(k) for i in range(npus)]
    step, j, link = np.array(turns).T
    asked = problem(graph, "all_reduce", k)
    # Link i leads from i + 1 to i: what came last is the chunk of the NPU that many steps above.
    chunk = j * npus + (link + 1 + step) % npus
    start = first.time_ps + (step * k + j) * int(asked.arrival_ps[0])
    return Schedule.of(
        asked,
        np.concatenate([first.link, link.astype(np.int32)]),
        np.concatenate([first.chunk, chunk.astype(np.int32)]),
        np.concatenate([first.start_ps, start]),
        np.concatenate([first.reduce, np.zeros(len(link), dtype=np.bool_)]),
    )


def direct_all_to_all(npus: int, k: int = 1) -> Schedule:
    asked = problem(fully_connected(npus), "all_to_all", k)
    number = asked.graph.number_of
    sends = [(number[a, b], j * npus**2 + a * npus + b, j) for j in range(k) for a, b in number]
    link, chunk, turn = np.array(sends).T
    return _schedule(asked, link, chunk, turn)


def ring_all_to_all(npus: int) -> Schedule:
    """One way round a ring, through relays: chunk by chunk, the longest way first, one sender at a time."""
    asked = problem(ring(npus), "all_to_all")
    sends, turn = [], 0
    for distance in range(npus - 1, 0, -1):
        for hop in range(distance):
            sends += [((s + hop) % npus, s * npus + (s + distance) % npus, turn) for s in range(npus)]
            turn += 1
    link, chunk, turns = np.array(sends).T
    return _schedule(asked, link, chunk, turns)


def ring_broadcast(npus: int, k: int = 1) -> Schedule:
    turns = [(step, j) for step in range(npus - 1) for j in range(k)]
    step, j = np.array(turns).T
    return _schedule(problem(ring(npus), "broadcast", k), step, j, step + j)


def ring_reduce(npus: int, k: int = 1) -> Schedule:
    return ring_broadcast(npus, k).mirrored(problem(ring(npus).transposed, "reduce", k))


RINGS = {
    "all_gather": ring_all_gather(5, 2),
    "reduce_scatter": ring_reduce_scatter(4, 2),
    "all_reduce": ring_all_reduce(4),
    "all_to_all": direct_all_to_all(3, 2),
    "relayed": ring_all_to_all(4),
    "broadcast": ring_broadcast(4, 3),
    "reduce": ring_reduce(4, 2),
}
"""A schedule of each kind, by name."""
