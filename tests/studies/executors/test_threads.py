"""Threads share workloads and the engine, and change nothing: rows and results are those of one thread."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from dse.inputs.strategies import Strategy
from dse.native import _engine
from dse.simulation.simulators import NativeSimulator
from dse.simulation.simulators.native import native_system
from dse.simulation.workloads import generate
from dse.studies.executors import LocalExecutor
from dse.studies.points import DesignPoint, Scenario
from dse.studies.store import StudyRow
from dse.testing.builders import RING16, TINY, system

STRATEGIES = [
    *(Strategy(dp, 16 // dp, activation_recompute=True) for dp in (1, 2, 4, 8, 16)),
    *(Strategy(dp, 16 // dp) for dp in (1, 2, 4, 8, 16)),
    *(Strategy(dp, sp=16 // dp, weight_sharded=True) for dp in (1, 2, 4, 8, 16)),
    *(Strategy(16 // pp, pp=pp) for pp in (2, 4)),
    Strategy(2, 2, 2, 2, activation_recompute=True),
    Strategy(dp=2, pp=8),  # more stages than blocks
    Strategy(dp=0, tp=16),
    Strategy(dp=3, tp=5),  # not the NPUs of the system
]
SYSTEMS = [RING16, system("Switch 16 @50/500", preferred_dataset_splits=10, active_chunks_per_dimension=4)]
POINTS = [DesignPoint(Scenario("threads", TINY, on), strategy) for on in SYSTEMS for strategy in STRATEGIES]


def _rows(points: Sequence[DesignPoint], threads: int) -> list[StudyRow]:
    rows = dict(LocalExecutor(threads).run(points))
    return [rows[index] for index in range(len(points))]


@pytest.mark.parametrize("threads", [2, 8])
def test_a_sweep_on_many_threads_has_the_rows_of_one_thread(threads: int) -> None:
    alone = _rows(POINTS, 1)
    assert len(alone) >= 40
    assert {row.status for row in alone} == {"ok", "infeasible", "deadlock"}
    assert _rows(POINTS, threads) == alone


@pytest.mark.parametrize("method", [_engine.Method.AUTO, _engine.Method.GENERAL])
@pytest.mark.parametrize("on", SYSTEMS, ids=lambda on: on.network[0].topology)
def test_one_workload_in_eight_threads_at_once(on: object, method: _engine.Method) -> None:
    work = generate(TINY, Strategy(dp=2, tp=2, sp=2, pp=2, weight_sharded=True)).native
    config = native_system(on)  # type: ignore[arg-type]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: _figures(_engine.simulate(work, config, method)), range(24)))
    assert results == [results[0]] * 24
    assert results[0] == _figures(_engine.simulate(work, config, _engine.Method.GENERAL))


def _figures(result: _engine.SimulationResult) -> list[tuple[object, ...]]:
    names = [name for name in vars(_engine.RankResult) if not name.startswith("_")]
    classes = [tuple(getattr(figures, name) for name in names) for figures in result.classes]
    return [classes[index] for index in result.class_of_rank]


def test_workloads_generated_in_eight_threads_at_once_are_the_same() -> None:
    strategies = [strategy for strategy in STRATEGIES if strategy.npus == 16 and strategy.pp <= 4] * 4
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(
            pool.map(
                lambda strategy: NativeSimulator().simulate(generate(TINY, strategy), RING16), strategies
            )
        )
    count = len(strategies) // 4
    assert outcomes == outcomes[:count] * 4
