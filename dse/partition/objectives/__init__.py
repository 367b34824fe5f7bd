"""The objectives of a partition: one evaluation that partitioners and the checker share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dse.partition.objectives.latency import latency
from dse.partition.problem import links
from dse.partition.problem.constraints import InfeasiblePartition as InfeasiblePartition
from dse.partition.problem.constraints import require_feasible, sums
from dse.partition.problem.problem import PartitionProblem


def pipeline_bottleneck(problem: PartitionProblem, labels: Sequence[int]) -> float:
    """Return the largest of `stage_times` in ns: one micro-batch leaves the pipeline in this time.

    Stages go forward: with a fixed order no edge goes from device a to device b < a; with `free_order` the
    devices, with an arrow for every cut edge, have no cycle. A device may be empty and then takes no time.
    """
    compute, receive = stage_times(problem, labels)
    return max(c + r for c, r in zip(compute, receive, strict=True))


def stage_times(problem: PartitionProblem, labels: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return ns of computation and of exposed communication of each device.

    Computation of device b is the sum of its node weights / speeds[b]. Exposed communication is what b
    receives, nothing of it overlapped: for each tensor that is made on another device a and used on b, once
    however many nodes of b use it,

        latency_ns[a][b] + bytes x ns_per_byte[a][b]

    Sending costs the sender nothing. Edges without `edge_bytes` carry 0 bytes.
    """
    count = problem.devices.count
    latency = links.filled(problem.devices.latency_ns, count)
    per_byte = links.filled(problem.devices.ns_per_byte, count)
    work = sums(problem.graph.node_weights, labels, count)
    compute = [w / speed for w, speed in zip(work, links.speeds(problem.devices), strict=True)]
    receive = [0.0] * count
    arrived: set[tuple[int, int]] = set()
    sizes, tensors = links.carried(problem.graph, 0.0), links.tensors(problem.graph)
    for (u, v), size, tensor in zip(problem.graph.edges, sizes, tensors, strict=True):
        a, b = labels[u], labels[v]
        if a != b and (tensor, b) not in arrived:
            arrived.add((tensor, b))
            receive[b] += latency[a][b] + size * per_byte[a][b]
    return compute, receive


def sharding_cost(problem: PartitionProblem, labels: Sequence[int]) -> float:
    """Return imbalance and cut together, without unit.

    With `W_a` the weight of device a, m the mean of all `W_a` and p(v) the device of node v:

        sum over a of (W_a - m)^2  +  sum over edges (u, v) with p(u) != p(v) of distance[p(u)][p(v)]

    Every edge counts, parallel ones too; a self-loop never does.
    """
    loads = sums(problem.graph.node_weights, labels, problem.devices.count)
    mean = sum(problem.graph.node_weights) / problem.devices.count
    distance = links.distance(problem.devices)
    cut = sum(distance[labels[u]][labels[v]] for u, v in problem.graph.edges if labels[u] != labels[v])
    return sum((load - mean) ** 2 for load in loads) + cut


def process_mapping(problem: PartitionProblem, labels: Sequence[int]) -> float:
    """Return the sum over cut edges of bytes x distance, in the product of their units.

    Every edge counts (tensors are not merged: what METIS, KaHIP and Scotch minimise), an edge without
    `edge_bytes` as 1; without `distance` the cost is the edge cut. The weight of a device may be at most
    (1 + imbalance) of the mean, which `require_feasible` looks at; a device may be empty.
    """
    distance = links.distance(problem.devices)
    carried = links.carried(problem.graph, 1.0)
    return sum(
        size * distance[labels[u]][labels[v]]
        for (u, v), size in zip(problem.graph.edges, carried, strict=True)
        if labels[u] != labels[v]
    )


COSTS: Mapping[str, Callable[[PartitionProblem, Sequence[int]], float]] = {
    "sharding_cost": sharding_cost,
    "pipeline_bottleneck": pipeline_bottleneck,
    "process_mapping": process_mapping,
    "latency": latency,
}


def evaluate(problem: PartitionProblem, labels: Sequence[int]) -> float:
    """Return the cost of `labels`, the device of each node, under a problem that `validate` accepts.

    Raises:
        InfeasiblePartition: a constraint is broken; names the device, its need and its capacity.
        InputError: there is not one device for each node.
    """
    require_feasible(problem, labels)
    return COSTS[problem.objective](problem, labels)
