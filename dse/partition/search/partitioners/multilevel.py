"""The multilevel partitioner, in the engine: for graphs of any size and every objective."""

from __future__ import annotations

import math
import time
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
# Large graphs get less: their levels are refined until that brings little, in every cycle, or by flows.
_LARGE_NODES, _WORK_OF_LARGE, _WORK_BY_FLOWS = 20_000, 3_000_000, 1_200_000
_LEAST_BY_FLOWS = 3
# The part of a time limit that the search without flows may use.
_FIRST_PART = 0.1
_ENDLESS = 2**30
# Where no start keeps the limits, a search for the first partition that does.
_RESCUE_NODES = 3000
_RESCUE_S = 5.0


class Multilevel(Partitioner):
    """Coarsening, partitions from many seeds, refinement at every level.

    * `sharding_cost`, `process_mapping`: heavy-edge matching, recursive bisection, Fiduccia-Mattheyses moves
      with gain buckets, exchange of devices; then partitions are combined: what two agree on is kept
      together while coarsening. From 20,000 nodes on, and where time is left, `process_mapping` coarsens by
      clusters too, and makes the boundaries of pairs of devices least cuts by flows.
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
    """Return labels of the merged problem, `known` or better ones, or nothing if none was found.

    A time limit that was asked for is used up by cuts, unless `limits.restarts` ends them.
    """
    graph, asked = merged.problem.graph, limits.time_limit_s
    left = math.inf if asked is None else max(0.0, asked - passed_s)
    cuts = merged.problem.objective == "process_mapping"
    is_large = cuts and graph.nodes >= _LARGE_NODES
    goes_on = cuts and asked is not None and limits.restarts is None and not limits.is_default
    begun = time.perf_counter()
    found: tuple[int, ...] = ()
    if not is_large:
        found = _by_matchings(merged, limits, left * (_FIRST_PART if goes_on else 1), known)
    elif not goes_on:
        work = _WORK_BY_FLOWS // (graph.nodes + len(graph.edges))
        cycles = limits.restarts or max(_LEAST_BY_FLOWS, min(_MOST, work))
        found = _search(merged, limits.seed, cycles, known, left, by_flows=True)
    if goes_on:
        rest = max(0.0, left - (time.perf_counter() - begun))
        found = _search(merged, limits.seed, _ENDLESS, found or known, rest, by_flows=True) or found
    if is_large and not found:
        found = _by_matchings(merged, limits, max(0.0, left - (time.perf_counter() - begun)), known)
    if not found and graph.nodes <= _RESCUE_NODES:
        labels, *_ = merged.arrays.branch_and_bound(math.inf, min(left, _RESCUE_S))
        found = tuple(int(device) for device in labels)
    return found


def _by_matchings(merged: Merged, limits: Limits, seconds: float, known: Sequence[int]) -> tuple[int, ...]:
    nodes = merged.problem.graph.nodes
    size = nodes + len(merged.problem.graph.edges)
    work = _WORK if nodes < _LARGE_NODES else _WORK_OF_LARGE
    cycles = limits.restarts or max(
        _LEAST, min(_MOST, work // size), min(_MOST_OF_SMALL, _WORK_OF_SMALL // size)
    )
    return _search(merged, limits.seed, cycles, known, seconds, by_flows=False)


def _search(
    merged: Merged, seed: int, cycles: int, known: Sequence[int], seconds: float, *, by_flows: bool
) -> tuple[int, ...]:
    starts = max(1, cycles // 4)
    labels, *_ = merged.arrays.multilevel(
        seed, starts, cycles - starts, np.array(known, np.int32), min(seconds, 1e9), by_flows
    )
    return tuple(int(device) for device in labels)
