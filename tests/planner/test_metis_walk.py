"""Metis's walk in the engine finds the plans of the reference, in its order and at its costs."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from golden_rows import golden, row_problem

from dse.base.errors import InputError
from dse.planner.problem.problem import ClusterPlan, PlanCost
from dse.planner.search.planner import Limits
from dse.planner.search.planners import planner_named
from dse.planner.search.planners.metis import PlanRows, walk

ROWS = [1, 2, 3]
COUNTS = {1: (612, 562), 2: (58078, 41208), 3: (3734, 3482)}


def line_of(plan: ClusterPlan) -> str:
    """Return a plan as the digest of structures has it."""

    def joined(values: Any) -> str:
        return ",".join(map(str, values))

    strategies = ",".join(f"{dp}x{tp}" for dp, tp in plan.strategies)
    return (
        f"{joined(plan.types)}|{plan.costed}|{joined(plan.groups)}|{strategies}|{plan.batches}|"
        f"{joined(plan.partition)}|{plan.attempt}|{plan.delta}"
    )


@lru_cache
def walked(row: int, mode: str, types: tuple[str, ...]) -> tuple[int, list[ClusterPlan], list[PlanCost]]:
    """Walk a row once: count, plans and costs in the order of emission."""
    problem = row_problem(row, type_order=types)
    result = walk(problem, mode == "strat")
    rows = PlanRows(problem, result)
    return result.count, list(rows), [rows.cost(i) for i in range(len(rows))]


def settings(row: int) -> list[tuple[Any, int, list[ClusterPlan], list[PlanCost]]]:
    """Return what is expected and what was found for both modes and both type orders."""
    return [
        (expected, *walked(row, expected["mode"], tuple(expected["type_order"])))
        for expected in golden(row)["expected"]
    ]


@pytest.mark.parametrize("row", ROWS)
def test_counts_are_those_of_the_table(row: int) -> None:
    found = {(expected["mode"], count) for expected, count, _, _ in settings(row)}
    assert found == {("naive", COUNTS[row][0]), ("strat", COUNTS[row][1])}


@pytest.mark.parametrize("row", ROWS)
def test_all_plans_and_costs_have_the_reference_s_digests(row: int) -> None:
    for expected, _, plans, costs in settings(row):
        structure = "".join(line_of(plan) + "\n" for plan in plans)
        assert hashlib.sha256(structure.encode()).hexdigest() == expected["structure_sha256"]
        bits = np.array([cost.cost_ms for cost in costs], "<f8").tobytes()
        assert hashlib.sha256(bits).hexdigest() == expected["costs_sha256"]
        assert math.fsum(cost.cost_ms for cost in costs) == expected["cost_sum_ms"]


@pytest.mark.parametrize("row", ROWS)
def test_kinds_of_plans_are_counted_alike(row: int) -> None:
    for expected, count, plans, _ in settings(row):
        layers = row_problem(row).layers
        empty = [plan for plan in plans if len(set(plan.partition)) < len(plan.partition)]
        lossy = [plan for plan in plans if plan.partition[-1] < layers]
        truncated = [plan for plan in plans if plan.costed < len(plan.groups)]
        attempts = [sum(plan.attempt == attempt for plan in plans) for attempt in (1, 2, 3)]
        assert len(plans) == expected["plans"]
        assert len(empty) == expected["plans_with_empty_stage"]
        assert len(lossy) == expected["plans_that_lose_layers"]
        assert len(truncated) == expected["truncated_plans"]
        assert attempts == expected["plans_by_attempt"]
        assert count == sum(plan.delta for plan in plans)


@pytest.mark.parametrize("row", ROWS)
def test_the_cheapest_plans_and_their_terms_are_the_reference_s(row: int) -> None:
    for expected in golden(row)["expected"]:
        problem = row_problem(row, type_order=tuple(expected["type_order"]))
        result = walk(problem, expected["mode"] == "strat", keep=10)
        rows = PlanRows(problem, result)
        assert result.outer_plans == expected["outer_plans"]
        assert result.plans == expected["plans"]
        assert len(rows) == len(expected["best"]) == 10
        for i, record in enumerate(expected["best"]):
            plan, cost, terms = rows.plan(i), rows.cost(i), record["components_ms"]
            assert rows.index(i) == record["index"]
            assert (plan.delta, plan.attempt) == (record["count"], record["attempt"])
            assert list(plan.types) == record["type_sequence"]
            assert [list(strategy) for strategy in plan.strategies] == record["strategies_dp_tp"]
            assert list(plan.partition) == record["layer_partition"]
            assert cost.cost_ms == record["cost_ms"]
            assert [stage.execution_ms for stage in cost.stages] == terms["exec"]
            assert [stage.link_ms for stage in cost.stages[:-1]] == terms["pp"]
            assert [stage.reduction_ms for stage in cost.stages] == terms["dp"]
            assert [stage.update_ms for stage in cost.stages] == terms["upd"]


@pytest.mark.parametrize(("planner", "count"), [("metis", 612), ("metis-strat", 562)])
def test_planners_rank_the_walk_s_plans(planner: str, count: int) -> None:
    result = planner_named(planner).plan(row_problem(1), "compat", Limits(keep=3))
    assert result.count == count
    assert result.cost is not None
    assert result.cost.cost_ms == 1795.4520359635353
    assert result.best == ClusterPlan(("A100", "V100"), (32,), ((1, 32),), 1, (0, 10), 1, 1, 10)
    assert [cost for cost, _ in result.ranking] == [1795.4520359635353, 1796.4957609772682, 1798.583211004734]
    assert not result.optimal
    assert result.bound_ms is None


def test_the_walk_has_no_strict_cost() -> None:
    with pytest.raises(InputError, match="cost=strict: planner=metis prices plans by cost=compat only"):
        planner_named("metis").plan(row_problem(1), "strict", Limits())


def test_a_time_limit_that_is_too_short_says_so() -> None:
    with pytest.raises(InputError, match=r"did not end within 1e-09 s; raise the limit, or use planner=fast"):
        planner_named("metis").plan(row_problem(2), "compat", Limits(time_limit_s=1e-9))


def test_an_unknown_planner_lists_three() -> None:
    with pytest.raises(InputError, match=r"^planner is 'metiss'; allowed are auto, fast, exact$"):
        planner_named("metiss")


@pytest.mark.parametrize(("mode", "count", "plans"), [("naive", 1714619, 136700), ("strat", 1553492, 69556)])
def test_the_largest_row_has_the_table_s_counts(mode: str, count: int, plans: int) -> None:
    problem = row_problem(4)
    result = walk(problem, mode == "strat", keep=1)
    assert (result.count, result.plans, result.outer_plans) == (count, plans, 66480)
    assert PlanRows(problem, result).cost(0).cost_ms == 1158.3567982341933
