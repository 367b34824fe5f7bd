"""Pipeline schedules as torch's CSV: a line a rank, a cell an action, as early as ranks can run them.

The form is that of `torch.distributed.pipelining` 2.13 (`_PipelineScheduleRuntime._load_csv`), which
torchtitan takes as `parallelism.pipeline_parallel_schedule_csv`. It adds messages between stages itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dse.base.errors import InputError
from dse.inputs.strategies.schedules import schedule_named
from dse.inputs.strategies.schedules.schedule import KINDS as PASSES
from dse.inputs.strategies.schedules.schedule import Position, Schedule, operations

FORWARD, BACKWARD, INPUT, WEIGHT = ("F", "B", "I", "W")
"""Forward pass, whole backward pass, gradient of the input, gradient of the weights."""


class Action(NamedTuple):
    """One pass of one micro-batch through one stage; stages are numbered in the order of the model."""

    stage: int
    kind: str
    micro_batch: int

    def __str__(self) -> str:
        """Return it as torch writes it."""
        return f"{self.stage}{self.kind}{self.micro_batch}"


def waits_for(action: Action, last: int, splits: bool) -> Iterator[Action]:
    """Yield what must end before an action, without the passes that only it would follow by chance.

    `last` is the last stage. `splits` tells that the stage behind has the gradient of its input apart.
    """
    stage, kind, batch = action
    if kind == FORWARD:
        if stage:
            yield Action(stage - 1, FORWARD, batch)
    elif kind == WEIGHT:
        yield Action(stage, INPUT, batch)
    else:
        yield Action(stage, FORWARD, batch)
        if stage < last:
            yield Action(stage + 1, INPUT if splits else BACKWARD, batch)


def ticks(
    lines: Sequence[Sequence[Action]], last: int
) -> tuple[list[list[int]], tuple[Action, Action] | None]:
    """Return the earliest tick of each action if every rank runs its own in order, a tick each.

    The second value is an action that can never run and the one that it waits for, None if all run.
    """
    split = {(one.stage, one.micro_batch) for line in lines for one in line if one.kind == INPUT}
    done: dict[Action, int] = {}
    found: list[list[int]] = [[] for _ in lines]
    waiting: dict[Action, list[int]] = {}
    ready = list(range(len(lines)))
    while ready:
        rank = ready.pop()
        line, own = lines[rank], found[rank]
        while len(own) < len(line):
            one = line[len(own)]
            needs = _needs(one, last, split)
            lacking = next((need for need in needs if need not in done), None)
            if lacking is not None:
                waiting.setdefault(lacking, []).append(rank)
                break
            own.append(max([done[need] for need in needs] + own[-1:], default=-1) + 1)
            done[one] = own[-1]
            ready += waiting.pop(one, [])
    stuck = [
        (need not in line, rank, line[len(own)], need)  # what the own line has comes before others
        for rank, (line, own) in enumerate(zip(lines, found, strict=True))
        if len(own) < len(line)
        for need in _needs(line[len(own)], last, split)
        if need not in done
    ]
    return found, min(stuck)[2:] if stuck else None


def _needs(action: Action, last: int, split: set[tuple[int, int]]) -> list[Action]:
    return list(waits_for(action, last, (action.stage + 1, action.micro_batch) in split))


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
        raise InputError(f"schedule={schedule_name} waits for ever: {stuck[0]} for {stuck[1]}")
    return "".join(f"{','.join(_spread(line, own))}\n" for line, own in zip(lines, found, strict=True))


def schedule_actions(schedule: Schedule, stages: int, chunks: int, micro_batches: int) -> list[list[Action]]:
    """Return what each rank runs, in its order."""
    kinds = dict(zip(PASSES, (FORWARD, INPUT if schedule.splits_backward else BACKWARD, WEIGHT), strict=True))
    part = {place: number for number, place in enumerate(schedule.positions(stages, chunks))}
    return [
        [Action(part[Position(rank, one.chunk)], kinds[one.kind], one.micro_batch) for one in line]
        for rank, line in enumerate(operations(schedule, stages, chunks, micro_batches))
    ]


def _spread(line: Sequence[Action], own: Sequence[int]) -> list[str]:
    """The texts of a line, with empty ones in idle ticks."""
    texts = [""] * (own[-1] + 1 if own else 0)
    for one, tick in zip(line, own, strict=True):
        texts[tick] = str(one)
    return texts
