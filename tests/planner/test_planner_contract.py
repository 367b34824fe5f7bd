"""Exact, enumerate and anytime keep the contract of planners."""

from __future__ import annotations

from collections.abc import Sequence

from small_problems import small_problem
from step_problems import small_step_problems

from dse.planner.problem.problem import PlanProblem
from dse.planner.search.planner import Planner
from dse.planner.search.planners.anytime import AnytimePlanner
from dse.planner.search.planners.exact import ExactPlanner
from dse.testing.planners import PlannerContract
from tests.references.enumerate_plans import EnumeratePlanner

FEASIBLE = {"compat": (6, 8, 11), "strict": (1, 45, 58)}
"""Seeds of small problems that have plans."""


class _Small(PlannerContract):
    def problems(self, cost_model: str) -> Sequence[PlanProblem]:
        if cost_model == "step":
            return small_step_problems()
        return [small_problem(seed, cost_model == "compat") for seed in FEASIBLE[cost_model]]


class TestExact(_Small):
    def make(self) -> Planner:
        return ExactPlanner()


class TestEnumerate(_Small):
    def make(self) -> Planner:
        return EnumeratePlanner()


class TestAnytime(_Small):
    def make(self) -> Planner:
        return AnytimePlanner()
