"""Lower bounds from what pieces of limited weight must cut, given the cost of a known partition."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from dse.partition.graphs.merged import Merged, edge_arrays
from dse.partition.problem import links
from dse.partition.problem.constraints import weight_limit
from dse.partition.problem.problem import PartitionProblem
from dse.partition.search.bounds import cheapest_way, least_imbalance, rounding_of_squares, tree_edges

# Nodes and edges up to which every answer gets this bound, and its states times nodes: about a second.
_MOST = 60_000
EFFORT = 25_000
# Distances between devices that bounds distinguish; each is a relaxation of its own.
_LEVELS = 6
_NO_LIMIT_S = 1e9
_ROUNDING = 1e-12


def cut_bound(merged: Merged, upper: float, effort: int = EFFORT, seconds: float = _NO_LIMIT_S) -> float:
    """Return a cost that no partition is below, given one of cost `upper`; 0 where there is nothing to say.

    A device's nodes fall into connected pieces that are no heavier than the device may be, and the least cut
    into such pieces is found or bounded by the engine. Under `sharding_cost` a load far off the mean would
    alone cost more than `upper`; under `pipeline_bottleneck` a device's work has to fit into `upper`.
    """
    problem = merged.problem
    if problem.graph.nodes + len(problem.graph.edges) > _MOST and effort <= EFFORT:
        return 0.0
    if problem.devices.count < 2 or not 0 < upper < np.inf:
        return 0.0
    search = _Search(merged, effort, time.perf_counter() + seconds)
    if problem.objective == "process_mapping":
        return search.over_levels(weight_limit(problem), upper)
    if problem.objective == "sharding_cost":
        return _sharding(problem, search, upper)
    if problem.objective == "pipeline_bottleneck":
        return _pipeline(problem, search, upper)
    return 0.0


class _Search:
    """Asks the engine for the least cut of a merged problem."""

    def __init__(self, merged: Merged, effort: int, end: float) -> None:
        self.merged = merged
        self.effort = effort
        self.end = end
        self.sizes = edge_arrays(merged.problem)[3]

    def least_cut(self, cost: Any, limit: float, upper: float) -> float:
        """Return a bound on the cut of edges of that cost into pieces of at most `limit`."""
        if limit >= sum(self.merged.problem.graph.node_weights) or upper <= 0:
            return 0.0
        arrays = self.merged.arrays
        left = min(max(0.0, self.end - time.perf_counter()), _NO_LIMIT_S)
        _, bound, _ = arrays.least_cut_into_pieces(cost, limit, upper, self.effort, left)
        return float(bound) * (1 - _ROUNDING)

    def over_levels(self, limit: float, upper: float) -> float:
        """Return a bound on bytes x distance: a sum over distances that separate groups of devices.

        What crosses from a group of devices that are nearer to each other than t to another one goes at least
        t. A group holds no more than its devices together.
        """
        total = 0.0
        for gain, devices in _levels(self.merged.problem):
            total += gain * self.least_cut(self.sizes, limit * devices, (upper - total) / gain)
        return total


def _levels(problem: PartitionProblem) -> Iterator[tuple[float, int]]:
    """Yield how much a distance is above the one before, and the most devices that are nearer than it."""
    way = cheapest_way(problem)
    steps = np.unique(tree_edges(way))
    steps = steps[steps > 0]
    if len(steps) > _LEVELS:
        steps = steps[np.linspace(0, len(steps) - 1, _LEVELS).astype(int)]
    before = 0.0
    for step in steps:
        yield float(step - before), _largest_group(way < step)
        before = float(step)


def _largest_group(near: Any) -> int:
    """Return the nodes of the largest component of a graph, given as a matrix."""
    left = np.ones(len(near), bool)
    largest = 0
    while left.any():
        group = np.zeros(len(near), bool)
        group[int(left.argmax())] = True
        while True:
            grown = group | near[group].any(axis=0)
            if (grown == group).all():
                break
            group = grown
        left &= ~group
        largest = max(largest, int(group.sum()))
    return largest


def _sharding(problem: PartitionProblem, search: _Search, upper: float) -> float:
    count = problem.devices.count
    weights = problem.graph.node_weights
    balance = least_imbalance(weights, count)
    balance -= min(_ROUNDING * balance, rounding_of_squares(problem))
    # The others share what one device is off the mean.
    off = float(np.sqrt(upper * (count - 1) / count)) * (1 + _ROUNDING)
    return balance + search.over_levels(sum(weights) / count + off, upper - balance)


def _pipeline(problem: PartitionProblem, search: _Search, upper: float) -> float:
    """All devices together have to do all work, and wait for what crosses between pieces of `upper` each."""
    speeds = np.array(links.speeds(problem.devices), float)
    total, rate = sum(problem.graph.node_weights), float(speeds.sum())
    cost = _least_waits(search.merged, search.sizes, speeds)
    waits = search.least_cut(cost, upper * float(speeds.max()), upper * rate - total)
    return (total + waits) / rate * (1 - _ROUNDING)


def _least_waits(merged: Merged, sizes: Any, speeds: Any) -> Any:
    """Return the work that a device could do while it receives each edge's tensor, at least.

    A tensor is received once: it counts at one of its edges, the one that reaches furthest.
    """
    problem, count = merged.problem, merged.problem.devices.count
    latency, per_byte = (
        np.array(links.filled(matrix, count), float)
        for matrix in (problem.devices.latency_ns, problem.devices.ns_per_byte)
    )
    _, ends, tensors, _ = edge_arrays(problem)
    pairs = ~np.eye(count, dtype=bool) if problem.free_order else np.triu(np.ones((count, count), bool), 1)
    delay, each = (latency * speeds)[pairs], (per_byte * speeds)[pairs]
    furthest: dict[int, int] = {}
    place = {node: index for index, node in enumerate(merged.order)}
    for edge, tensor in enumerate(tensors):
        known = furthest.setdefault(int(tensor), edge)
        if place[int(ends[edge])] > place[int(ends[known])]:
            furthest[int(tensor)] = edge
    cost = np.zeros(len(sizes))
    for edge in furthest.values():
        cost[edge] = float((delay + sizes[edge] * each).min())
    return cost
