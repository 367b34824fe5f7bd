"""Every plan that the reference wrote, with every term of its cost, is one of the walk's, at its place."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from golden_rows import row_problem

from dse.planner.problem.problem import ClusterPlan, PlanCost
from dse.planner.search.planners.metis import PlanRows, walk

RECORDED = Path(__file__).parents[3] / "shared" / "golden" / "planner" / "rows.tar.gz"
ORDERS = {0: ("A100", "V100"), 1: ("V100", "A100")}

pytestmark = pytest.mark.skipif(not RECORDED.is_file(), reason=f"{RECORDED} is not here")


def recorded(row: int, mode: str, seed: int) -> Iterator[Any]:
    """Visit the lines of a file of the archive: first a header, at the end a summary."""
    with tarfile.open(RECORDED) as archive:
        file = archive.extractfile(f"rows/row{row}/plans_{mode}_seed{seed}.jsonl.gz")
        assert file is not None
        yield from map(json.loads, gzip.decompress(file.read()).splitlines())


def record_of(plan: ClusterPlan, cost: PlanCost) -> list[Any]:
    """Return a plan as the archive has it."""
    terms = {
        "exec": [stage.execution_ms for stage in cost.stages],
        "dp": [stage.reduction_ms for stage in cost.stages],
        "upd": [stage.update_ms for stage in cost.stages],
        "pp": [stage.link_ms for stage in cost.stages[:-1]],
    }
    strategies = [list(strategy) for strategy in plan.strategies]
    head = [list(plan.types), plan.costed, list(plan.groups), strategies, plan.batches, list(plan.partition)]
    return [*head, plan.attempt, cost.cost_ms, plan.delta, terms, cost.gap_ms]


@pytest.mark.parametrize(
    ("row", "mode", "seed"),
    [
        *((row, mode, seed) for row in (1, 3) for mode in ("naive", "strat") for seed in (0, 1)),
        *((2, "naive", 0), (2, "strat", 1)),
    ],
)
def test_all_recorded_plans_with_all_terms(row: int, mode: str, seed: int) -> None:
    problem = row_problem(row, type_order=ORDERS[seed])
    result = walk(problem, mode == "strat")
    rows = PlanRows(problem, result)
    header, *plans, summary = recorded(row, mode, seed)
    assert header["listdir_first"] == "DeviceType.A100_tp1_bs16.json"
    assert (result.count, result.plans) == (summary["count"], summary["plans"])
    assert result.outer_plans == summary["inter_stage_plans"]
    assert len(rows) == len(plans)
    for i, expected in enumerate(plans):
        *fields, terms = expected
        plan = rows.plan(i)
        (gap_ms,) = terms.pop("fb")
        assert record_of(plan, rows.cost(i)) == [*fields, {"pp": [], **terms}, plan.batches * gap_ms]
