"""The operations of each stage of a pipeline in its order, by the timetable of a schedule."""

from __future__ import annotations

from collections.abc import Sequence
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


def replicated_operations(
    schedule: Schedule, replicas: Sequence[int], chunks: int, micro_batches: int
) -> list[list[list[Operation]]]:
    """Return what each replica of each stage runs, in its order, where they take micro-batches in turn.

    Micro-batch m goes to replica m mod r of a stage with r. A stage runs as the first of as many stages as it
    takes to keep all later ones busy: ceil(replicas from here on / own replicas), as PipeDream starts.
    Narayanan et al. 2019, https://arxiv.org/abs/1806.03377, section 3.2.
    """
    if max(replicas) == 1:
        return [[order] for order in operations(schedule, len(replicas), chunks, micro_batches)]
    found = []
    for stage, count in enumerate(replicas):
        depth = -(-sum(replicas[stage:]) // count)
        first = operations(schedule, depth, chunks, micro_batches // count)[0]
        found.append(
            [
                [one._replace(micro_batch=one.micro_batch * count + replica) for one in first]
                for replica in range(count)
            ]
        )
    return found
