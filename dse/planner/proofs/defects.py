"""Why a plan that Metis's cost model prices is none that can be run as it stands."""

from __future__ import annotations

from itertools import pairwise

from dse.base.errors import InputError
from dse.planner.problem.costs import Infeasible
from dse.planner.problem.problem import ClusterPlan, PlanProblem
from dse.planner.problem.ranks import Ranks

_MOST_NAMED = 8


def defects_of(problem: PlanProblem, plan: ClusterPlan, cost_model: str) -> list[str]:
    """Return what is wrong with a plan, a text each; empty for one that can be run, as all strict plans are.

    Compat plans may be priced by their first stage alone, lose layers, have stages without layers, tensor
    groups of several types, or more on a GPU than its memory holds (docs/planner.md).
    """
    if cost_model != "compat":
        return []
    found = []
    stages, placed = len(plan.groups), plan.partition[-1]
    if plan.costed < stages:
        found.append(f"its price counts {plan.costed} of its {stages} stages")
    if placed < problem.layers:
        found.append(f"{_layers(placed, problem.layers)} in no stage")
    empty = [stage for stage, (first, end) in enumerate(pairwise(plan.partition)) if first == end]
    if empty:
        found.append(f"{_stages(empty)} no layers")
    mixed = _mixed_tensor_groups(problem, plan)
    if mixed:
        found.append(f"{_stages(mixed)} tensor groups over several types, priced at the speed of one")
    return found + _short_of_memory(problem, plan)


def _layers(first: int, end: int) -> str:
    return f"layer {first} is" if end == first + 1 else f"layers {first} to {end - 1} are"


def _stages(numbers: list[int]) -> str:
    named = ", ".join(map(str, numbers[:_MOST_NAMED])) + (" …" if len(numbers) > _MOST_NAMED else "")
    return f"stage {named} has" if len(numbers) == 1 else f"stages {named} have"


def _mixed_tensor_groups(problem: PlanProblem, plan: ClusterPlan) -> list[int]:
    ranks, start, found = Ranks(problem.cluster, plan.types), 0, []
    for stage, (gpus, (_, tp)) in enumerate(zip(plan.groups, plan.strategies, strict=True)):
        if any(len(ranks.types_in(first, tp)) > 1 for first in range(start, start + gpus, tp)):
            found.append(stage)
        start += gpus
    return found


def _short_of_memory(problem: PlanProblem, plan: ClusterPlan) -> list[str]:
    """The GPU that has too little for it; nothing where layers are lost, or profiles that would say so."""
    from dse.planner.questions.simulation.work import work_of

    if plan.partition[-1] < problem.layers:
        return []
    try:
        short = work_of(problem, plan).short_of_memory
    except (Infeasible, InputError):
        return []
    return [short] if short else []
