"""The recurrence one operation after the other: for few stages, where arrays do not pay."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from dse.inputs.strategies.schedules.schedule import Schedule
from dse.prediction.steps.schedules.by_tick import layout
from dse.prediction.steps.schedules.times import Case, Marks, flat


class Sequence(NamedTuple):
    """All operations, each after what it needs; places count from 1, and 0 is none.

    `steps` are stage, place of what is needed, and kind, which numbers the combinations of kind, stage and
    chunk. `needs` and `kinds` are the same apart. `last_backwards` are the places of stages' last backward
    passes, `befores` of what runs before them, `lasts` of their last operations, `gradients` of those that
    complete the gradients of a chunk.
    """

    steps: list[tuple[int, int, int]]
    needs: list[int]
    kinds: list[int]
    last_backwards: list[int]
    befores: list[int]
    lasts: list[int]
    gradients: list[list[int]]


_MOST_KEPT = 16_384
"""Operations of a sequence that is kept for the next case: about 2 MB."""


def _sequence(schedule: Schedule, stages: int, chunks: int, micro_batches: int) -> Sequence:
    plan = layout(schedule, stages, chunks, micro_batches)
    cells = np.stack(plan.cells)
    used = np.sort(cells, axis=None)
    places = np.zeros(plan.needs.size + 1, np.int64)
    places[used] = np.arange(1, used.size + 1)
    needs, kind = places[plan.needs.reshape(-1)[used]].tolist(), plan.kinds.reshape(-1)[used].tolist()
    orders = np.sort(cells.swapaxes(0, 1).reshape(stages, -1), axis=1)
    last = cells[1].reshape(stages, -1).max(axis=1)
    before = [order[np.searchsorted(order, cell) - 1] for order, cell in zip(orders, last, strict=True)]
    return Sequence(
        steps=list(zip((used % stages).tolist(), needs, kind, strict=True)),
        needs=needs,
        kinds=kind,
        last_backwards=places[last].tolist(),
        befores=places[before].tolist(),
        lasts=places[orders[:, -1]].tolist(),
        gradients=places[cells[-1].max(axis=2)].tolist(),
    )


_kept_sequence = functools.lru_cache(maxsize=32)(_sequence)


def forget() -> None:
    """Forget the sequences of earlier cases, as a new process has."""
    _kept_sequence.cache_clear()


def evaluate(case: Case) -> Marks:
    """Return when the operations that matter start or end."""
    count = 3 * case.stages * case.chunks * case.micro_batches
    find = _kept_sequence if count <= _MOST_KEPT else _sequence
    sequence = find(case.schedule, case.stages, case.chunks, case.micro_batches)
    spent = flat(case.durations_s)
    if case.messages_queue:
        ends, arrivals = _run_queued(sequence, case.stages, spent, flat(case.delays_s), flat(case.silences))
        received = [0.0] * len(spent)
    else:
        received = flat(case.received_s)
        ends = arrivals = _run(sequence, case.stages, spent, received)
    return Marks(
        last_backward_starts=[
            max(ends[before], arrivals[sequence.needs[place - 1]] + received[sequence.kinds[place - 1]])
            for before, place in zip(sequence.befores, sequence.last_backwards, strict=True)
        ],
        gradients=[[ends[place] for place in places] for places in sequence.gradients],
        finishes=[ends[place] for place in sequence.lasts],
    )


def _run(sequence: Sequence, stages: int, spent: list[float], received: list[float]) -> list[float]:
    """Return when operations end, if no message waits for the one before it; the first entry is none."""
    free = [0.0] * stages
    ends = [-math.inf]
    add = ends.append
    for stage, need, kind in sequence.steps:
        start = free[stage]
        came = ends[need] + received[kind]
        if came > start:
            start = came
        free[stage] = end = start + spent[kind]
        add(end)
    return ends


def _run_queued(
    sequence: Sequence, stages: int, spent: list[float], delays: list[float], silences: list[float]
) -> tuple[list[float], list[float]]:
    """Return when operations end and messages arrive, where messages of a stage wait for each other."""
    free, links = [0.0] * stages, [0.0] * stages
    ends, arrivals = [-math.inf], [-math.inf]
    for stage, need, kind in sequence.steps:
        free[stage] = end = max(free[stage], arrivals[need]) + spent[kind]
        links[stage] = max(end + silences[kind], links[stage]) + delays[kind]
        ends.append(end)
        arrivals.append(links[stage])
    return ends, arrivals
