"""Proven lower bounds on the latency of a forward pass: ways, work, and cuts that are forced."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dse.base.solvers import PARTITION_SLACK
from dse.partition.problem import links
from dse.partition.problem.constraints import topological_order
from dse.partition.problem.problem import PartitionProblem

# Edges, and edges times pairs of devices, of which ways by device are followed: about a second.
_MOST_EDGES = 20_000
_MOST_PAIRS = 5e7
# Nodes up to which work is counted by when it can start and what follows it.
_MOST_NODES = 20_000


def latency_bound(problem: PartitionProblem, components: int) -> float:
    """Return ns that no forward pass is below, before rounding; `components` are those of the graph.

    * A node on a device ends no earlier than the latest of its inputs, each from the device that is best for
      it alone: a dynamic program over (node, device), from both ends. Pins count, and what fits on a device.
    * Of all sets of nodes: the earliest start of any, their work on all devices at once, and the least that
      follows any of them. The most of these is what Jackson's preemptive schedule of one machine takes.
    * On m devices the work counts on the m fastest. They cut m - `components` edges at least, so the pass is
      no shorter than the way over that many-th cheapest cut. As many m are possible as pins and memory say.
    """
    ways = _Ways(problem)
    counts = _device_counts(problem)
    if not len(counts):
        return ways.longest
    speeds = np.cumsum(np.sort(np.array(links.speeds(problem.devices), float))[::-1])
    over_cuts = np.sort(ways.over_cut)

    def by_work(devices: int) -> float:
        return ways.work(float(speeds[devices - 1]))

    def by_cuts(devices: int) -> float:
        cuts = devices - components
        return 0.0 if cuts <= 0 else float(over_cuts[cuts - 1]) if cuts <= len(over_cuts) else np.inf

    return max(ways.longest, _least_of_both(counts, by_work, by_cuts))


def _least_of_both(
    counts: Sequence[int], falling: Callable[[int], float], rising: Callable[[int], float]
) -> float:
    """Return the least over counts of the larger of two bounds, one falling and one rising."""
    low, high = 0, len(counts)
    while low < high:  # the first count at which the rising one is no less
        middle = (low + high) // 2
        if rising(counts[middle]) >= falling(counts[middle]):
            high = middle
        else:
            low = middle + 1
    near = [counts[place] for place in (low - 1, low) if 0 <= place < len(counts)]
    return min(max(falling(count), rising(count)) for count in near)


def _device_counts(problem: PartitionProblem) -> range:
    """Return the numbers of devices that pins and memory allow; none where memory never suffices."""
    devices = problem.devices
    least = max(1, len(set(problem.pinned.values())))
    if devices.memory_bytes and problem.graph.memory_bytes:
        rooms = np.cumsum(np.sort(np.array(devices.memory_bytes, float))[::-1])
        need = sum(problem.graph.memory_bytes) * (1 - PARTITION_SLACK)
        least = max(least, 1 + int(np.searchsorted(rooms * (1 + PARTITION_SLACK), need)))
    return range(least, devices.count + 1)


class _Ways:
    """Earliest starts, what follows at least, and the longest way, by node.

    `over_cut` is for each edge the least time of a pass that cuts it.
    """

    def __init__(self, problem: PartitionProblem) -> None:
        graph, count = problem.graph, problem.devices.count
        speeds = np.array(links.speeds(problem.devices), float)
        self._weights = np.array(graph.node_weights, float)
        edges = len(graph.edges)
        is_small = edges <= _MOST_EDGES and edges * count * count <= _MOST_PAIRS
        sizes = np.array(links.carried(graph, 0.0), float)
        if is_small:
            self._times = self._weights[:, None] / speeds
            forbidden = _forbidden(problem)
            self._delay, self._each = (
                np.array(links.filled(matrix, count), float)
                for matrix in (problem.devices.latency_ns, problem.devices.ns_per_byte)
            )
            for matrix in (self._delay, self._each):
                np.fill_diagonal(matrix, 0.0)
        else:  # as if all were on the fastest device
            self._times = self._weights[:, None] / speeds.max()
            forbidden = np.zeros((1, 1))
            self._delay = self._each = np.zeros((1, 1))
        order = topological_order(graph)
        into: list[list[tuple[int, float]]] = [[] for _ in order]
        out: list[list[tuple[int, float]]] = [[] for _ in order]
        for (u, v), size in zip(graph.edges, sizes, strict=True):
            into[v].append((u, size))
            out[u].append((v, size))
        ends = self._follow(self._times + forbidden, order, into, backwards=False)
        leads = self._follow(self._times + forbidden, order[::-1], out, backwards=True)
        self.longest = float((ends + leads - self._times).min(axis=1).max(initial=0.0))
        self._start = (ends - self._times).min(axis=1)
        self._after = (leads - self._times).min(axis=1)
        self.over_cut = self._over_cut(graph.edges, sizes, ends, leads)

    def _follow(self, found: Any, order: Sequence[int], near: Sequence[Any], backwards: bool) -> Any:
        """Return by node and device the longest way up to the node's end, or from its start to the end.

        `found` has what each node takes there.
        """
        for v in order:
            latest = 0.0
            for u, size in near[v]:
                route = self._delay + size * self._each
                latest = np.maximum(latest, (found[u] + (route if backwards else route.T)).min(axis=1))
            found[v] += latest
        return found

    def _over_cut(self, edges: Sequence[tuple[int, int]], sizes: Any, ends: Any, leads: Any) -> Any:
        apart = np.where(np.eye(len(self._delay), dtype=bool), np.inf, 0.0)
        if len(self._delay) == 1:  # devices were not told apart: a cut is free
            apart = np.zeros((1, 1))
        found = [
            float((ends[u][:, None] + (self._delay + size * self._each + apart) + leads[v]).min())
            for (u, v), size in zip(edges, sizes, strict=True)
            if u != v
        ]
        return np.array(found)

    def work(self, speed: float) -> float:
        """Return what the work of any nodes takes at most, with what is before and after, at such a speed."""
        if len(self._weights) > _MOST_NODES:
            return float(self._weights.sum()) / speed
        return jackson_ns(self._start.tolist(), (self._weights / speed).tolist(), self._after.tolist())


def _forbidden(problem: PartitionProblem) -> Any:
    """Return infinity, by node and device, where a node cannot be; 0 elsewhere."""
    graph, devices = problem.graph, problem.devices
    found = np.zeros((graph.nodes, devices.count))
    if devices.memory_bytes and graph.memory_bytes:
        room = np.array(devices.memory_bytes, float) * (1 + PARTITION_SLACK)
        found[np.array(graph.memory_bytes, float)[:, None] > room] = np.inf
    for node, device in problem.pinned.items():
        found[node, np.arange(devices.count) != device] = np.inf
    return found


def jackson_ns(starts: Sequence[float], times: Sequence[float], after: Sequence[float]) -> float:
    """Return when all is over if one machine does what has most to follow first, and may interrupt it.

    No schedule of one machine is shorter (J. R. Jackson 1955; J. Carlier 1982).
    """
    order = sorted(range(len(starts)), key=lambda v: starts[v])
    waiting: list[tuple[float, int]] = []
    left = list(times)
    now = over = 0.0
    place = 0
    while place < len(order) or waiting:
        if not waiting:
            now = max(now, starts[order[place]])
        while place < len(order) and starts[order[place]] <= now:
            heapq.heappush(waiting, (-after[order[place]], order[place]))
            place += 1
        follows, v = waiting[0]
        until = starts[order[place]] if place < len(order) else np.inf
        if now + left[v] > until:
            left[v] -= until - now
            now = until
            continue
        heapq.heappop(waiting)
        now += left[v]
        over = max(over, now - follows)
    return float(over)
