"""The proof of a plan priced by predicted steps: the bound is found again, from the problem alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.planner.problem.problem import PlanProblem
from dse.planner.search.by_steps import NODES

_ROUNDING = 1e-9


def check_steps(problem: PlanProblem, certificate: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a bound; the plans of sweeps are no part of a file, and not looked at."""
    if problem.steps is None or certificate["cost_model"] != "step":
        return ["certificate.kind: steps, but the problem has no steps"]
    claimed_s, best_s = certificate["bound_ms"] / 1000, certificate["best_ms"] / 1000
    nodes = NODES["exact"] if claimed_s >= best_s * (1 - _ROUNDING) else 0
    # Tables need to look no further than the bound that is claimed.
    gap = max(0.0, best_s / claimed_s - 1)
    bound_s = best_s
    for steps, stage_gpus in problem.steps.alike():
        question = steps.question(stage_gpus=stage_gpus)
        bound_s = min(bound_s, question.search(best_s * (1 + _ROUNDING), gap, nodes, 1, None, None)[1])
    if bound_s < claimed_s * (1 - _ROUNDING):
        return [f"certificate.bound_ms: {1000 * claimed_s}, but only {1000 * bound_s} can be shown"]
    return []
