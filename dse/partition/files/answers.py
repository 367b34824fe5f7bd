"""From the labels that a search found to its answer: the cost from the shared evaluation, and the bound."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from dse.base.solvers import PARTITION_SLACK
from dse.partition.graphs.merged import Merged, merged
from dse.partition.objectives import evaluate
from dse.partition.problem.capacity import require_capacity
from dse.partition.problem.problem import Partition, PartitionProblem
from dse.partition.problem.validation import validate
from dse.partition.search.bounds import furthest_way, lower_bound, rounding_of_squares
from dse.partition.search.cut_bounds import cut_bound

_NO_LIMIT_S = 1e9


class Task:
    """A valid problem that is being partitioned since now, with the nodes of groups merged."""

    def __init__(
        self, problem: PartitionProblem, partitioner: str, time_limit_s: float | None = None
    ) -> None:
        """Raise InputError or InfeasiblePartition for what can be seen without a search."""
        validate(problem)
        self.problem = problem
        self.partitioner = partitioner
        self.time_limit_s = time_limit_s
        self.started = time.perf_counter()
        self.merged: Merged = merged(problem)
        require_capacity(self.merged)

    @property
    def seconds(self) -> float:
        """Wall time so far."""
        return time.perf_counter() - self.started

    def answer(
        self, labels: Sequence[int], bound: float | None = None, notes: Sequence[str] = ()
    ) -> Partition:
        """Return the answer of `labels` of the merged problem; `bound` is what the search has proven."""
        return self.answer_expanded(self.merged.expand(labels), bound, notes)

    def answer_expanded(
        self, labels: Sequence[int], bound: float | None = None, notes: Sequence[str] = ()
    ) -> Partition:
        """Return the answer of `labels` of the problem as it was given."""
        labels = tuple(int(device) for device in labels)
        seconds = self.seconds
        cost = float(evaluate(self.problem, labels))
        known = float(lower_bound(self.problem))
        bound = known if bound is None else max(float(bound), known)
        if cost > bound + same_cost(self.problem, bound):
            bound = max(bound, min(cost, cut_bound(self.merged, cost, seconds=self._seconds_for_bound())))
        optimal = cost <= bound + same_cost(self.problem, bound)
        if optimal:
            bound = cost
        return Partition(labels, cost, bound, optimal, self.partitioner, seconds, tuple(notes))

    def _seconds_for_bound(self) -> float:
        """Return what the search has left of its time, and at least a tenth of it, or of a second."""
        if self.time_limit_s is None:
            return _NO_LIMIT_S
        return max(min(self.time_limit_s, 1.0) / 10, self.time_limit_s - self.seconds)


def same_cost(problem: PartitionProblem, bound: float) -> float:
    """Return by how much a cost may be above a bound and be the same: sums in other orders differ.

    Of `sharding_cost` it is the rounding of loads, as its bound may be 0, and of the cost, and a billionth of
    a distance at most: squared weights may be so large that a billionth of them is more than all distances.
    """
    if problem.objective != "sharding_cost":
        return PARTITION_SLACK * bound + 1e-300
    rounding = rounding_of_squares(problem) + 8 * sys.float_info.epsilon * bound
    return rounding + PARTITION_SLACK * min(bound, furthest_way(problem)) + 1e-300
