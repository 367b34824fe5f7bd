"""The operations of each stage of a pipeline in its order, by the timetable of a schedule."""

from __future__ import annotations

from typing import NamedTuple

from dse.inputs.strategies.schedules.schedule import KINDS, Schedule

FORWARD, BACKWARD, WEIGHT = KINDS


class Operation(NamedTuple):
    """One pass of one micro-batch through one chunk."""

    kind: str
    chunk: int
    micro_batch: int


def operations(schedule: Schedule, stages: int, chunks: int, micro_batches: int) -> list[list[Operation]]:
    """Return what each stage runs, in its order."""
    timetable = schedule.timetable(stages, chunks, micro_batches)
    placed: list[list[tuple[int, Operation]]] = [[] for _ in range(stages)]
    for kind, ticks in zip(KINDS, timetable, strict=True):
        if ticks is None:
            continue
        for stage in range(stages):
            placed[stage] += [
                (int(ticks[stage, chunk, batch]), Operation(kind, chunk, batch))
                for chunk in range(chunks)
                for batch in range(micro_batches)
            ]
    return [[operation for _, operation in sorted(place)] for place in placed]
