"""The partitioner that chooses: a proof where one is in reach, else multilevel; it says why."""

from __future__ import annotations

import dataclasses
import math

from dse.partition.files.answers import Task
from dse.partition.problem.problem import OBJECTIVES, Partition, PartitionProblem
from dse.partition.search.partitioner import Limits, Partitioner, search_s
from dse.partition.search.partitioners.chains import chain_order, row_order
from dse.partition.search.partitioners.exact import Exact, over_ideals, without_limits
from dse.partition.search.partitioners.multilevel import Multilevel

# Nodes up to which a search may find a proof, and its time unless the limits say another.
_SMALL = 60
_SECONDS = 10.0


class Auto(Partitioner):
    """`exact` for chains, paths and small graphs, 10 s unless the limits say; else `multilevel`, 30 s."""

    name = "auto"
    objectives = OBJECTIVES

    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Choose by structure and size; the first note is the reason."""
        task = Task(problem, self.name, limits.time_limit_s)
        found = without_limits(task, math.inf if limits.time_limit_s is None else limits.time_limit_s)
        if found:
            return _named("exact", "a tree decomposition is narrow and no limit couples nodes", found)
        chosen, reason = self._choose(task)
        asked = limits.time_limit_s
        if isinstance(chosen, Multilevel):
            answer = chosen.solve(task, limits.within(search_s(task.merged.problem.graph)))
            if not answer.optimal:
                answer = _by_ideals(task, answer, (_SECONDS if asked is None else asked) - task.seconds)
        else:
            limits = limits.within(_SECONDS)
            task.time_limit_s = limits.time_limit_s
            answer = chosen.solve(task, limits)
        return _named(chosen.name, reason, answer)

    @staticmethod
    def _choose(task: Task) -> tuple[Exact | Multilevel, str]:
        problem = task.merged.problem
        nodes = problem.graph.nodes
        if problem.objective == "pipeline_bottleneck" and chain_order(problem.graph, task.merged.order):
            if not problem.free_order or task.merged.arrays.order_states <= 1 << 16:
                return Exact(), "the graph is a chain, which a dynamic program solves"
            return Multilevel(), f"too many orders of {problem.devices.count} unequal devices for a proof"
        if problem.objective == "sharding_cost" and row_order(problem.graph) and nodes <= 3000:
            return Exact(), "the graph is a path"
        if nodes <= _SMALL:
            return Exact(), f"{nodes} nodes are few enough for branch and bound"
        seconds = search_s(problem.graph)
        return Multilevel(), (
            f"{nodes} nodes are many: a search for a good partition first, by default in {seconds:g} s"
        )


def _named(partitioner: str, reason: str, answer: Partition) -> Partition:
    notes = (f"{partitioner}: {reason}", *answer.notes)
    return dataclasses.replace(answer, partitioner=partitioner, notes=notes)


def _by_ideals(task: Task, known: Partition, seconds: float) -> Partition:
    """Return a partition of a pipeline that is better, or better proven; `known` if there is none."""
    labels = [0] * task.merged.problem.graph.nodes
    for node, device in zip(task.merged.place, known.labels, strict=True):
        labels[node] = device
    assert known.bound is not None
    best, bound = over_ideals(task, labels, known.bound, seconds)
    if bound <= known.bound and best is labels:
        return known
    return task.answer(best, bound, (*known.notes, "then branch and bound over ideals"))
