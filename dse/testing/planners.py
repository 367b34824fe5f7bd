"""The contract of every planner, on problems that the test gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.planner.files.documents import cost_to_dict, plan_to_dict
from dse.planner.problem.costs import Infeasible, price
from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.search.planner import Limits, Planner


class PlannerContract:
    """Inherit it, and return the planner from `make`, and problems that it can plan from `problems`."""

    def make(self) -> Planner:
        """Return a fresh planner."""
        raise NotImplementedError("make returns the planner")

    def problems(self, cost_model: str) -> Sequence[PlanProblem]:
        """Return problems that have a plan under a cost model."""
        raise NotImplementedError("problems returns problems that have a plan")

    def each(self) -> list[tuple[PlanProblem, str, PlanResult]]:
        """Return what the planner answers to every problem, under every cost model that it can search."""
        return [
            (problem, cost_model, self.make().plan(problem, cost_model, Limits(keep=3)))
            for cost_model in self.make().cost_models
            for problem in self.problems(cost_model)
        ]

    def test_the_best_plan_costs_what_the_pricing_rule_says(self) -> None:
        for problem, cost_model, result in self.each():
            assert result.best is not None
            assert result.cost == price(problem, result.best, cost_model)
            assert result.planner == self.make().name
            assert result.cost_model == cost_model

    def test_the_ranking_ascends_from_the_best_and_is_priced_by_the_rule(self) -> None:
        for problem, cost_model, result in self.each():
            costs = [cost_ms for cost_ms, _ in result.ranking]
            assert result.cost is not None
            assert costs == sorted(costs)
            assert costs[0] == result.cost.cost_ms
            assert costs == [price(problem, plan, cost_model).cost_ms for _, plan in result.ranking]

    def test_stages_cover_all_gpus_and_whole_plans_all_layers(self) -> None:
        for problem, cost_model, result in self.each():
            for _, plan in result.ranking:
                if cost_model == "step":  # which may leave GPUs idle
                    assert sum(plan.groups) <= problem.cluster.gpus
                else:
                    assert sum(plan.groups) == problem.cluster.gpus
                    assert [dp * tp for dp, tp in plan.strategies] == list(plan.groups)
                if cost_model != "compat":
                    assert plan.partition[-1] == problem.layers
                    assert all(a < b for a, b in zip(plan.partition, plan.partition[1:], strict=False))

    def test_no_bound_is_above_the_cost_and_an_optimum_is_its_own_bound(self) -> None:
        for _, _, result in self.each():
            assert result.cost is not None
            if result.bound_ms is not None:
                assert result.bound_ms <= result.cost.cost_ms
            if result.optimal:
                assert result.bound_ms == result.cost.cost_ms

    def test_the_same_problem_gives_the_same_bytes(self) -> None:
        assert [_bytes(result) for *_, result in self.each()] == [_bytes(r) for *_, r in self.each()]

    def test_the_order_in_which_profiles_are_listed_does_not_matter(self) -> None:
        for problem, cost_model, result in self.each():
            listed = dict(reversed(list(problem.profiles.profiles.items())))
            turned = replace(problem, profiles=replace(problem.profiles, profiles=listed))
            assert _bytes(self.make().plan(turned, cost_model, Limits(keep=3))) == _bytes(result)

    def test_a_cluster_without_memory_has_no_plan_but_reasons(self) -> None:
        for problem, cost_model, _ in self.each():
            tiny = dict.fromkeys(problem.cluster.memory_gib, 1e-9)
            cluster = replace(problem.cluster, memory_gib=tiny)
            result = self.make().plan(problem.on(cluster, problem.type_order), cost_model, Limits())
            assert result.best is None
            assert result.cost is None
            assert not result.optimal
            assert result.infeasible

    def test_another_cost_model_is_refused(self) -> None:
        problem = self.problems(self.make().cost_models[0])[0]
        with pytest.raises(InputError, match="cheapest"):
            self.make().plan(problem, "cheapest", Limits())

    def test_no_plan_of_the_ranking_is_infeasible(self) -> None:
        for problem, cost_model, result in self.each():
            for _, plan in result.ranking:
                try:
                    price(problem, plan, cost_model)
                except Infeasible as why:
                    pytest.fail(why.reason)


def _bytes(result: PlanResult) -> str:
    """Everything but the time."""
    data: dict[str, Any] = {
        "ranking": [[cost_ms, plan_to_dict(plan)] for cost_ms, plan in result.ranking],
        "cost": cost_to_dict(result.cost) if result.cost else None,
        "count": result.count,
        "plans": result.plans,
        "bound": result.bound_ms,
        "infeasible": dict(result.infeasible),
        "certificate": result.certificate,
    }
    return json.dumps(data)
