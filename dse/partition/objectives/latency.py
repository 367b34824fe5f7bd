"""The latency of one forward pass over devices that work side by side."""

from __future__ import annotations

from collections.abc import Sequence

from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem import links
from dse.partition.problem.constraints import priority_order, topological_order
from dse.partition.problem.problem import PartitionProblem


def latency(problem: PartitionProblem, labels: Sequence[int]) -> float:
    """Return the ns at which the last node finishes, from `finish_times`."""
    return max(finish_times(problem, labels, execution_order(problem.graph)))


def finish_times(problem: PartitionProblem, labels: Sequence[int], order: Sequence[int]) -> list[float]:
    """Return when each node finishes, in ns from the start of the pass.

    Every device runs its nodes one at a time in `execution_order`. A node v on device b starts when b has
    finished the nodes of its own before v and, for every edge (u, v), the tensor is there: at u's finish if
    u is on b, else latency_ns[a][b] + bytes x ns_per_byte[a][b] after it, a being u's device. It then takes
    weight / speeds[b]. Transfers overlap with work and with each other. Edges without `edge_bytes` carry 0
    bytes.
    """
    count = problem.devices.count
    delay, per_byte = (
        links.filled(matrix, count) for matrix in (problem.devices.latency_ns, problem.devices.ns_per_byte)
    )
    sizes, speeds = links.carried(problem.graph, 0.0), links.speeds(problem.devices)
    inputs: list[list[tuple[int, float]]] = [[] for _ in labels]
    for (u, v), size in zip(problem.graph.edges, sizes, strict=True):
        inputs[v].append((u, size))
    free = [0.0] * count
    finish = [0.0] * len(labels)
    for v in order:
        b = labels[v]
        start = free[b]
        for u, size in inputs[v]:
            a = labels[u]
            arrival = finish[u] if a == b else finish[u] + (delay[a][b] + size * per_byte[a][b])
            start = max(start, arrival)
        free[b] = finish[v] = start + problem.graph.node_weights[v] / speeds[b]
    return finish


def execution_order(graph: ModelGraph) -> list[int]:
    """Return the order in which nodes are run: topological, and the same whatever the partition.

    Of the nodes whose predecessors have been ordered, the one with the longest way to the end goes first
    (sum of node weights, itself included); ties by index. This is list scheduling by critical path.
    """
    return priority_order(graph, ways_to_the_end(graph))


def ways_to_the_end(graph: ModelGraph) -> list[float]:
    """Return for each node the largest sum of weights on a path that starts there, itself included."""
    way = list(graph.node_weights)
    successors: list[list[int]] = [[] for _ in range(graph.nodes)]
    for u, v in graph.edges:
        successors[u].append(v)
    for node in reversed(topological_order(graph)):
        way[node] += max((way[v] for v in successors[node]), default=0.0)
    return way
