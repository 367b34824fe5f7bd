"""The multilevel partitioner, in the engine: for graphs of any size and every objective."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dse.partition.files.answers import Task
from dse.partition.graphs.merged import Merged
from dse.partition.problem.capacity import infeasible
from dse.partition.problem.problem import OBJECTIVES, Partition, PartitionProblem
from dse.partition.search.partitioner import SEARCH_S, Limits, Partitioner

# Nodes and edges that all cycles of a run together may pass through, about; and what is left of them for
# graphs of any size. Graphs of a few thousand get more: their cycles are over in milliseconds.
_WORK, _WORK_OF_SMALL = 4_800_000, 1_200_000
_LEAST, _MOST, _MOST_OF_SMALL = 2, 300, 600
# Large graphs get less: their levels are refined until that brings little, in every cycle.
_LARGE_NODES, _WORK_OF_LARGE = 20_000, 3_000_000
# Where no start keeps the limits, a search for the first partition that does.
_RESCUE_NODES = 3000
_RESCUE_S = 5.0


class Multilevel(Partitioner):
    """Coarsening, partitions from many seeds, refinement at every level.

    * `sharding_cost`, `process_mapping`: heavy-edge matching, recursive bisection, Fiduccia-Mattheyses moves
      with gain buckets, exchange of devices; then partitions are combined: what two agree on is kept
      together while coarsening.
    * `pipeline_bottleneck`: contractions that make no cycle, stages from topological orders, moves that stay
      forward.
    * `latency`: earliest finish over the order of execution, then moves of single groups; one level.
    """

    name = "multilevel"
    objectives = OBJECTIVES
    default_time_limit_s = SEARCH_S

    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Make `limits.restarts` partitions (by size: 2 to 600), a quarter of them from nothing."""
        return self.solve(Task(problem, self.name, limits.time_limit_s), limits)

    def solve(self, task: Task, limits: Limits) -> Partition:
        """Do the same for a task that has begun."""
        labels = multilevel(task.merged, limits, task.seconds)
        if not len(labels):
            raise infeasible(task.merged, proven=False)
        return task.answer(labels, notes=limits.stopped(task.seconds))


def multilevel(
    merged: Merged, limits: Limits, passed_s: float = 0.0, known: Sequence[int] = ()
) -> tuple[int, ...]:
    """Return labels of the merged problem, `known` or better ones, or nothing if none was found."""
    size = merged.problem.graph.nodes + len(merged.problem.graph.edges)
    work = _WORK if merged.problem.graph.nodes < _LARGE_NODES else _WORK_OF_LARGE
    cycles = limits.restarts or max(
        _LEAST, min(_MOST, work // size), min(_MOST_OF_SMALL, _WORK_OF_SMALL // size)
    )
    starts = max(1, cycles // 4)
    left = math.inf if limits.time_limit_s is None else max(0.0, limits.time_limit_s - passed_s)
    labels, *_ = merged.arrays.multilevel(
        limits.seed, starts, cycles - starts, np.array(known, np.int32), min(left, 1e9)
    )
    if not len(labels) and merged.problem.graph.nodes <= _RESCUE_NODES:
        labels, *_ = merged.arrays.branch_and_bound(math.inf, min(left, _RESCUE_S))
    return tuple(int(device) for device in labels)
