"""The checker: whether an answer is what it says, from the problem and the answer alone."""

from __future__ import annotations

from dse.base.errors import InputError
from dse.base.solvers import PARTITION_SLACK
from dse.partition.objectives import evaluate
from dse.partition.problem.problem import Partition, PartitionProblem
from dse.partition.problem.validation import validate


def check(problem: PartitionProblem, partition: Partition) -> float:
    """Return the cost of `partition`, evaluated again.

    Raises:
        InfeasiblePartition: it breaks a constraint; names the device, its need and its capacity.
        InputError: its cost, its bound or its claim to be optimal do not agree with its labels.
    """
    validate(problem)
    cost = evaluate(problem, partition.labels)
    slack = PARTITION_SLACK * abs(cost)
    if abs(cost - partition.cost) > slack:
        raise InputError(f"cost={partition.cost:.17g}: the labels cost {cost:.17g}")
    if partition.bound is not None and partition.bound > cost + slack:
        raise InputError(f"bound={partition.bound:.17g} is above the cost of the labels, {cost:.17g}")
    if partition.optimal and (partition.bound is None or cost - partition.bound > slack):
        raise InputError(f"optimal, but bound={partition.bound} is not the cost {cost:.17g}")
    return cost
