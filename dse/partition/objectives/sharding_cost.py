"""The sharding cost: imbalance of weight, squared, and the distance of every cut edge."""

from __future__ import annotations

from collections.abc import Sequence

from dse.partition.problem import links
from dse.partition.problem.constraints import sums
from dse.partition.problem.problem import PartitionProblem


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
