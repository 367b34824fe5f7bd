"""Proven lower bounds on the cost of every partition, without a search."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dse.base.solvers import PARTITION_SLACK
from dse.partition.problem import links
from dse.partition.problem.problem import PartitionProblem
from dse.partition.search.latency_bounds import latency_bound

# What rounding may take from a sum, so that a bound is never above the optimum.
_ROUNDING = 1e-12
# Of sums along ways and of interrupted work, which are many.
_LATENCY_ROUNDING = 1e-11


def lower_bound(problem: PartitionProblem) -> float:
    """Return a cost, in the objective's unit, that no partition of a valid `problem` is below."""
    return max(0.0, _BOUNDS[problem.objective](problem))


def _sharding_bound(problem: PartitionProblem) -> float:
    balance = least_imbalance(problem.graph.node_weights, problem.devices.count)
    return balance - min(_ROUNDING * balance, rounding_of_squares(problem)) + _spanning_bound(problem)


def rounding_of_squares(problem: PartitionProblem) -> float:
    """Return what rounding may change of a sum of squared loads."""
    total = sum(problem.graph.node_weights)
    return 8 * sys.float_info.epsilon * total * total / problem.devices.count


def least_imbalance(weights: Sequence[float], devices: int) -> float:
    """Return the least sum of (W_a - mean)^2 as if weights could be divided, but for two cases.

    Weights that are multiples of one unit divide into units only; a weight above the mean of what is left
    fills a device alone (a sum of squares is least where it is most even: majorisation).
    """
    total = sum(weights)
    mean = total / devices
    unit = _common_unit(weights)
    if unit:
        low, more = divmod(round(total / unit), devices)
        even = more * (unit * (low + 1) - mean) ** 2 + (devices - more) * (unit * low - mean) ** 2
    else:
        even = 0.0
    squares, rest, left = 0.0, total, devices
    for weight in sorted(weights, reverse=True):
        if left <= 1 or weight * left <= rest:
            break
        squares += (weight - mean) ** 2
        rest -= weight
        left -= 1
    return max(even, squares + left * (rest / left - mean) ** 2)


def _common_unit(weights: Sequence[float]) -> float:
    """Return the largest unit that all weights are whole multiples of, 0 if there is none to speak of."""
    values = np.array([weight for weight in weights if weight > 0])
    if not len(values):
        return 0.0
    if (values == values[0]).all():
        return float(values[0])
    if (values == np.floor(values)).all() and values.max() < 2**53:
        return float(np.gcd.reduce(values.astype(np.int64)))
    return 0.0


def _spanning_bound(problem: PartitionProblem) -> float:
    """Every device has a node, so the cut edges join all devices but for the graph's own components.

    At least K - components pairs of devices are cut that form a forest: no fewer than the first edges of a
    minimum spanning tree of the devices cost (Kruskal).
    """
    count = problem.devices.count
    need = count - _components(problem)
    if need <= 0:
        return 0.0
    return float(np.sort(tree_edges(cheapest_way(problem)))[:need].sum()) * (1 - _ROUNDING)


def cheapest_way(problem: PartitionProblem) -> Any:
    """Return the lower of the two distances of each pair of devices."""
    matrix = np.array(links.distance(problem.devices), float)
    return np.minimum(matrix, matrix.T)


def furthest_way(problem: PartitionProblem) -> float:
    """Return the largest distance between two devices."""
    matrix = np.array(links.distance(problem.devices), float)
    np.fill_diagonal(matrix, 0)
    return float(matrix.max())


def tree_edges(matrix: Any) -> Any:
    """Return the lengths of the edges of a minimum spanning tree (Prim)."""
    count = len(matrix)
    nearest, done = matrix[0].copy(), np.zeros(count, bool)
    done[0] = True
    lengths = np.empty(count - 1)
    for step in range(count - 1):
        nearest[done] = np.inf
        best = int(nearest.argmin())
        lengths[step] = nearest[best]
        done[best] = True
        nearest = np.minimum(nearest, matrix[best])
    return lengths


def _components(problem: PartitionProblem) -> int:
    root = list(range(problem.graph.nodes))
    count = len(root)
    for u, v in problem.graph.edges:
        while root[u] != u:
            root[u] = root[root[u]]
            u = root[u]
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        if u != v:
            root[u] = v
            count -= 1
    return count


def _mapping_bound(problem: PartitionProblem) -> float:
    """A connected graph that one device cannot hold is cut; each further device costs one more edge.

    So many devices as the heaviest load allows are needed; joining them takes the cheapest edges of the graph
    over the shortest distance.
    """
    count = problem.devices.count
    limit = (1 + problem.imbalance) / count
    needed = int(np.ceil(1 / limit * (1 - PARTITION_SLACK)))
    cuts = needed - _components(problem)
    sizes = links.carried(problem.graph, 1.0)
    kept = sorted(size for (u, v), size in zip(problem.graph.edges, sizes, strict=True) if u != v)
    if count < 2 or cuts <= 0 or sum(problem.graph.node_weights) == 0:
        return 0.0
    way = cheapest_way(problem)
    np.fill_diagonal(way, np.inf)
    return float(way.min()) * sum(kept[:cuts])


def _busiest_bound(problem: PartitionProblem) -> float:
    """All devices together have to do all work; one has to do the heaviest node, and each its pinned ones."""
    speeds = links.speeds(problem.devices)
    weights = problem.graph.node_weights
    pinned = [0.0] * problem.devices.count
    for node, device in problem.pinned.items():
        pinned[device] += weights[node]
    busiest = max(work / speed for work, speed in zip(pinned, speeds, strict=True))
    return max(sum(weights) / sum(speeds) * (1 - _ROUNDING), max(weights) / max(speeds), busiest)


def _latency_bound(problem: PartitionProblem) -> float:
    found = max(latency_bound(problem, _components(problem)), _busiest_bound(problem))
    return found * (1 - _LATENCY_ROUNDING)


_BOUNDS: dict[str, Callable[[PartitionProblem], float]] = {
    "sharding_cost": _sharding_bound,
    "pipeline_bottleneck": _busiest_bound,
    "process_mapping": _mapping_bound,
    "latency": _latency_bound,
}
