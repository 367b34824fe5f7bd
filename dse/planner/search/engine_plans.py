"""Plans as the engine lists them, and plans as the planner knows them."""

from __future__ import annotations

from collections.abc import Sequence

from dse.planner.problem.plan import ClusterPlan
from dse.planner.problem.problem import PlanProblem


def plan_of(
    problem: PlanProblem, sequence: Sequence[int], batches: int, stages: Sequence[tuple[int, int, int]]
) -> ClusterPlan:
    """Return the engine's plan: stages are (GPUs, tensor degree, first layer after it)."""
    return ClusterPlan(
        tuple(problem.type_order[i] for i in sequence),
        tuple(gpus for gpus, _, _ in stages),
        tuple((gpus // tp, tp) for gpus, tp, _ in stages),
        batches,
        (0, *(end for _, _, end in stages)),
        len(stages),
    )
