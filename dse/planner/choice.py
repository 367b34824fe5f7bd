"""Which planner `auto` means: the exact search where it ends soon, else the one that ends when it must."""

from __future__ import annotations

from dse.errors import InputError
from dse.planner.planner import Planner
from dse.planner.planners import planner_named
from dse.planner.problem import PlanProblem

EXACT_UP_TO_GPUS = 512
"""Up to so many GPUs of up to `EXACT_UP_TO_TYPES` types the exact search takes seconds."""

EXACT_UP_TO_TYPES = 3


def planner_for(name: str, problem: PlanProblem, cost_model: str) -> Planner:
    """Return the planner of a name, or for `auto` the one that suits the problem.

    Raises:
        InputError: no such planner, or it cannot search under the cost model.
    """
    if name == "auto":
        is_small = (
            problem.cluster.gpus <= EXACT_UP_TO_GPUS and len(problem.cluster.types) <= EXACT_UP_TO_TYPES
        )
        name = "exact" if is_small else "anytime"
    planner = planner_named(name)
    if cost_model not in planner.cost_models:
        raise InputError(
            f"cost is {cost_model}; planner={name} searches under {', '.join(planner.cost_models)} only"
        )
    return planner
