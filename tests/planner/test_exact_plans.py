"""The exact planner finds what enumerating all plans finds."""

from __future__ import annotations

import pytest
from golden_rows import golden, plan_of, row_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from small_problems import small_problem

from dse.planner.problem.costs import price
from dse.planner.search.planner import Limits
from dse.planner.search.planners.exact import ExactPlanner
from tests.references.enumerate_plans import EnumeratePlanner

SEEDS = st.integers(0, 10**9)


def check_equal(seed: int, cost_model: str) -> None:
    problem = small_problem(seed, cost_model == "compat")
    oracle = EnumeratePlanner().plan(problem, cost_model, Limits(keep=1))
    exact = ExactPlanner().plan(problem, cost_model, Limits(keep=1))
    assert (oracle.best is None) == (exact.best is None)
    if oracle.best is None or exact.best is None or oracle.cost is None or exact.cost is None:
        assert exact.infeasible
        return
    assert exact.cost.cost_ms == pytest.approx(oracle.cost.cost_ms, rel=1e-12)
    assert exact.optimal
    assert exact.bound_ms == exact.cost.cost_ms == price(problem, exact.best, cost_model).cost_ms


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_compat_optima_are_those_of_enumeration(seed: int) -> None:
    check_equal(seed, "compat")


@settings(max_examples=300, deadline=None)
@given(SEEDS)
def test_strict_optima_are_those_of_enumeration(seed: int) -> None:
    check_equal(seed, "strict")


@pytest.mark.parametrize("row", [1, 2, 3])
@pytest.mark.parametrize("setting", ["mixed_types_allowed", "one_type_per_stage"])
def test_rows_of_the_table_have_the_known_optima(row: int, setting: str) -> None:
    known = golden(row)["exact"][setting]
    result = ExactPlanner().plan(row_problem(row, setting == "mixed_types_allowed"), "compat", Limits(keep=1))
    assert result.cost is not None
    assert result.best == plan_of(known)
    assert result.cost.cost_ms == known["cost_ms"] == result.bound_ms
    assert result.optimal


def test_row_4_has_the_known_optimum_with_one_type_a_stage() -> None:
    result = ExactPlanner().plan(row_problem(4, mixed=False), "compat", Limits(keep=1))
    assert result.cost is not None
    assert result.best is not None
    assert result.cost.cost_ms == result.bound_ms == 1187.7972896555843
    assert result.best.partition == (0, 9, 40)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from(["compat", "strict"]))
def test_the_ranking_has_the_best_plan_of_each_sequence_stages_and_micro_batches(
    seed: int, cost_model: str
) -> None:
    problem = small_problem(seed, cost_model == "compat")
    everything = EnumeratePlanner().plan(problem, cost_model, Limits(keep=10**6)).ranking
    expected: dict[tuple[object, ...], float] = {}
    for cost_ms, plan in everything:
        expected.setdefault((plan.types, len(plan.groups), plan.batches), cost_ms)
    least = min(expected.values(), default=0.0)
    near = sorted(cost_ms for cost_ms in expected.values() if cost_ms < least * 1.0999)[:4]
    ranking = ExactPlanner().plan(problem, cost_model, Limits(keep=4)).ranking
    assert [cost_ms for cost_ms, _ in ranking][: len(near)] == pytest.approx(near, rel=1e-12)
