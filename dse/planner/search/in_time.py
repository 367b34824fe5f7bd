"""The search for a good plan, and how far from the best it can be, in the time that there is."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from time import perf_counter
from typing import Any

from dse.base.cancellation import current_cancellation
from dse.planner.problem.costs import additive_rule
from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.proofs.certificate import dual_certificate
from dse.planner.search.engine_arrays import engine_problem, plan_of
from dse.planner.search.planner import UNPROVEN, Limits, reasons_of

ANYTIME = "anytime"
"""The name of the planner that searches so; plans that others find this way have it too."""
GAP = 1e-3
MOST_BOXES = 4000


def plan_in_time(
    problem: PlanProblem, limits: Limits, on_progress: Callable[[str], None] | None
) -> PlanResult:
    """Search a strict problem in the time that there is; the answer is that of planner `anytime`."""
    from dse.base.solvers import search_plans_in_time

    started = perf_counter()
    rule = additive_rule(problem, "strict")

    def report(best_ms: float, bound_ms: float) -> None:
        if on_progress is not None:
            on_progress(f"best {best_ms:.6g} ms, bound {bound_ms:.6g} ms")

    found, boxes, root_ms, _, beams, _, interrupted = search_plans_in_time(
        engine_problem(problem),
        [list(sequence) for sequence in permutations(range(len(problem.type_order)))],
        max(1, limits.keep),
        GAP if limits.gap is None else limits.gap,
        MOST_BOXES,
        limits.time_limit_s,
        current_cancellation(),
        report,
    )
    if interrupted and on_progress is not None:
        on_progress("interrupted: the best plan so far is the answer")
    plans = [plan_of(problem, *answer[1:]) for answer in found]
    priced = sorted((rule.price(plan).cost_ms, i, plan) for i, plan in enumerate(plans))
    best = priced[0][2] if priced else None
    cost = rule.price(best) if best else None
    certificate: dict[str, Any] | None = None
    bound = None
    if best is not None and cost is not None and boxes:
        bound = min(cost.cost_ms, *(box[-1] for box in boxes))
        certificate = dual_certificate(problem, boxes, root_ms, best, cost, bound)
    seconds = perf_counter() - started
    return PlanResult(
        ANYTIME,
        "strict",
        None,
        beams + len(boxes),
        best,
        cost,
        bound,
        cost is not None and bound == cost.cost_ms,
        seconds,
        tuple((ms, plan) for ms, _, plan in priced),
        {**reasons_of(problem, "strict", rule, best is None), **({UNPROVEN: 1} if best is None else {})},
        certificate,
    )
