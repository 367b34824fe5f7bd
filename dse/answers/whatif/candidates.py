"""The strategies of one model on one system, and which of them wins when a number of the system changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from dse.answers.selection import RANKING_COLUMNS
from dse.answers.whatif.parameters import Parameter
from dse.base.errors import InputError
from dse.base.lazy import pa, pc
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Divisibility, Strategy
from dse.inputs.strategies.columns import Strategies
from dse.simulation.workloads import Workload, WorkloadGenerator
from dse.studies.points import DesignPoint, Scenario, evaluate, point_of_row, strategy_of_row
from dse.studies.points.blocks import PointBlock
from dse.studies.points.evaluate import evaluate_block
from dse.studies.store import Rows, StudyRow, as_rows

_KEPT_WORKLOADS = 256  # about 1 MB each at the size of the lab's models
_SCENARIO = ("model_spec", "system_spec", "options")
_MAY_FINISH = ("ok", "deadlock")  # whatever the system's numbers, an infeasible strategy stays infeasible


class KeepingGenerator(WorkloadGenerator):
    """Keeps more workloads than a process does: the same strategies are simulated again and again."""

    def __init__(self, inner: WorkloadGenerator) -> None:
        self._inner = inner
        self._kept: dict[tuple[ModelSpec, Strategy, Divisibility], Workload] = {}

    def generate(self, model: ModelSpec, strategy: Strategy, divisibility: Divisibility) -> Workload:
        """See `WorkloadGenerator.generate`."""
        inputs = (model, strategy, divisibility)
        workload = self._kept.get(inputs)
        if workload is None:
            workload = self._inner.generate(model, strategy, divisibility)
            if len(self._kept) < _KEPT_WORKLOADS:  # going round more of them, replacing would keep none
                self._kept[inputs] = workload
        return workload

    def identity(self) -> Mapping[str, str]:
        """The identity of the generator inside: keys do not change."""
        return self._inner.identity()


class Candidates:
    """The strategies that compete: those of all rows with the model, system and options of one row.

    `winner` is the fastest of them that fits under the cap, in the order of `ranking`. Everything that is
    evaluated is kept, so that asking twice costs nothing. Where the method of the points compares a few
    strategies only, the fastest compete; `note` says so.
    """

    def __init__(self, rows: Rows, one: StudyRow, memory_cap_bytes: int | None = None) -> None:
        """Take the rows that have the inputs of the row `one`, besides its strategy.

        Raises:
            InputError: as `point_of_row`; or no row is ok and fits under the cap.
        """
        self.memory_cap_bytes = memory_cap_bytes
        scenario = point_of_row(one).scenario
        self.scenario = dataclasses.replace(scenario, generator=KeepingGenerator(scenario.generator))
        same = _rows_like(rows, one)
        self.note = ""
        if scenario.method.most_compared is not None:
            same = self._nearest(same, one, scenario.method.most_compared)
        self.rows = {strategy_of_row(row): row for row in same if row.status in _MAY_FINISH}
        winner = first_of([row for row in self.rows.values() if fits(row, memory_cap_bytes)])
        if winner is None:
            raise InputError(_nothing_wins(self.rows.values(), one, memory_cap_bytes))
        self.winner = winner
        # What was evaluated at other values, by parameter: value -> strategy -> row.
        self._evaluated: dict[str, dict[float, dict[Strategy, StudyRow]]] = {}
        self._scenarios: dict[tuple[str, float], Scenario] = {}

    def _nearest(self, rows: list[StudyRow], one: StudyRow, most: int) -> list[StudyRow]:
        """The fastest rows that fit, and the fastest of all, at most so many of each."""
        finished = sorted([row for row in rows if fits(row, None)], key=_order)
        fitting = [row for row in finished if fits(row, self.memory_cap_bytes)]
        kept = {row.key: row for row in (one, *fitting[:most], *finished[:most])}
        if len(kept) < len(finished):
            self.note = f"among the {most} fastest of {len(finished)} strategies, and of those that fit"
        return list(kept.values())

    def row_at(self, parameter: Parameter, value: float, strategy: Strategy) -> StudyRow:
        """Return the row of a strategy at another value of a parameter."""
        if value == parameter.value:
            return self.rows[strategy]
        rows = self._evaluated.setdefault(parameter.key, {}).setdefault(value, {})
        if strategy not in rows:
            rows[strategy] = evaluate(DesignPoint(self._at(parameter, value), strategy))
        return rows[strategy]

    def _at(self, parameter: Parameter, value: float) -> Scenario:
        scenario = self._scenarios.get((parameter.key, value))
        if scenario is None:
            scenario = self._scenarios[parameter.key, value] = parameter.applied_to(self.scenario, value)
        return scenario

    def _evaluate_as_one(self, parameter: Parameter, value: float, strategies: Sequence[Strategy]) -> None:
        """Evaluate strategies at another value as a block, where that takes far less time than one by one."""
        rows = self._evaluated.setdefault(parameter.key, {}).setdefault(value, {})
        missing = [strategy for strategy in strategies if strategy not in rows]
        if value != parameter.value and len(missing) > 1:
            block = PointBlock(self._at(parameter, value), Strategies.of(missing))
            rows.update(zip(missing, as_rows(evaluate_block(block)), strict=False))  # a block may end early

    def winner_at(
        self, parameter: Parameter, value: float, among: Iterable[Strategy] = ()
    ) -> StudyRow | None:
        """Return the row that wins at another value, among some strategies or all; None if nothing fits.

        Exactly as if all of them were evaluated: one is skipped only if the time in which it computes, a
        lower bound of its wall time, is above the best wall time so far.
        """
        some = list(among) or list(self.rows)
        bounds = {strategy: self._bound(parameter, value, strategy) for strategy in some}
        present = strategy_of_row(self.winner)
        some.sort(key=lambda strategy: (strategy != present, bounds[strategy]))
        winner: StudyRow | None = None
        if self.scenario.in_blocks:
            row = self.row_at(parameter, value, some[0])
            most = row.wall_time_ns if fits(row, self.memory_cap_bytes) else None
            rest = [strategy for strategy in some[1:] if most is None or bounds[strategy] <= most]
            self._evaluate_as_one(parameter, value, rest)
        for strategy in some:
            if winner is not None and bounds[strategy] > (winner.wall_time_ns or 0):
                continue
            row = self.row_at(parameter, value, strategy)
            if fits(row, self.memory_cap_bytes):
                winner = row if winner is None else first_of([winner, row])
        return winner

    def _bound(self, parameter: Parameter, value: float, strategy: Strategy) -> int:
        """A lower bound of the wall time: a rank runs one computation at a time.

        Compute times do not depend on the network, and fall as a rate of the NPU rises: what was measured at
        a higher value is a bound at this one.
        """
        known = [self.rows[strategy]] if not parameter.computes or value <= parameter.value else []
        for other, rows in self._evaluated.get(parameter.key, {}).items():
            if strategy in rows and (not parameter.computes or value <= other):
                known.append(rows[strategy])
        return max((row.gpu_time_ns or 0 for row in known), default=0)


def _rows_like(rows: Rows, one: StudyRow) -> list[StudyRow]:
    """The whole rows with the inputs of one of them."""
    if isinstance(rows, pa.Table):
        rows = as_rows(_like(rows, one))
    return [row for row in rows if all(getattr(row, name) == getattr(one, name) for name in _SCENARIO)]


def _like(table: pa.Table, one: StudyRow) -> pa.Table:
    for name in _SCENARIO:
        table = table.filter(pc.equal(table[name], getattr(one, name)))
    return table


def fits(row: StudyRow, memory_cap_bytes: int | None) -> bool:
    """Whether a row is ok and its peak memory is known to be within the cap, if there is one."""
    if row.status != "ok" or row.wall_time_ns is None:
        return False
    peak = row.peak_memory_bytes
    return memory_cap_bytes is None or (peak is not None and peak <= memory_cap_bytes)


def first_of(rows: Sequence[StudyRow]) -> StudyRow | None:
    """Return the best row in the order of `ranking`, the first of equal ones; None of none."""
    return min(rows, key=_order, default=None)


def _order(row: StudyRow) -> tuple[object, ...]:
    """The order of `ranking`, nulls last."""
    values = [getattr(row, name) for name in RANKING_COLUMNS]
    return tuple((value is None, value) for value in values)


def _nothing_wins(rows: Iterable[StudyRow], one: StudyRow, cap: int | None) -> str:
    finished = [row for row in rows if row.status == "ok"]
    where = f"of {one.model} on {one.system}"
    if cap is None or not finished:
        return f"no point {where} is ok"
    peaks = [row.peak_memory_bytes for row in finished if row.peak_memory_bytes is not None]
    if not peaks:
        return (
            f"a memory cap needs peak memories, and no point {where} has one: "
            "turn on track_local_memory in the system and sweep again, or ask without a cap"
        )
    return f"nothing {where} fits under {cap} bytes: the smallest peak memory is {min(peaks)} bytes"
