"""A problem whose nodes that must be together are one node, and its arrays for the engine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dse.base.solvers import PartitionArrays
from dse.partition.graphs.graph import ModelGraph
from dse.partition.objectives.latency import execution_order
from dse.partition.problem import links
from dse.partition.problem.constraints import (
    InfeasiblePartition,
    device_name,
    node_name,
    topological_order,
    weight_limit,
)
from dse.partition.problem.problem import OBJECTIVES, PartitionProblem


@dataclass(frozen=True)
class Merged:
    """`problem` has no groups; `place[v]` is the node that v of the original became.

    Under `latency` nodes stay as they are, since each is run on its own: `leader[v]` is the node whose device
    v has to share.
    """

    problem: PartitionProblem
    place: tuple[int, ...]
    leader: tuple[int, ...]

    def expand(self, labels: Sequence[int]) -> tuple[int, ...]:
        """Return the device of each node of the original."""
        return tuple(int(labels[node]) for node in self.place)

    @cached_property
    def order(self) -> list[int]:
        """The order of nodes: of execution, topological, or by index where there is none to keep."""
        if self.problem.objective == "latency":
            return execution_order(self.problem.graph)
        if self.problem.objective == "pipeline_bottleneck":
            return topological_order(self.problem.graph)
        return list(range(self.problem.graph.nodes))

    @property
    def has_stages_in_order(self) -> bool:
        """Whether the stages of a pipeline are, or may as well be, on devices in their order."""
        if self.problem.objective != "pipeline_bottleneck":
            return False
        return not self.problem.free_order or not self.arrays.interchangeable.any()

    @cached_property
    def arrays(self) -> PartitionArrays:
        """The problem in the engine, in `order`."""
        return self.arrays_in(self.order)

    def arrays_in(self, order: Sequence[int]) -> PartitionArrays:
        """Return the problem in the engine, its nodes in `order`."""
        return _arrays(self.problem, order, self.leader)


def merged(problem: PartitionProblem) -> Merged:
    """Return `problem` with one node for each group.

    Raises:
        InfeasiblePartition: nodes of a group are pinned to different devices.
    """
    roots = _roots(problem)
    _require_one_pin(problem, roots)
    if problem.objective == "latency":
        pinned = {v: problem.pinned[root] for root, v in _pinned_groups(problem, roots)}
        leader = _first_in_order(execution_order(problem.graph), roots)
        return Merged(_with(problem, problem.graph, pinned), tuple(range(problem.graph.nodes)), leader)
    names = {root: index for index, root in enumerate(dict.fromkeys(roots))}
    place = tuple(names[root] for root in roots)
    pinned = {place[v]: device for v, device in problem.pinned.items()}
    graph = _quotient(problem.graph, place, len(names), problem.objective)
    return Merged(_with(problem, graph, pinned), place, tuple(range(graph.nodes)))


def _with(problem: PartitionProblem, graph: ModelGraph, pinned: dict[int, int]) -> PartitionProblem:
    return PartitionProblem(
        graph, problem.devices, problem.objective, pinned, (), problem.imbalance, problem.free_order
    )


def _pinned_groups(problem: PartitionProblem, roots: Sequence[int]) -> list[tuple[int, int]]:
    """Return (a pinned node, a node of its group) for all nodes of groups with a pin."""
    pin = {roots[v]: v for v in problem.pinned}
    return [(pin[root], v) for v, root in enumerate(roots) if root in pin]


def _first_in_order(order: Sequence[int], roots: Sequence[int]) -> tuple[int, ...]:
    first: dict[int, int] = {}
    for v in order:
        first.setdefault(roots[v], v)
    return tuple(first[root] for root in roots)


def _roots(problem: PartitionProblem) -> list[int]:
    """Return a representative of each node's group.

    A pipeline also keeps together what lies on a cycle of groups: no order of stages could part it.
    """
    root = list(range(problem.graph.nodes))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    for group in problem.together:
        for v in group[1:]:
            root[find(v)] = find(group[0])
    if problem.objective == "pipeline_bottleneck" and problem.together:
        edges = [(find(u), find(v)) for u, v in problem.graph.edges]
        for component in _strong_components(problem.graph.nodes, edges):
            for v in component[1:]:
                root[find(v)] = find(component[0])
    return [find(v) for v in range(problem.graph.nodes)]


def _strong_components(nodes: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the strongly connected components of more than one node: two walks of depth first."""
    forward: list[list[int]] = [[] for _ in range(nodes)]
    backward: list[list[int]] = [[] for _ in range(nodes)]
    for u, v in edges:
        forward[u].append(v)
        backward[v].append(u)
    seen: set[int] = set()
    finished: list[int] = []
    for start in range(nodes):
        finished += _walk(start, forward, seen)
    seen = set()
    components = [_walk(start, backward, seen) for start in reversed(finished)]
    return [component for component in components if len(component) > 1]


