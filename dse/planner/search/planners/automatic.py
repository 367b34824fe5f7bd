"""The planner that chooses: the exact search where it ends soon, else the one that ends when it must."""

from __future__ import annotations

from collections.abc import Callable

from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.search.planner import Limits, Planner
from dse.planner.search.planners.anytime import AnytimePlanner
from dse.planner.search.planners.exact import MOST_CELLS, ExactPlanner, cells_of


class AutoPlanner(Planner):
    """The answer is that of the planner it chooses."""

    name = "auto"
    cost_models = ("compat", "strict", "step")

    def chosen(self, problem: PlanProblem, cost_model: str) -> Planner:
        """Return the planner that suits the problem."""
        if cost_model == "step":
            return AnytimePlanner()  # which ends with a proof where that is near
        is_small = cost_model == "compat" or cells_of(problem) <= MOST_CELLS
        return ExactPlanner() if is_small else AnytimePlanner()

    def plan(
        self,
        problem: PlanProblem,
        cost_model: str,
        limits: Limits,
        on_progress: Callable[[str], None] | None = None,
    ) -> PlanResult:
        """See `Planner.plan`."""
        return self.chosen(problem, cost_model).plan(problem, cost_model, limits, on_progress)
