"""The contract of a pricing rule: a plan in, its cost and terms out, or why it cannot run."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dse.planner.problem.plan import ClusterPlan, PlanCost
from dse.planner.problem.problem import PlanProblem


class Infeasible(Exception):  # noqa: N818 (a status of plans, not an error)
    """A plan that cannot run. `reason` has the numbers of this plan, `kind` is what many plans share."""

    def __init__(self, reason: str, kind: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind or reason


class PriceRule(ABC):
    """Prices plans of one problem."""

    def __init__(self, problem: PlanProblem) -> None:
        self.problem = problem

    @abstractmethod
    def price(self, plan: ClusterPlan) -> PlanCost:
        """Return the cost of a plan and its terms.

        Raises:
            Infeasible: the plan cannot run under this cost model.
        """
