"""Process mapping: bytes times distance of every cut edge, with balance as a constraint."""

from __future__ import annotations

from collections.abc import Sequence

from dse.partition.problem import links
from dse.partition.problem.problem import PartitionProblem


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
