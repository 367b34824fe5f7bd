"""The anytime planner: a good plan, and how far from the best it can be, in the time that there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from time import perf_counter
from typing import Any

from dse.base.cancellation import current_cancellation
from dse.planner.problem.costs import rule_named
from dse.planner.problem.plan import PlanResult
from dse.planner.problem.problem import PlanProblem
from dse.planner.proofs.certificate import dual_certificate
from dse.planner.questions.exclusions import UNPROVEN, reasons_of
from dse.planner.search.engine_arrays import engine_problem
from dse.planner.search.planner import Limits, Planner
from dse.planner.search.planners.exact import ExactPlanner, plan_of

GAP = 1e-3
MOST_BOXES = 4000


class AnytimePlanner(Planner):
    """Under strict, a beam over suffixes for plans, and for the bound a relaxed problem.

    The relaxed problem lets stages of all types come in any order, at their best places, each with as many
    micro-batches in flight as its place asks for, and has GPUs of a type as a budget with a price (Lagrange
    multipliers). Plans are divided into boxes by micro-batches, longest stage time, and largest update and
    reduction; the prices of each box prove its bound. Beams aim at the lowest boxes, and know from the
    relaxed problem what the stages that are missing cost, and where their memory ends.
    It ends when best plan and bound are within 0.1 % (or `Limits.gap`), at a time limit, after Ctrl-C, or
    after 4,000 boxes.
    Under compat it is the exact search, with its limits.
    """

    name = "anytime"
    cost_models = ("compat", "strict")

    def plan(
        self,
        problem: PlanProblem,
        cost_model: str,
        limits: Limits,
        on_progress: Callable[[str], None] | None = None,
    ) -> PlanResult:
        """See `Planner.plan`; `plans` are the beams and boxes. Without a time limit it is deterministic."""
        rule_named(problem, cost_model)
        if cost_model == "compat":
            return replace(ExactPlanner().plan(problem, cost_model, limits, on_progress), planner=self.name)
        return plan_in_time(problem, limits, on_progress)


def plan_in_time(
    problem: PlanProblem, limits: Limits, on_progress: Callable[[str], None] | None
) -> PlanResult:
    """Search a strict problem in the time that there is; the answer is that of planner `anytime`."""
    from dse.base.solvers import search_plans_in_time

    started = perf_counter()
    rule = rule_named(problem, "strict")

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
        AnytimePlanner.name,
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
