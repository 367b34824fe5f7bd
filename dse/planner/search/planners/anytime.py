"""The anytime planner: a good plan, and how far from the best it can be, in the time that there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dse.planner.problem.costs import rule_named
from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.search.by_steps import plan_by_steps
from dse.planner.search.in_time import ANYTIME, plan_in_time
from dse.planner.search.planner import Limits, Planner
from dse.planner.search.planners.exact import ExactPlanner


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

    name = ANYTIME
    cost_models = ("compat", "strict", "step")

    def plan(
        self,
        problem: PlanProblem,
        cost_model: str,
        limits: Limits,
        on_progress: Callable[[str], None] | None = None,
    ) -> PlanResult:
        """See `Planner.plan`; `plans` are the beams and boxes. Without a time limit it is deterministic."""
        rule_named(problem, cost_model)
        if cost_model == "step":
            return plan_by_steps(problem, self.name, limits, on_progress, is_exact=False)
        if cost_model == "compat":
            return replace(ExactPlanner().plan(problem, cost_model, limits, on_progress), planner=self.name)
        return plan_in_time(problem, limits, on_progress)
