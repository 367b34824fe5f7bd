"""Graphs and schedules for tests: simple, slow, and independent of the searches."""

from __future__ import annotations

import heapq
import random
from fractions import Fraction
from typing import Any

import numpy as np

from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.collectives.search.replay import Replay
from dse.inputs.networks import LinkGraph

MIB = Fraction(1 << 20)


def ring(npus: int, latency_ns: float = 500, bandwidth_gbps: float = 50) -> LinkGraph:
    """Links from each NPU to the next and back."""
    steps = (1, npus - 1)
    links = [(u, (u + s) % npus, latency_ns, bandwidth_gbps) for u in range(npus) for s in steps]
    return LinkGraph.of(npus, npus, links)


def torus(*extents: int) -> LinkGraph:
    """A torus of links of 500 ns and 50 GB/s."""
    npus = int(np.prod(extents))
    links = []
    for u in range(npus):
        stride = 1
        for extent in extents:
            own = u // stride % extent
            for step in {1, extent - 1}:
                links.append((u, u + ((own + step) % extent - own) * stride, 500, 50))
            stride *= extent
    return LinkGraph.of(npus, npus, links)


def random_graph(npus: int, links: int, seed: int) -> LinkGraph:
    """A ring of two directions and some more links, of random latencies and bandwidths."""
    rng = random.Random(seed)
    pairs = {(u, (u + s) % npus) for u in range(npus) for s in (1, npus - 1)}
    while len(pairs) < min(2 * npus + links, npus * (npus - 1)):
        u, v = rng.sample(range(npus), 2)
        pairs.add((u, v))
    kinds = [(rng.randrange(0, 2000), Fraction(rng.randrange(10, 2000), 10)) for _ in range(3)]
    return LinkGraph.of(npus, npus, [(u, v, *rng.choice(kinds)) for u, v in sorted(pairs)])


def greedy(problem: Problem, seed: int = 0) -> Schedule:
    """A valid schedule of an all-gather, broadcast or custom collective, by what is there first."""
    rng = random.Random(seed)
    graph = problem.graph
    there: list[dict[int, int]] = [{} for _ in range(graph.nodes)]
    missing: list[set[int]] = [set() for _ in range(graph.nodes)]
    for npu, chunk in zip(*problem.collective.holdings(), strict=True):
        there[npu][int(chunk)] = 0
    for npu, chunk in zip(*problem.collective.wants(), strict=True):
        if chunk not in there[npu]:
            missing[npu].add(int(chunk))
    rows, times, free = [], [0], [0] * len(graph)
    while any(missing):
        now = heapq.heappop(times)
        while times and times[0] == now:
            heapq.heappop(times)
        for link in rng.sample(range(len(graph)), len(graph)):
            u, v = int(graph.sources[link]), int(graph.destinations[link])
            offers = [c for c in missing[v] if there[u].get(c, now + 1) <= now] if free[link] <= now else []
            if not offers:
                continue
            chunk = rng.choice(sorted(offers))
            missing[v].remove(chunk)
            there[v][chunk] = now + int(problem.arrival_ps[link])
            free[link] = now + int(problem.held_ps[link])
            rows.append((link, chunk, now))
            heapq.heappush(times, there[v][chunk])
            heapq.heappush(times, free[link])
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Schedule.of(
        problem, columns[:, 0].astype(np.int32), columns[:, 1].astype(np.int32), columns[:, 2].copy()
    )


def all_gather(graph: LinkGraph, chunks: int = 1, model: LinkModel | None = None) -> Problem:
    """All-gather of chunks of 1 MiB."""
    return Problem(graph, Collective("all_gather", graph.npus, chunks), MIB, model or LinkModel())


def all_reduce_of(schedule: Schedule) -> Schedule:
    """Reduce-scatter, then all-gather, of an all-gather on a graph that equals its transposed."""
    problem = schedule.problem
    graph = problem.graph
    sums = Problem(
        graph,
        Collective("all_reduce", graph.npus, problem.collective.chunks_per_npu),
        problem.chunk_bytes,
        problem.model,
    )
    ends = zip(graph.destinations.tolist(), graph.sources.tolist(), strict=True)
    back = np.array([graph.number_of[pair] for pair in ends], dtype=np.int32)[schedule.link]
    time = schedule.time_ps
    return Schedule.of(
        sums,
        np.concatenate((back, schedule.link)),
        np.concatenate((schedule.chunk, schedule.chunk)),
        np.concatenate((time - schedule.end_ps, time + schedule.start_ps)),
        np.repeat([True, False], len(schedule)),
    )


def replay(schedule: Schedule, *durations_ps: Any, per_send: bool = False) -> Any:
    """The time of a schedule under each draw of durations."""
    return Replay(schedule).times_ps(*durations_ps, per_send=per_send)


def on_switch(npus: int, collective: str, chunks_per_npu: int = 1) -> Schedule:
    """An all-reduce, all-gather or broadcast round a switch, which adds and copies chunk after chunk."""
    links = [ends for npu in range(npus) for ends in ((npu, npus, 500, 50), (npus, npu, 500, 50))]
    graph = LinkGraph.of(npus, npus + 1, links)
    problem = Problem(graph, Collective(collective, npus, chunks_per_npu=chunks_per_npu), MIB)
    hop = int(problem.arrival_ps[0])
    rows = []
    for chunk in range(problem.collective.chunks):
        adds = collective == "all_reduce"
        sources = range(npus) if adds else [0 if collective == "broadcast" else chunk % npus]
        targets = [npu for npu in range(npus) if adds or npu not in sources]
        rows += [(graph.number_of[npu, npus], chunk, chunk * hop, adds) for npu in sources]
        rows += [(graph.number_of[npus, npu], chunk, (chunk + 1) * hop, False) for npu in targets]
    link, chunk_of, start, reduce = (np.array(column) for column in zip(*rows, strict=True))
    return Schedule.of(problem, link.astype(np.int32), chunk_of.astype(np.int32), start, reduce)
