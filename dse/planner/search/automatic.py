"""The planner that `auto` means, and its answer: one with a time or bound that no step takes is refused."""

from __future__ import annotations

from dataclasses import replace

from dse.base.errors import InputError
from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.search.planner import Limits, Planner
from dse.planner.search.planners import planner_named


def planner_for(name: str, problem: PlanProblem, cost_model: str) -> Planner:
    """Return the planner of a name; for `auto` it is the one that suits the problem.

    Raises:
        InputError: no such planner, or it cannot search under the cost model.
    """
    planner = planner_named(name)
    if cost_model not in planner.cost_models:
        raise InputError(
            f"cost is {cost_model}; planner={name} searches under {', '.join(planner.cost_models)} only"
        )
    return planner.chosen(problem, cost_model)


def solve(name: str, problem: PlanProblem, cost_model: str, limits: Limits) -> PlanResult:
    """Return the answer of the planner of a name; a bound of 0 or less, which says nothing, is left out.

    Raises:
        InputError: as `planner_for` and the planner; its best plan would take no time.
    """
    result = planner_for(name, problem, cost_model).plan(problem, cost_model, limits)
    if result.cost is not None and not result.cost.cost_ms > 0:
        raise InputError(
            f"{problem.profiles.source}: the best plan would take {result.cost.cost_ms:g} ms, which no step "
            "does: gaps of the profiles (forward_backward_time_ms less layer_compute_total_ms) are below 0"
        )
    return replace(result, bound_ms=useful_bound(result.bound_ms))


def useful_bound(bound_ms: float | None) -> float | None:
    """Return a bound that says something: None for one of 0 or less, where a limit came before any bound."""
    return bound_ms if bound_ms is not None and bound_ms > 0 else None
