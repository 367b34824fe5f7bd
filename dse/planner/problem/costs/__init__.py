"""Pricing rules: what a plan costs under a cost model, and why a plan cannot run."""

from __future__ import annotations

from dse.base.errors import InputError
from dse.base.texts import excerpt
from dse.planner.problem.costs.compat import CompatRule
from dse.planner.problem.costs.infeasible import Infeasible
from dse.planner.problem.costs.rule import PricingRule
from dse.planner.problem.costs.strict import StrictRule
from dse.planner.problem.plan import ClusterPlan, PlanCost
from dse.planner.problem.problem import PlanProblem

COST_MODELS = {"compat": CompatRule, "strict": StrictRule}


def rule_named(problem: PlanProblem, cost_model: str) -> PricingRule:
    """Return the rule of a cost model for a problem; it remembers what it has added up.

    Raises:
        InputError: no cost model has that name, or it cannot price plans of this cluster.
    """
    if cost_model not in COST_MODELS:
        raise InputError(f"cost={excerpt(cost_model)}: must be one of {', '.join(COST_MODELS)}")
    return COST_MODELS[cost_model](problem)


def price(problem: PlanProblem, plan: ClusterPlan, cost_model: str) -> PlanCost:
    """Return what a plan costs.

    Raises:
        Infeasible: the plan cannot run; the reason names type, tensor degree, batch, memory.
        InputError: as for `rule_named`.
    """
    return rule_named(problem, cost_model).price(plan)


__all__ = ["COST_MODELS", "Infeasible", "PricingRule", "price", "rule_named"]
