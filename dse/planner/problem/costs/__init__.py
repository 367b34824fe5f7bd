"""Pricing rules: what a plan costs under a cost model, and why a plan cannot run."""

from __future__ import annotations

from dse.base.errors import InputError
from dse.planner.problem.costs.rule import Infeasible as Infeasible
from dse.planner.problem.costs.rule import PriceRule
from dse.planner.problem.costs.rule import PricingRule as PricingRule
from dse.planner.problem.keys import COST_MODELS
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem


def rule_named(problem: PlanProblem, cost_model: str) -> PriceRule:
    """Return the rule of a cost model for a problem; it remembers what it has added up.

    Raises:
        InputError: no cost model has that name, or it cannot price plans of this cluster.
    """
    rule: PriceRule = COST_MODELS.load(cost_model)(problem)
    return rule


def additive_rule(problem: PlanProblem, cost_model: str) -> PricingRule:
    """Return the rule of a cost model that adds up the terms of stages.

    Raises:
        InputError: as `rule_named`, or it has no such terms.
    """
    rule = rule_named(problem, cost_model)
    if not isinstance(rule, PricingRule):
        raise InputError(f"cost={cost_model} has no terms of layers; write cost=strict")
    return rule


def price(problem: PlanProblem, plan: ClusterPlan, cost_model: str) -> PlanCost:
    """Return what a plan costs.

    Raises:
        Infeasible: the plan cannot run; the reason names type, tensor degree, batch, memory.
        InputError: as for `rule_named`.
    """
    return rule_named(problem, cost_model).price(plan)
