"""Schedules played again with other durations: each link keeps its order, each send waits for its chunk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from dse.base.lazy import NDArray, _engine, np
from dse.collectives.problem.schedule import Schedule

_Table: TypeAlias = "NDArray[np.int64] | None"  # durations, a column per draw


class Critical(NamedTuple):
    """The links that decide the time of each draw: per link, what it adds to the critical paths of all draws.

    `draws` counts paths that use the link, `arrivals` steps over it that end with an arrival, `waits` steps
    that end when it is free again, `path_ps` is the time of both. `times_ps` has an entry per draw.
    """

    times_ps: NDArray[np.int64]
    draws: NDArray[np.int64]
    arrivals: NDArray[np.int64]
    waits: NDArray[np.int64]
    path_ps: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Replay:
    """A schedule as a recursion over max and plus.

    A send starts when the one before on its link lets it free and its chunk is there: what brought it first
    in the schedule, or, of sums and where switches cannot copy, all that had arrived. Durations are int64
    arrays of shape (links, draws) or, with `per_send`, (sends, draws) in the order of the schedule.

    Raises:
        InputError: a send of the schedule leaves before its chunk is there.
    """

    schedule: Schedule

    @cached_property
    def native(self) -> _engine.CollectiveReplay:
        """The steps of the recursion, in the engine."""
        schedule, graph = self.schedule, self.schedule.problem.graph
        collective = schedule.problem.collective
        npus, chunks = collective.holdings()
        return _engine.CollectiveReplay(
            len(graph),
            collective.chunks,
            (graph.sources[schedule.link], graph.destinations[schedule.link]),
            (schedule.link, schedule.chunk),
            (schedule.start_ps, schedule.end_ps),
            np.sort(npus.astype(np.int64) * collective.chunks + chunks),
            collective.is_reducing or bool(graph.cannot_copy),
        )

    def times_ps(
        self, arrival_ps: _Table = None, held_ps: _Table = None, *, per_send: bool = False
    ) -> NDArray[np.int64]:
        """Return the time of each draw; without durations, of the nominal ones: at most the schedule's."""
        return self.native.times_ps(*self._durations(arrival_ps, held_ps, per_send=per_send), per_send)

    def critical(
        self, arrival_ps: _Table = None, held_ps: _Table = None, *, per_send: bool = False
    ) -> Critical:
        """Return the time of each draw, and which links it comes from."""
        durations = self._durations(arrival_ps, held_ps, per_send=per_send)
        return Critical(*self.native.critical(*durations, per_send))

    def starts_ps(
        self, arrival_ps: _Table = None, held_ps: _Table = None, *, per_send: bool = False
    ) -> NDArray[np.int64]:
        """Return when each send starts under the first draw, in the order of the schedule."""
        return self.native.starts_ps(*self._durations(arrival_ps, held_ps, per_send=per_send), per_send)

    def _durations(
        self, arrival_ps: _Table, held_ps: _Table, *, per_send: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        """As the engine takes them: no second table where links are held until arrival."""
        problem = self.schedule.problem
        if arrival_ps is None:
            rows = self.schedule.link if per_send else np.arange(len(problem.graph))
            arrival_ps, held_ps = problem.arrival_ps[rows, None], problem.held_ps[rows, None]
        rows_wanted = len(self.schedule) if per_send else len(problem.graph)
        if arrival_ps.ndim != 2 or len(arrival_ps) != rows_wanted or arrival_ps.dtype != np.int64:
            got = f"{arrival_ps.dtype} of shape {arrival_ps.shape}"
            raise ValueError(f"durations are {got}; int64 of shape ({rows_wanted}, draws) are needed")
        if problem.model.occupancy == "total" and not problem.cuts_through:
            return np.ascontiguousarray(arrival_ps), None
        if held_ps is None or held_ps.shape != arrival_ps.shape:
            raise ValueError("links are free again before the arrival: give `held_ps`, of the same shape")
        return np.ascontiguousarray(arrival_ps), np.ascontiguousarray(held_ps)


def compacted(schedule: Schedule) -> Schedule:
    """Return the schedule with every send as early as its link's order and its chunk allow.

    Where that would let a sum arrive before a send that was not to carry it, the schedule as it was.
    """
    if not len(schedule):
        return schedule
    starts = Replay(schedule).starts_ps()
    if schedule.problem.collective.is_reducing and _mixes_sums(schedule, starts):
        return schedule
    return Schedule.of(schedule.problem, schedule.link, schedule.chunk, starts, schedule.reduce)


def _mixes_sums(schedule: Schedule, starts: NDArray[np.int64]) -> bool:
    """Whether some send starts with another number of arrivals of its chunk than in the schedule."""
    graph, chunks = schedule.problem.graph, schedule.problem.collective.chunks
    arrival_ps = schedule.problem.arrival_ps[schedule.link]
    places = [ends[schedule.link].astype(np.int64) * chunks for ends in (graph.sources, graph.destinations)]
    leaves, enters = (place + schedule.chunk for place in places)

    def counts(start: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many arrivals each send has before it, from ranks among all events of its place."""
        place = np.concatenate((enters, leaves))
        time = np.concatenate((start + arrival_ps, start))
        is_send = np.repeat([False, True], len(start))
        order = np.lexsort((is_send, time, place))
        so_far = np.cumsum(~is_send[order])
        counted = np.empty(len(order), dtype=np.int64)
        counted[order] = so_far
        return counted[len(start) :]

    return not np.array_equal(counts(schedule.start_ps), counts(starts))