def _walk(start: int, successors: list[list[int]], seen: set[int]) -> list[int]:
    """Return what is reached from `start`, each node after those first reached from it."""
    if start in seen:
        return []
    seen.add(start)
    finished, stack = [], [(start, iter(successors[start]))]
    while stack:
        node, rest = stack[-1]
        following = next((v for v in rest if v not in seen), None)
        if following is None:
            finished.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(successors[following])))
    return finished


def _require_one_pin(problem: PartitionProblem, roots: Sequence[int]) -> None:
    first: dict[int, int] = {}
    for v, device in problem.pinned.items():
        other = first.setdefault(roots[v], v)
        if problem.pinned[other] != device:
            raise InfeasiblePartition(
                f"{node_name(problem, other)} and {node_name(problem, v)} must be together, but are pinned "
                f"to {device_name(problem, problem.pinned[other])} and {device_name(problem, device)}",
                device,
            )


def _quotient(graph: ModelGraph, place: Sequence[int], nodes: int, objective: str) -> ModelGraph:
    """Merge nodes; edges inside a group vanish."""
    if nodes == graph.nodes:
        return graph
    weights, memory = [0.0] * nodes, [0.0] * nodes
    for v, node in enumerate(place):
        weights[node] += graph.node_weights[v]
        memory[node] += graph.memory_bytes[v] if graph.memory_bytes else 0.0
    kept = [i for i, (u, v) in enumerate(graph.edges) if place[u] != place[v]]
    sizes = links.carried(graph, 1.0 if objective == "process_mapping" else 0.0)
    tensors = links.tensors(graph)
    return ModelGraph(
        tuple(weights),
        tuple((place[graph.edges[i][0]], place[graph.edges[i][1]]) for i in kept),
        tuple(sizes[i] for i in kept),
        tuple(tensors[i] for i in kept),
        tuple(memory),
    )


def _arrays(problem: PartitionProblem, order: Sequence[int], leader: Sequence[int]) -> PartitionArrays:
    graph, devices = problem.graph, problem.devices
    count = devices.count
    pinned = np.full(graph.nodes, -1, np.int32)
    for node, device in problem.pinned.items():
        pinned[node] = device
    nodes = (
        np.array(graph.node_weights, float),
        np.array(graph.memory_bytes or [0.0] * graph.nodes, float),
        pinned,
        np.array(order, np.uint32),
        np.array(leader, np.uint32),
    )
    matrices = (links.distance(devices), devices.latency_ns, devices.ns_per_byte)
    return PartitionArrays(
        objective=OBJECTIVES.index(problem.objective),
        free_order=problem.free_order,
        nodes=nodes,
        edges=edge_arrays(problem),
        links=tuple(_square(matrix, count) for matrix in matrices),
        devices=(
            np.array(links.speeds(devices), float),
            np.array(devices.memory_bytes or [math.inf] * count, float),
        ),
        weight_limit=weight_limit(problem) if problem.objective == "process_mapping" else math.inf,
    )


def _square(matrix: links.Matrix, count: int) -> Any:
    values = np.array(matrix, float) if matrix else np.zeros((count, count))
    np.fill_diagonal(values, 0.0)
    return values.ravel()


def edge_arrays(problem: PartitionProblem) -> tuple[Any, Any, Any, Any]:
    """Sources, ends, tensors numbered from 0, and what a cut costs per unit of distance or time."""
    graph = problem.graph
    ends = np.array(graph.edges, np.uint32).reshape(-1, 2)
    keep = ends[:, 0] != ends[:, 1]
    by_count = {"sharding_cost": np.ones(len(graph.edges)), "process_mapping": links.carried(graph, 1.0)}
    sizes = np.array(by_count.get(problem.objective, links.carried(graph, 0.0)), float)
    _, tensors = np.unique(np.array(links.tensors(graph), np.int64)[keep], return_inverse=True)
    ends = ends[keep]
    return (
        np.ascontiguousarray(ends[:, 0]),
        np.ascontiguousarray(ends[:, 1]),
        tensors.astype(np.uint32),
        sizes[keep],
    )
