"""The bottleneck of a pipeline: the device that works and receives longest for one micro-batch."""

from __future__ import annotations

from collections.abc import Sequence

from dse.partition.problem import links
from dse.partition.problem.constraints import sums
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
