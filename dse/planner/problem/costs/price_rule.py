"""The contract of a pricing rule: a plan in, its cost and terms out."""

from __future__ import annotations

from abc import ABC, abstractmethod

from dse.planner.problem.plan import ClusterPlan, PlanCost
from dse.planner.problem.problem import PlanProblem


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
