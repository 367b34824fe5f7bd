"""Which planner `auto` means: the exact search where it ends soon, else the one that ends when it must."""

from __future__ import annotations

from dse.errors import InputError
from dse.planner.planner import Planner
from dse.planner.planners import planner_named
from dse.planner.planners.exact import MOST_CELLS, cells_of
from dse.planner.problem import PlanProblem


def planner_for(name: str, problem: PlanProblem, cost_model: str) -> Planner:
    """Return the planner of a name, or for `auto` the one that suits the problem.

    Raises:
        InputError: no such planner, or it cannot search under the cost model.
    """
    if name == "auto":
        is_small = cost_model == "compat" or cells_of(problem) <= MOST_CELLS
        name = "exact" if is_small else "anytime"
    planner = planner_named(name)
    if cost_model not in planner.cost_models:
        raise InputError(
            f"cost is {cost_model}; planner={name} searches under {', '.join(planner.cost_models)} only"
        )
    return planner
