"""The exact partitioner: by structure where the graph has one, else by branch and bound."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from dse.partition.files.answers import Task, same_cost
from dse.partition.graphs.merged import Merged
from dse.partition.objectives import COSTS
from dse.partition.problem.capacity import infeasible
from dse.partition.problem.problem import OBJECTIVES, Partition, PartitionProblem
from dse.partition.search.bounds import lower_bound
from dse.partition.search.cut_bounds import EFFORT, cut_bound
from dse.partition.search.partitioner import Limits, Partitioner
from dse.partition.search.partitioners.chains import chain_order, row_order, sharding_of_a_row
from dse.partition.search.partitioners.multilevel import multilevel

# Branch and bound is a recursion over nodes.
_MOST_NODES = 3000
_MOST_ORDERS = 1 << 16
_MOST_EFFORT = 64 * EFFORT
# Sums of a dynamic program over a tree decomposition; seconds, and gigabytes at most.
_MOST_WORK = 3e8
# Ideals of a stage; the engine keeps fewer where all of them would need too much memory.
_MOST_IDEALS = 50_000
_MOST_IDEAL_NODES = 10_000
# Pairs of devices times nodes and edges: what each stage would receive from each.
_MOST_PAIRS = 2e8
_NO_LIMIT_S = 1e9


def without_limits(task: Task, seconds: float) -> Partition | None:
    """Return the best mapping where no limit can be reached, by a tree decomposition; None if too wide.

    It takes half of what is left of `seconds` at most.
    """
    if not task.merged.arrays.has_no_limits:
        return None
    half = min(max(0.0, seconds - task.seconds) / 2, _NO_LIMIT_S)
    labels = tuple(int(device) for device in task.merged.arrays.least_mapping(_MOST_WORK, half))
    if not labels:
        return None
    cost = COSTS[task.problem.objective](task.merged.problem, labels)
    return task.answer(labels, cost, ("tree decomposition: no limit couples nodes without edges",))


def over_ideals(
    task: Task, best: Sequence[int], known_bound: float, seconds: float
) -> tuple[Sequence[int], float]:
    """Return labels of the merged problem and a bound: those known, or better ones from ideals."""
    problem = task.merged.problem
    pairs = problem.devices.count**2 * (problem.graph.nodes + len(problem.graph.edges))
    if problem.graph.nodes > _MOST_IDEAL_NODES or pairs > _MOST_PAIRS or not task.merged.has_stages_in_order:
        return best, known_bound
    cost = COSTS[problem.objective]
    upper = cost(problem, best) if len(best) else sum(problem.graph.node_weights)
    lower = max(known_bound, lower_bound(problem))
    found, _, bound, _ = task.merged.arrays.ideals_bottleneck(
        lower, upper, _MOST_IDEALS, max(0.0, min(seconds, _NO_LIMIT_S))
    )
    labels = tuple(int(device) for device in found)
    if labels and (not len(best) or cost(problem, labels) < upper):
        return labels, bound
    return best, bound


class Exact(Partitioner):
    """Ends with a proof, or at the time limit with the best known and a bound.

    * `pipeline_bottleneck` of a chain: bisection over the cost with a dynamic program of reachable prefixes.
      With `free_order` over the subsets of devices, those that are interchangeable counted only.
    * `sharding_cost` of a path: contiguous pieces by dynamic programming, proven by the bound of balance and
      spanning tree where the two meet.
    * `process_mapping` where no limit of weight or memory can be reached: a dynamic program over a tree
      decomposition, for trees, series-parallel graphs and others of small width.
    * A known partition is compared with what pieces that a device could hold must cut.
    * `pipeline_bottleneck` of other graphs, stages in the order of the devices: branch and bound over ideals.
    * Otherwise branch and bound. For the two objectives that are sums it remembers states (devices of nodes
      with neighbours to come, loads), which makes it a dynamic program on graphs of small path width: chains,
      trees, series-parallel graphs.
    """

    name = "exact"
    objectives = OBJECTIVES
    starts_again = False

    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Search to the end, or to the time limit."""
        task = Task(problem, self.name, limits.time_limit_s)
        seconds = math.inf if limits.time_limit_s is None else limits.time_limit_s
        return without_limits(task, seconds) or self.solve(task, limits)

    def solve(self, task: Task, limits: Limits) -> Partition:
        """Do the same for a task that has begun and whose limits couple nodes, or that is too wide."""
        problem = task.problem
        seconds = math.inf if limits.time_limit_s is None else limits.time_limit_s
        if problem.objective == "pipeline_bottleneck":
            order = chain_order(task.merged.problem.graph, task.merged.order)
            if order and (not problem.free_order or task.merged.arrays.order_states <= _MOST_ORDERS):
                return self._chain(task, seconds)
        labels: tuple[int, ...] = ()
        if problem.objective == "sharding_cost":
            row = row_order(task.merged.problem.graph)
            if row:
                labels = sharding_of_a_row(task.merged, row)
                if labels:
                    found = task.answer(labels, notes=("contiguous pieces of a path",))
                    if found.optimal:
                        return found
        return self._search(task, labels, limits, seconds)

    def _chain(self, task: Task, seconds: float) -> Partition:
        found, _, bound, complete = task.merged.arrays.chain_bottleneck(
            math.inf, min(max(0.0, seconds - task.seconds), _NO_LIMIT_S)
        )
        labels = tuple(int(device) for device in found)
        if not labels:
            if complete:
                raise infeasible(task.merged, proven=True)
            labels = multilevel(task.merged, Limits(time_limit_s=0.1, is_default=True))
            if not labels:
                raise infeasible(task.merged, proven=False)
        return task.answer(labels, bound, ("chain: bisection over reachable prefixes",))

    @staticmethod
    def _cut_bound(task: Task, upper: float, seconds: float) -> float:
        """Return the bound of pieces, with more states while that helps, for a third of the time."""
        best, effort = 0.0, EFFORT
        most = EFFORT if task.problem.objective == "pipeline_bottleneck" else _MOST_EFFORT
        while effort <= most and task.seconds < seconds / 3:
            left = min(seconds / 3 - task.seconds, _NO_LIMIT_S)
            found = cut_bound(task.merged, upper, effort, left)
            if found <= best or upper <= found + same_cost(task.merged.problem, found):
                return max(best, found)
            best, effort = found, 4 * effort
        return best

    def _search(self, task: Task, labels: tuple[int, ...], limits: Limits, seconds: float) -> Partition:
        problem = task.merged.problem
        known = start_of(task.merged, limits, task.seconds)
        candidates = [found for found in (labels, known) if len(found)]
        costs = [COSTS[problem.objective](problem, found) for found in candidates]
        upper = min(costs, default=math.inf)
        best: Sequence[int] = candidates[costs.index(upper)] if costs else ()
        if len(best) and upper <= lower_bound(problem):
            return task.answer(best)
        known_bound = self._cut_bound(task, upper, seconds)
        if upper <= known_bound + same_cost(problem, known_bound):
            return task.answer(best, known_bound, ("proven by the least cut into pieces",))
        left = min(max(0.0, seconds - task.seconds), _NO_LIMIT_S)
        best, known_bound = over_ideals(task, best, known_bound, left / 2)
        upper = COSTS[problem.objective](problem, best) if len(best) else math.inf
        if upper <= known_bound + same_cost(problem, known_bound):
            return task.answer(best, known_bound, ("branch and bound over ideals",))
        left = min(max(0.0, seconds - task.seconds), _NO_LIMIT_S)
        if problem.graph.nodes > _MOST_NODES:
            if not len(best):
                raise infeasible(task.merged, proven=False)
            note = f"branch and bound is for up to {_MOST_NODES} nodes: best known and bound"
            return task.answer(best, known_bound, (note,))
        found, _, bound, complete = task.merged.arrays.branch_and_bound(upper, left)
        if len(found):
            best = tuple(int(device) for device in found)
        if not len(best):
            raise infeasible(task.merged, proven=complete)
        bound = max(bound, min(known_bound, COSTS[problem.objective](problem, best)))
        return task.answer(best, bound, ("branch and bound" if complete else "stopped at the time limit",))


# So many assignments the search goes through faster than a start is made.
_FEW = 10_000
_RESTARTS = 40


def start_of(merged: Merged, limits: Limits, passed_s: float = 0.0) -> tuple[int, ...]:
    """Return labels, or nothing if none was found or none is needed; takes a third of the time left."""
    if merged.problem.devices.count ** min(merged.problem.graph.nodes, 64) <= _FEW:
        return ()
    third = None if limits.time_limit_s is None else max(0.0, limits.time_limit_s - passed_s) / 3
    return multilevel(
        merged, dataclasses.replace(limits, time_limit_s=third, restarts=limits.restarts or _RESTARTS)
    )
