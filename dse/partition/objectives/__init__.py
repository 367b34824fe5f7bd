"""The objectives of a partition: one evaluation that partitioners and the checker share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dse.partition.objectives.latency import latency
from dse.partition.objectives.pipeline_bottleneck import pipeline_bottleneck, stage_times
from dse.partition.objectives.process_mapping import process_mapping
from dse.partition.objectives.sharding_cost import sharding_cost
from dse.partition.problem.constraints import InfeasiblePartition, require_feasible
from dse.partition.problem.problem import PartitionProblem

__all__ = ["COSTS", "InfeasiblePartition", "evaluate", "stage_times"]

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
