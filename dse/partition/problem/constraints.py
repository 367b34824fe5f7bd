"""The constraints of a partition, and the error that says which device they overload."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from dse.base.errors import InputError, NothingFits
from dse.base.solvers import PARTITION_SLACK
from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.problem import PartitionProblem

OF_WEIGHT = "of weight"


class InfeasiblePartition(NothingFits):
    """Constraints are broken, or cannot be kept: `device` would need `need` of what it has `capacity`.

    `device` is None where no single device is to blame.
    """

    def __init__(
        self, message: str, device: int | None = None, need: float = 0.0, capacity: float = 0.0
    ) -> None:
        super().__init__(message)
        self.device = device
        self.need = need
        self.capacity = capacity


def device_name(problem: PartitionProblem, device: int) -> str:
    """Return how messages speak of a device."""
    names = problem.devices.names
    return f"device {device} ({names[device]})" if names else f"device {device}"


def node_name(problem: PartitionProblem, node: int) -> str:
    """Return how messages speak of a node."""
    names = problem.graph.names
    return f"node {node} ({names[node]})" if names else f"node {node}"


def sums(values: Sequence[float], labels: Sequence[int], devices: int) -> list[float]:
    """Return the sum of `values` on each device; no values are zeros."""
    total = [0.0] * devices
    for value, device in zip(values, labels, strict=False):
        total[device] += value
    return total


def fits(need: float, capacity: float) -> bool:
    """Return whether a sum keeps a limit, up to a billionth: sums in other orders differ in the last bits.

    The engine's searches ask the same with the same slack.
    """
    return need <= capacity * (1 + PARTITION_SLACK)


def weight_limit(problem: PartitionProblem) -> float:
    """Return the most weight that a device may have under `process_mapping`: (1 + imbalance) of the mean."""
    return (1 + problem.imbalance) * sum(problem.graph.node_weights) / problem.devices.count


def overload(problem: PartitionProblem, device: int, what: str, need: float, capacity: float) -> str:
    """Return the message of a device that is too small."""
    by = f" by imbalance={problem.imbalance:g}" if what == OF_WEIGHT else ""
    return f"{device_name(problem, device)} needs {need:.15g} {what}, it has {capacity:.15g}{by}"


def require_feasible(problem: PartitionProblem, labels: Sequence[int]) -> None:
    """Raise InfeasiblePartition unless `labels` keep every constraint of a valid `problem`."""
    _require_labels(problem, labels)
    for node, device in problem.pinned.items():
        if labels[node] != device:
            raise InfeasiblePartition(
                f"{node_name(problem, node)} is pinned to {device_name(problem, device)}, not {labels[node]}",
                device,
            )
    for group in problem.together:
        if len({labels[node] for node in group}) > 1:
            raise InfeasiblePartition(f"nodes {list(group)} must be on one device")
    _require_memory(problem, labels)
    if problem.objective == "sharding_cost":
        empty = sorted(set(range(problem.devices.count)) - set(labels))
        if empty:
            raise InfeasiblePartition(
                f"{device_name(problem, empty[0])} has no node; it needs 1", empty[0], 1
            )
    if problem.objective == "process_mapping":
        _require_balance(problem, labels)
    if problem.objective == "pipeline_bottleneck":
        _require_acyclic_quotient(problem, labels)


def _require_labels(problem: PartitionProblem, labels: Sequence[int]) -> None:
    if len(labels) != problem.graph.nodes:
        raise InputError(f"{len(labels)} labels for {problem.graph.nodes} nodes; one each is needed")
    for node, device in enumerate(labels):
        if not 0 <= device < problem.devices.count:
            raise InputError(
                f"label {device} of {node_name(problem, node)}: "
                f"allowed are 0 to {problem.devices.count - 1}, the devices"
            )


def _require_memory(problem: PartitionProblem, labels: Sequence[int]) -> None:
    limits = problem.devices.memory_bytes
    if not limits:
        return
    needs = sums(problem.graph.memory_bytes, labels, problem.devices.count)
    for device, (need, limit) in enumerate(zip(needs, limits, strict=True)):
        if not fits(need, limit):
            raise InfeasiblePartition(
                overload(problem, device, "bytes of memory", need, limit), device, need, limit
            )


def _require_balance(problem: PartitionProblem, labels: Sequence[int]) -> None:
    limit = weight_limit(problem)
    loads = sums(problem.graph.node_weights, labels, problem.devices.count)
    for device, load in enumerate(loads):
        if not fits(load, limit):
            raise InfeasiblePartition(overload(problem, device, OF_WEIGHT, load, limit), device, load, limit)


def _require_acyclic_quotient(problem: PartitionProblem, labels: Sequence[int]) -> None:
    if not problem.free_order:
        for u, v in problem.graph.edges:
            if labels[u] > labels[v]:
                raise InfeasiblePartition(
                    f"edge {u} -> {v} goes back from stage {labels[u]} to stage {labels[v]}", labels[v]
                )
        return
    stages = [(labels[u], labels[v]) for u, v in problem.graph.edges if labels[u] != labels[v]]
    cycle = find_cycle(problem.devices.count, stages)
    if cycle:
        raise InfeasiblePartition(f"devices {cycle} wait for each other: no order of stages exists", cycle[0])


def find_cycle(nodes: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the nodes of a cycle, or nothing if there is none. A self-loop is a cycle."""
    successors: list[list[int]] = [[] for _ in range(nodes)]
    waits = [0] * nodes
    for u, v in edges:
        successors[u].append(v)
        waits[v] += 1
    ready = [node for node in range(nodes) if not waits[node]]
    while ready:
        for v in successors[ready.pop()]:
            waits[v] -= 1
            if not waits[v]:
                ready.append(v)
    stuck = {node for node in range(nodes) if waits[node]}
    if not stuck:
        return []
    # Every node that is stuck waits for one that is stuck: walk backwards until a node repeats.
    before = {v: u for u, v in edges if u in stuck and v in stuck}
    path, place = [min(stuck)], {min(stuck): 0}
    while (node := before[path[-1]]) not in place:
        place[node] = len(path)
        path.append(node)
    return path[place[node] :][::-1]


def topological_order(graph: ModelGraph) -> list[int]:
    """Return the nodes, each after its predecessors, of an acyclic graph; the lowest index goes first."""
    return priority_order(graph, [0.0] * graph.nodes)


def priority_order(graph: ModelGraph, priority: Sequence[float]) -> list[int]:
    """Return a topological order: of the nodes that are ready the highest priority, then the lowest index."""
    successors: list[list[int]] = [[] for _ in range(graph.nodes)]
    waits = [0] * graph.nodes
    for u, v in graph.edges:
        successors[u].append(v)
        waits[v] += 1
    heap = [(-priority[node], node) for node in range(graph.nodes) if not waits[node]]
    heapq.heapify(heap)
    order = []
    while heap:
        node = heapq.heappop(heap)[1]
        order.append(node)
        for v in successors[node]:
            waits[v] -= 1
            if not waits[v]:
                heapq.heappush(heap, (-priority[v], v))
    return order
