"""The oracle: every assignment of nodes to devices, evaluated one by one."""

from __future__ import annotations

import itertools

from dse.base.errors import InputError
from dse.partition.files.answers import Task
from dse.partition.objectives import evaluate
from dse.partition.problem.capacity import infeasible
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.problem import OBJECTIVES, Partition, PartitionProblem
from dse.partition.search.partitioner import Limits, Partitioner

# About a minute; what is larger is for `exact`.
_MOST = 3_000_000


class Enumeration(Partitioner):
    """Knows nothing but the evaluation; it stops at a time limit with the best so far."""

    name = "enumerate"
    objectives = OBJECTIVES

    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Try all devices^nodes assignments."""
        task = Task(problem, self.name, limits.time_limit_s)
        nodes, devices = problem.graph.nodes, problem.devices.count
        if limits.time_limit_s is None and devices**nodes > _MOST:
            raise InputError(
                f"partitioner=enumerate: {devices}^{nodes} assignments are too many; give a time limit, or "
                "use partitioner=exact"
            )
        best: tuple[float, tuple[int, ...]] | None = None
        complete = True
        for count, labels in enumerate(itertools.product(range(devices), repeat=nodes)):
            if limits.time_limit_s is not None and count % 256 == 255 and task.seconds > limits.time_limit_s:
                complete = False
                break
            try:
                cost = evaluate(problem, labels)
            except InfeasiblePartition:
                continue
            if best is None or cost < best[0]:
                best = cost, labels
        if best is None:
            raise infeasible(task.merged, complete)
        notes = () if complete else limits.stopped(task.seconds)
        return task.answer_expanded(best[1], best[0] if complete else None, notes)
