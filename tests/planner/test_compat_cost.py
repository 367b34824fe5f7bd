"""The compat pricing rule against the reference's costs, bit by bit."""

from __future__ import annotations

import pytest
from golden_rows import golden, plan_of, plan_of_line, row_problem

from dse.planner.problem.costs import rule_named


@pytest.mark.parametrize("row", [1, 2, 3])
def test_sampled_plans_of_the_reference_cost_the_same_bits(row: int) -> None:
    for expected in golden(row)["expected"]:
        rule = rule_named(row_problem(row), "compat")
        priced = [(line, rule.price(plan_of_line(line)).cost_ms) for line, _ in expected["sample"]]
        assert priced == [(line, cost) for line, cost in expected["sample"]]


@pytest.mark.parametrize("row", [1, 2, 3])
def test_the_ten_best_plans_have_the_reference_s_terms(row: int) -> None:
    for expected in golden(row)["expected"]:
        rule = rule_named(row_problem(row), "compat")
        for record in expected["best"]:
            cost, terms = rule.price(plan_of(record)), record["components_ms"]
            assert cost.cost_ms == record["cost_ms"]
            assert [stage.execution_ms for stage in cost.stages] == terms["exec"]
            assert [stage.link_ms for stage in cost.stages[:-1]] == terms["pp"]
            assert [stage.reduction_ms for stage in cost.stages] == terms["dp"]
            assert [stage.update_ms for stage in cost.stages] == terms["upd"]
            assert cost.gap_ms == record["batches"] * terms["fb"][0]


@pytest.mark.parametrize("row", [1, 2, 3])
@pytest.mark.parametrize("setting", ["mixed_types_allowed", "one_type_per_stage"])
def test_the_known_optima_cost_the_same_bits(row: int, setting: str) -> None:
    record = golden(row)["exact"][setting]
    assert rule_named(row_problem(row), "compat").price(plan_of(record)).cost_ms == record["cost_ms"]
