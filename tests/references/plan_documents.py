"""The document of a plan with its certificate, without what the command writes beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.planner.files.documents import cost_to_dict, plan_to_dict, problem_to_dict
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem


def plan_document(
    problem: PlanProblem, best: ClusterPlan, cost: PlanCost, certificate: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what `dse.planner.proofs.check.check_plan` reads."""
    return {
        "problem": problem_to_dict(problem),
        "plan": plan_to_dict(best),
        "cost": cost_to_dict(cost),
        "certificate": dict(certificate),
    }
