"""Pipeline schedules as torch's CSV: a line a rank, a cell an action; written, read and judged.

The form is that of `torch.distributed.pipelining` 2.13 (`_PipelineScheduleRuntime._load_csv`), which
torchtitan takes as `parallelism.pipeline_parallel_schedule_csv`. It adds messages between stages itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from dse.base.errors import InputError
from dse.base.texts import counted, excerpt
from dse.inputs.strategies.schedules import schedule_named
from dse.inputs.strategies.schedules.operations import operations
from dse.inputs.strategies.schedules.schedule import KINDS as PASSES
from dse.inputs.strategies.schedules.schedule import Position, Schedule
from dse.prediction.frameworks.writing.actions import (
    BACKWARD,
    FORWARD,
    INPUT,
    WEIGHT,
    Action,
    Cell,
    Spot,
    Stuck,
    parsed,
    ticks,
)

_MOST_CELLS = 4_000_000


def schedule_csv(schedule_name: str, stages: int, chunks: int, micro_batches: int) -> str:
    """Return a schedule of `stages` ranks with `chunks` stages of the model each, as torch reads it.

    Cells are ticks of equal passes, as early as the order of each rank allows; an empty cell is idle.

    Raises:
        InputError: the schedule is unknown, or cannot run so many.
    """
    schedule = schedule_named(schedule_name)
    if problem := schedule.problem(stages, chunks, micro_batches):
        raise InputError(problem)
    lines = schedule_actions(schedule, stages, chunks, micro_batches)
    found, stuck = ticks(lines, stages * chunks - 1)
    if stuck is not None:
        raise InputError(f"schedule={schedule_name} waits for ever: {stuck.action} for {stuck.waits_for}")
    return "".join(f"{','.join(_spread(line, own))}\n" for line, own in zip(lines, found, strict=True))


def schedule_actions(schedule: Schedule, stages: int, chunks: int, micro_batches: int) -> list[list[Cell]]:
    """Return what each rank runs, in its order, an action a cell."""
    kinds = dict(zip(PASSES, (FORWARD, INPUT if schedule.splits_backward else BACKWARD, WEIGHT), strict=True))
    part = {place: number for number, place in enumerate(schedule.positions(stages, chunks))}
    return [
        [(Action(part[Position(rank, one.chunk)], kinds[one.kind], one.micro_batch),) for one in line]
        for rank, line in enumerate(operations(schedule, stages, chunks, micro_batches))
    ]


def read_schedule_csv(
    text: str, schedule_name: str, stages: int, chunks: int, micro_batches: int, where: str = "schedule CSV"
) -> list[list[Cell]]:
    """Return the actions of each rank, tick by tick, from a file of passes.

    `schedule_name` tells only the placement: stage v * `stages` + r of the model on rank r, or a V. The
    gradients of the input and of the weights, I and W, may stand in place of B.

    Raises:
        InputError: torch would refuse the file, wait for ever, or run a stage on a rank that lacks it. Names
            line and cell, both counted from 1.
    """
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    if len(lines) != stages:
        raise InputError(
            f"{where}: has {counted(len(lines), 'line')}; it must have {stages}, one a rank in the order "
            "of ranks"
        )
    if text.count(",") + stages > _MOST_CELLS:
        raise InputError(f"{where}: has more than {_MOST_CELLS:,} cells")
    judge = _Judge(where, schedule_named(schedule_name), stages, chunks, micro_batches)
    cells = [judge.line(rank, line) for rank, line in enumerate(lines)]
    judge.complete()
    _, stuck = ticks(cells, stages * chunks - 1)
    if stuck is not None:
        raise judge.waits_for_ever(stuck)
    return cells


class _Judge:
    """Checks cells as they are read; what it has seen tells what is missing."""

    def __init__(self, where: str, schedule: Schedule, stages: int, chunks: int, micro_batches: int) -> None:
        self.where, self.micro_batches = where, micro_batches
        places = schedule.positions(stages, chunks)
        self.rank_of = [place.stage for place in places]
        self.placement = "a V" if schedule.is_v_shaped else "a loop"
        self.seen: dict[Action, Spot] = {}

    def line(self, rank: int, text: str) -> list[Cell]:
        return [
            self._cell(Spot(rank, number), cell) for number, cell in enumerate(text.rstrip("\r").split(","))
        ]

    def _cell(self, spot: Spot, text: str) -> Cell:
        try:
            actions = parsed(text)
        except ValueError as error:
            raise self._error(spot, f"'{excerpt(text.strip())}' is no action: {error}") from None
        for one in actions:
            self._check(spot, one)
            self.seen[one] = spot
        return actions

    def _check(self, spot: Spot, one: Action) -> None:
        parts = len(self.rank_of)
        if one.stage >= parts:
            raise self._error(spot, f"{one} is of stage {one.stage}; stages are 0 to {parts - 1}")
        if one.micro_batch >= self.micro_batches:
            raise self._error(
                spot, f"{one} is of micro-batch {one.micro_batch}; they are 0 to {self.micro_batches - 1}"
            )
        if self.rank_of[one.stage] != spot.rank:
            held = ", ".join(str(part) for part, rank in enumerate(self.rank_of) if rank == spot.rank)
            raise self._error(
                spot,
                f"{one} is of stage {one.stage}, which line {self.rank_of[one.stage] + 1} runs; with "
                f"{self.placement} this line has stages {held}",
            )
        if one in self.seen:
            raise self._error(spot, f"{one} is in cell {self.seen[one].cell + 1} already")
        others = (INPUT, WEIGHT) if one.kind == BACKWARD else (BACKWARD,) if one.kind != FORWARD else ()
        for kind in others:
            if one._replace(kind=kind) in self.seen:
                raise self._error(
                    spot, f"{one} repeats {one._replace(kind=kind)}: B is I and W together; write B, or both"
                )
        for kind in _BEFORE[one.kind]:
            if one._replace(kind=kind) not in self.seen:
                raise self._error(spot, f"{one} comes before {one._replace(kind=kind)}")

    def complete(self) -> None:
        """Check that every stage runs every micro-batch forward and backward."""
        for stage, rank in enumerate(self.rank_of):
            for batch in range(self.micro_batches):
                forward, *rest = (Action(stage, kind, batch) for kind in (FORWARD, BACKWARD, INPUT, WEIGHT))
                backward, of_input, of_weights = (one in self.seen for one in rest)
                lacking = ""
                if forward not in self.seen:
                    lacking = str(forward)
                elif not backward and not of_input:
                    lacking = f"{rest[0]}, or {rest[1]} and {rest[2]}"
                elif not backward and not of_weights:
                    lacking = f"{rest[2]} to {rest[1]}"
                if lacking:
                    raise InputError(f"{self.where}, line {rank + 1}: lacks {lacking}")

    def waits_for_ever(self, stuck: Stuck) -> InputError:
        need = self.seen.get(stuck.waits_for)
        place = f" in line {need.rank + 1}, cell {need.cell + 1}" if need else ""
        return self._error(
            stuck.spot,
            f"{stuck.action} waits for {stuck.waits_for}{place}, which waits for this line: a deadlock",
        )

    def _error(self, spot: Spot, says: str) -> InputError:
        return InputError(f"{self.where}, line {spot.rank + 1}, cell {spot.cell + 1}: {says}")


_BEFORE = {FORWARD: (), BACKWARD: (FORWARD,), INPUT: (FORWARD,), WEIGHT: (INPUT,)}
"""Passes of the same stage and micro-batch that stand further left."""


def _spread(line: Sequence[Cell], own: Sequence[int]) -> list[str]:
    """The texts of a line, with empty ones in idle ticks."""
    texts = [""] * (own[-1] + 1 if own else 0)
    for cell, tick in zip(line, own, strict=True):
        texts[tick] = str(cell[0])
    return texts
