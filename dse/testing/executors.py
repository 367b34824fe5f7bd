"""The contract of every executor: one row per point, as if points were evaluated one by one."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import pytest

from dse.base.errors import InputError, SimulationError
from dse.inputs.strategies import Strategy
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import NativeSimulator, Outcome, RankMetrics, Simulator
from dse.simulation.workloads import Workload
from dse.studies.executors import Executor
from dse.studies.points import DesignPoint, evaluate
from dse.studies.store import StudyRow
from dse.testing.builders import TINY, design_point


class FailingSimulator(Simulator):
    """Fails on pipelines only."""

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        if len(set(workload.native.trace_of_rank)) > 1:
            raise SimulationError("no algorithm for pipelines")
        return NativeSimulator().simulate(workload, system)


class RefusingSimulator(Simulator):
    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        raise InputError(f"{system.name} cannot run {workload.rank_count} ranks")


class FixedSimulator(Simulator):
    """Ranks 0 to 3 are of class 0, 4 to 7 of class 1, and so on."""

    def __init__(self, *classes: RankMetrics) -> None:
        self._classes = classes

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        del workload, system
        return Outcome("ok", self._classes, [rank // 4 for rank in range(16)])


def metrics(finish_ns: int, gpu_time_ns: int, peak_memory_bytes: int | None) -> RankMetrics:
    return RankMetrics(
        *(finish_ns, finish_ns, finish_ns - gpu_time_ns, gpu_time_ns, 0, 7, 0),
        *(1.5, 2.5, 3.5, 4.5),
        peak_memory_bytes,
    )


def _point(strategy: Strategy, simulator: Simulator | None = None) -> DesignPoint:
    return design_point(strategy, simulator=simulator or NativeSimulator())


POINTS = [
    _point(Strategy(dp=16)),
    _point(Strategy(dp=4, tp=4)),  # the known deadlock
    _point(Strategy(dp=4, tp=2, sp=2, activation_recompute=True)),
    _point(Strategy(dp=2)),  # 2 of 16 NPUs
    _point(Strategy(pp=16)),  # more stages than blocks
    _point(Strategy(dp=2, tp=2, sp=2, pp=2)),
    _point(Strategy(tp=4, pp=4), FailingSimulator()),
    _point(Strategy(dp=16), FailingSimulator()),
    _point(Strategy(dp=4, tp=2, sp=2, weight_sharded=True, activation_recompute=True)),
    design_point(Strategy(sp=16), model=dataclasses.replace(TINY, seq_len=500), divisibility="strict"),
    design_point(Strategy(sp=16), model=dataclasses.replace(TINY, seq_len=500)),
]
STATUSES = [
    *("ok", "deadlock", "ok", "infeasible", "infeasible", "ok", "failed", "ok", "ok", "infeasible", "ok"),
]


def _rows(executor: Executor, points: list[DesignPoint]) -> list[StudyRow]:
    rows = dict(executor.run(points))
    assert sorted(rows) == list(range(len(points)))
    return [rows[index] for index in range(len(points))]


class ExecutorContract:
    """Inherit it, and return the executor from `make`, or give a fixture `executor` of your own."""

    def make(self) -> Executor:
        raise NotImplementedError("make returns the executor")

    @pytest.fixture
    def executor(self) -> Executor:
        return self.make()

    def test_every_point_gives_one_row_with_its_index(self, executor: Executor) -> None:
        points = POINTS * 4
        got = list(executor.run(points))
        assert sorted(index for index, _ in got) == list(range(len(points)))
        for index, row in got:
            strategy = points[index].strategy
            assert (row.dp, row.tp, row.sp, row.pp) == (strategy.dp, strategy.tp, strategy.sp, strategy.pp)
            assert row.status == STATUSES[index % len(POINTS)]

    def test_rows_are_those_of_evaluating_the_points_one_by_one(self, executor: Executor) -> None:
        assert _rows(executor, POINTS) == [evaluate(point) for point in POINTS]

    def test_no_points_give_no_rows(self, executor: Executor) -> None:
        assert list(executor.run([])) == []

    def test_an_executor_can_run_again(self, executor: Executor) -> None:
        assert _rows(executor, POINTS[:2]) == _rows(executor, POINTS[:2])

    def test_a_recorded_point(self, executor: Executor) -> None:
        # tiny4_dp1_tp4_sp1_pp4_ar1_ws0__ring16__unaware of the reference: ranks finish apart, rank 0 last
        (row,) = _rows(executor, [_point(Strategy(tp=4, pp=4, activation_recompute=True))])
        assert (row.study, row.model, row.system, row.npus) == ("test", "tiny", "test", 16)
        assert (row.status, row.reason, row.fractional) == ("ok", "", False)
        assert (row.wall_time_ns, row.rank0_wall_time_ns) == (8_932_929, 8_932_929)
        assert (row.gpu_time_ns, row.comm_time_ns, row.exposed_comm_ns) == (721_040, 8_840_525, 8_211_889)
        assert row.compute_utilization_pct == pytest.approx(36.75, abs=0.0005)
        assert (row.peak_memory_bytes, row.rank0_peak_memory_bytes) == (88_080_384, 88_080_384)
        assert row.last_rank == 0

    def test_wall_time_and_peak_are_maxima_and_the_rest_is_of_the_last_rank_to_finish(
        self, executor: Executor
    ) -> None:
        simulator = FixedSimulator(
            *(metrics(100, 60, 900), metrics(300, 50, 400), metrics(300, 70, 500), metrics(200, 10, 950)),
        )
        (row,) = _rows(executor, [_point(Strategy(dp=16), simulator)])
        assert (row.wall_time_ns, row.peak_memory_bytes) == (300, 950)
        assert (row.gpu_time_ns, row.exposed_comm_ns) == (
            50,
            250,
        )  # rank 4, the lowest of those that end at 300
        assert (row.last_rank, row.rank_classes) == (4, 4)
        assert (row.rank0_wall_time_ns, row.rank0_peak_memory_bytes) == (100, 900)

    def test_without_memory_tracking_there_is_no_peak(self, executor: Executor) -> None:
        (row,) = _rows(executor, [_point(Strategy(dp=16), FixedSimulator(*[metrics(100, 60, None)] * 4))])
        assert row.status == "ok"
        assert (row.peak_memory_bytes, row.rank0_peak_memory_bytes) == (None, None)

    def test_the_known_deadlock_is_a_row_with_its_reason(self, executor: Executor) -> None:
        (row,) = _rows(executor, [_point(Strategy(dp=4, tp=4))])
        assert row.status == "deadlock"
        assert "ranks never finish; rank " in row.reason
        assert "waits for" in row.reason
        assert row.wall_time_ns is None
        assert row.peak_memory_bytes is None

    @pytest.mark.parametrize(
        ("point", "status", "reason"),
        [
            (
                POINTS[3],
                "infeasible",
                "strategy dp2 tp1 sp1 pp1 needs dp*tp*sp*pp = 2 NPUs, but system test has 16",
            ),
            (POINTS[4], "infeasible", "more pipeline stages (16) than blocks (6: 4 layers and 2 embeddings)"),
            (POINTS[6], "failed", "no algorithm for pipelines"),
            (
                POINTS[9],
                "infeasible",
                "sp 16 does not divide seq_len 500 (nearest multiples of 16: 496, 512)",
            ),
        ],
        ids=["other NPUs", "too many stages", "failed", "strict"],
    )
    def test_bad_points_are_rows_with_a_reason_and_without_figures(
        self, executor: Executor, point: DesignPoint, status: str, reason: str
    ) -> None:
        (row,) = _rows(executor, [point])
        assert row.status == status
        assert reason in row.reason
        assert row.wall_time_ns is None

    def test_sizes_that_do_not_divide_mark_the_row(self, executor: Executor) -> None:
        rows = _rows(executor, [POINTS[0], POINTS[10]])
        assert [row.fractional for row in rows] == [False, True]

    def test_wrong_input_propagates_and_stops(self, executor: Executor) -> None:
        drawn = 0

        def points() -> Iterator[DesignPoint]:
            nonlocal drawn
            for _ in range(5000):
                drawn += 1
                yield _point(Strategy(dp=16), RefusingSimulator())

        with pytest.raises(InputError, match="test cannot run 16 ranks"):
            list(executor.run(points()))
        assert 1 <= drawn < 500

    def test_points_are_drawn_lazily_from_an_endless_source(self, executor: Executor) -> None:
        drawn = 0

        def points() -> Iterator[DesignPoint]:
            nonlocal drawn
            for index in itertools.count():
                drawn += 1
                yield POINTS[(0, 2)[index % 2]]

        rows = executor.run(points())
        assert drawn == 0
        first = list(itertools.islice(rows, 10))
        assert all(row.status == "ok" for _, row in first)
        assert 10 <= drawn < 500
        rows.close()  # type: ignore[attr-defined]
        after_closing = drawn
        assert next(iter(executor.run([POINTS[0]])))[1].status == "ok"
        assert drawn == after_closing

    def test_an_error_of_the_source_of_points_propagates(self, executor: Executor) -> None:
        def points() -> Iterator[DesignPoint]:
            yield POINTS[0]
            raise InputError("space.dp is empty")

        with pytest.raises(InputError, match=r"space\.dp is empty"):
            list(executor.run(points()))
