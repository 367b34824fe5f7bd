"""The recurrence on arrays, all stages of a tick at once: for many stages."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.inputs.strategies.schedules.schedule import KINDS, Schedule
from dse.prediction.steps.schedules.times import Case, Marks, flat

Times = NDArray[np.float64]
_Cells = NDArray[np.intp]


class Layout(NamedTuple):
    """Where operations stand in an array of ticks x stages, and where what they need stands.

    `cells` are for each kind of operation the flat places of stages x chunks x micro-batches. `needs` has for
    each place the flat place of the operation whose message it waits for; the place after the last if none.
    `kinds` numbers combinations of kind, stage and chunk in this order, and ends with what is no operation.
    """

    ticks: int
    cells: tuple[_Cells, ...]
    needs: _Cells
    kinds: _Cells


def layout(schedule: Schedule, stages: int, chunks: int, micro_batches: int) -> Layout:
    """Return the layout, which the times of operations have no part in."""
    timetable = schedule.timetable(stages, chunks, micro_batches)
    stage = np.arange(stages).reshape(-1, 1, 1)
    cells = tuple(
        np.broadcast_to(ticks * stages + stage, (stages, chunks, micro_batches)).astype(np.intp)
        for ticks in timetable
        if ticks is not None
    )
    ticks = 1 + int(max(place.max() for place in cells)) // stages
    needs = np.full(ticks * stages, ticks * stages, np.intp)
    for kind, source, destination, _ in schedule.messages(stages, chunks):
        places = cells[KINDS.index(kind)]
        needs[places[destination]] = places[source]
    kinds = np.full(needs.size, len(cells) * stages * chunks, np.intp)
    for number, places in enumerate(cells):
        kinds[places] = np.arange(stages * chunks).reshape(stages, chunks, 1) + number * stages * chunks
    return Layout(ticks, cells, needs.reshape(ticks, stages), kinds.reshape(ticks, stages))


_kept_layout = functools.lru_cache(maxsize=4)(layout)  # some 15 MB for 64 stages x 512 x 8 chunks


def forget() -> None:
    """Forget the layouts of earlier cases, as a new process has."""
    _kept_layout.cache_clear()


def evaluate(cases: Sequence[Case]) -> list[Marks]:
    """Return when the operations that matter start or end; cases that differ in their messages only."""
    first = cases[0]
    plan = _kept_layout(first.schedule, first.stages, first.chunks, first.micro_batches)
    columns = len(cases) * first.stages
    # The places of each case in an array of ticks x cases x stages.
    needs = np.concatenate(
        [
            plan.needs // first.stages * columns + plan.needs % first.stages + number * first.stages
            for number in range(len(cases))
        ],
        axis=1,
    )
    np.minimum(needs, plan.ticks * columns, out=needs)

    def spread(name: str, other: float) -> Times:
        """Give every operation the value of its kind, stage and chunk; other places have `other`."""
        values = [
            np.array([*flat(getattr(case, name), len(plan.cells)), other]).take(plan.kinds) for case in cases
        ]
        return values[0] if len(values) == 1 else np.concatenate(values, axis=1)

    spent, delay = spread("durations_s", 0.0), spread("delays_s", 0.0)
    if any(case.messages_queue for case in cases):
        ends, arrivals = _run_queued(needs, spent, delay, spread("silences", -np.inf))
    else:
        ends, arrivals = _run(needs, spent, delay)
    last = plan.cells[1].reshape(first.stages, -1).max(axis=1)
    ticks, stages = np.divmod(last, first.stages)
    return [
        _marks(plan, ends[:, own], arrivals[needs[:, own][ticks, stages]], last)
        for own in (slice(place, place + first.stages) for place in range(0, columns, first.stages))
    ]


def _marks(plan: Layout, ends: Times, arrivals: Times, last: _Cells) -> Marks:
    """Return the marks of one case; `arrivals` is when the `last` backwards have what they need."""
    ticks, stages = np.divmod(last, ends.shape[1])
    free = np.where(ticks > 0, ends[ticks - 1, stages], 0.0)
    gradients = np.divmod(plan.cells[-1].max(axis=2), ends.shape[1])
    return Marks(
        last_backward_starts=np.maximum(free, arrivals).tolist(),
        gradients=ends[gradients].tolist(),
        finishes=ends[-1].tolist(),
    )


def _run(needs: _Cells, spent: Times, delay: Times) -> tuple[Times, Times]:
    """Return when operations end and their messages arrive, if no message waits for the one before it."""
    ends = np.empty_like(spent)
    known = np.full(spent.size + 1, -np.inf)
    arrivals = known[:-1].reshape(spent.shape)
    free = np.zeros(spent.shape[1])
    came = np.empty_like(free)
    for need, time, sending, end, arrival in zip(needs, spent, delay, ends, arrivals, strict=True):
        known.take(need, out=came, mode="clip")
        np.maximum(came, free, out=came)
        np.add(came, time, out=end)
        np.add(end, sending, out=arrival)
        free = end
    return ends, known


def _run_queued(needs: _Cells, spent: Times, delay: Times, silent: Times) -> tuple[Times, Times]:
    """Return the same where messages of a stage wait for each other; `silent` is -inf where it sends none."""
    ends = np.empty_like(spent)
    known = np.full(spent.size + 1, -np.inf)
    arrivals = known[:-1].reshape(spent.shape)
    free, link_free = np.zeros(spent.shape[1]), np.zeros(spent.shape[1])
    came = np.empty_like(free)
    rows = zip(needs, spent, delay, silent, ends, arrivals, strict=True)
    for need, time, sending, quiet, end, arrival in rows:
        known.take(need, out=came, mode="clip")
        np.maximum(came, free, out=came)
        np.add(came, time, out=end)
        np.add(end, quiet, out=arrival)
        np.maximum(arrival, link_free, out=arrival)
        arrival += sending
        free, link_free = end, arrival
    return ends, known
