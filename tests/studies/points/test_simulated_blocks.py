"""Blocks of simulated points have the rows of their points: whatever ends how, in however many parts."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.strategies.columns import Strategies
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import GeneratedWorkload
from dse.simulation.workloads.generators import made_workload
from dse.studies.executors import LocalExecutor
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.studies.points.blocks import PointBlock
from dse.studies.points.evaluate import evaluate_block
from dse.studies.points.methods import simulated_columns
from dse.studies.store import POINTS, StudyRow
from dse.testing.builders import RING16, TINY, system

STRATEGIES = [
    Strategy(dp, tp, sp, 16 // (dp * tp * sp), weight_sharded=sharded, activation_recompute=recompute)
    for dp, tp, sp in itertools.product((1, 2, 4, 8, 16), (1, 2, 4), (1, 2, 4))
    if 16 % (dp * tp * sp) == 0
    for sharded, recompute in ((False, False), (True, False), (False, True))
] + [Strategy(dp=0, tp=16), Strategy(dp=3, tp=5), Strategy(dp=16, zero=3), Strategy(tp=16)]
MESH = system("Ring 4 @100/500,Ring 4 @50/1000")
CUT = dataclasses.replace(TINY, batch_size=24, d_ff=4098)
REALISTIC = dataclasses.replace(TINY, fidelity="realistic", micro_batches=2)
SCENARIOS = {
    "ring": Scenario("blocks", TINY, RING16),
    "general engine": Scenario("blocks", TINY, RING16, simulator=NativeSimulator("general")),
    "slower dimension": Scenario("blocks", TINY, MESH),
    "cut shards": Scenario("blocks", CUT, MESH),
    "strict": Scenario("blocks", CUT, MESH, divisibility="strict"),
    "realistic": Scenario("blocks", REALISTIC, MESH),
    "untracked": Scenario("blocks", TINY, dataclasses.replace(MESH, track_local_memory=False)),
    "no roofline": Scenario("blocks", TINY, dataclasses.replace(MESH, roofline_enabled=False)),
    "queues": Scenario("blocks", TINY, dataclasses.replace(MESH, network_model="congestion_aware")),
    "end of time": Scenario("blocks", TINY, system("Ring 8 @50/500,Ring 2 @1e-300/500")),
}
OTHERS: dict[str, set[str]] = {
    "ring": {"deadlock"},
    "general engine": {"deadlock"},
    "queues": {"deadlock"},
    "no roofline": {"failed"},
    "end of time": {"deadlock", "failed"},
}


def answered(block: PointBlock) -> tuple[list[StudyRow], int]:
    """The rows of a block by their keys, and in how many parts they came."""
    rows: list[StudyRow] = []
    parts = 0
    while len(block):
        found = POINTS.rows(evaluate_block(block))
        block, parts = block.take(slice(len(found), None)), parts + 1
        rows += found
    return sorted(rows, key=lambda row: str(row.key)), parts


def expected(scenario: Scenario) -> list[StudyRow]:
    return sorted((evaluate(DesignPoint(scenario, one)) for one in STRATEGIES), key=lambda row: str(row.key))


@pytest.mark.parametrize("name", SCENARIOS)
def test_rows_of_a_block_are_those_of_its_points(name: str) -> None:
    scenario = SCENARIOS[name]
    block = PointBlock(scenario, Strategies.of(STRATEGIES))
    assert scenario.in_blocks
    rows = expected(scenario)
    assert answered(block)[0] == rows
    assert {row.status for row in rows} == {"ok", "infeasible"} | OTHERS.get(name, set())
    feasible = {point.key for point, holds in zip(block, block.feasible, strict=True) if holds}
    assert feasible == {row.key for row in rows if row.status != "infeasible"}


def test_a_block_that_takes_long_is_answered_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulated_columns, "_MOST_S", 0.0)
    scenario = SCENARIOS["ring"]
    rows, parts = answered(PointBlock(scenario, Strategies.of(STRATEGIES)))
    assert rows == expected(scenario)
    assert parts > sum(row.status != "infeasible" for row in rows)


def test_workloads_are_made_once_for_systems_that_share_them(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Strategy] = []

    def counted(model: ModelSpec, strategy: Strategy, is_fractional: bool) -> GeneratedWorkload:
        made.append(strategy)
        return made_workload(model, strategy, is_fractional)

    monkeypatch.setattr(simulated_columns, "made_workload", counted)
    model = dataclasses.replace(TINY, seq_len=384)
    for tflops in (100.0, 200.0, 300.0):
        scenario = Scenario("blocks", model, dataclasses.replace(MESH, peak_tflops=tflops))
        assert answered(PointBlock(scenario, Strategies.of(STRATEGIES)))[0] == expected(scenario)
    assert 30 < len(made) == len(set(made))


def test_points_whose_collectives_depend_on_workloads_are_no_block() -> None:
    synthesized = dataclasses.replace(RING16.collectives, all_reduce=("synthesized",))
    on = dataclasses.replace(RING16, collectives=synthesized)
    assert not Scenario("blocks", TINY, on).in_blocks


@pytest.mark.parametrize("threads", [1, 3])
def test_an_executor_answers_a_block_in_parts(threads: int) -> None:
    scenario = SCENARIOS["ring"]
    block = PointBlock(scenario, Strategies.of(STRATEGIES))
    tables = [table for _, table in LocalExecutor(threads).run([block])]
    rows = sorted((row for table in tables for row in POINTS.rows(table)), key=lambda row: str(row.key))
    assert rows == expected(scenario)
    assert len(tables) > 1


def test_a_slow_point_of_a_block_is_a_timeout_and_its_neighbours_are_not() -> None:
    slow = Strategy(dp=16)
    some = [Strategy(dp=3), slow, Strategy(dp=0, tp=16)]
    model = dataclasses.replace(TINY, num_layers=4000)
    scenario = Scenario("blocks", model, RING16, simulator=NativeSimulator("general"))
    block = PointBlock(scenario, Strategies.of(some))
    tables = [table for _, table in LocalExecutor(1, 0.02).run([block])]
    statuses = {row.dp: row.status for table in tables for row in POINTS.rows(table)}
    assert statuses == {3: "infeasible", 16: "timeout", 0: "infeasible"}
