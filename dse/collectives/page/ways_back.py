"""Why a schedule takes as long as it does: who gets what last, and the chain of sends before it."""

from __future__ import annotations

from typing import NamedTuple

from dse.base.lazy import NDArray, np
from dse.collectives.problem.recorded_sends import positions
from dse.collectives.problem.schedule import Schedule


class Arrivals(NamedTuple):
    """When each NPU has each chunk that it wants and has not at first, latest first."""

    npu: NDArray[np.int64]
    chunk: NDArray[np.int64]
    at_ps: NDArray[np.int64]


def arrivals(schedule: Schedule) -> Arrivals:
    """Return the arrivals that the collective asks for: the first one, of a sum the last one."""
    problem = schedule.problem
    chunks = max(problem.collective.chunks, 1)
    places = problem.graph.destinations[schedule.link].astype(np.int64) * chunks + schedule.chunk
    sign = -1 if problem.collective.is_reducing else 1
    order = np.lexsort((sign * schedule.end_ps, places))
    places, ends = places[order], schedule.end_ps[order]
    npus, wanted = problem.collective.wants()
    found, is_there = positions(places, npus.astype(np.int64) * chunks + wanted)
    npus, wanted, at = npus[is_there], wanted[is_there], ends[found[is_there]]
    latest = np.lexsort((wanted, npus, -at))
    return Arrivals(npus[latest].astype(np.int64), wanted[latest].astype(np.int64), at[latest])


def critical_path(schedule: Schedule) -> list[int]:
    """Return the sends, first one first, of which each waits for the one before; the last arrives last.

    A send waits for its link or for its chunk, whichever is later; where it could start earlier than it does,
    the chain goes on through the later of the two.
    """
    if not len(schedule):
        return []
    graph = schedule.problem.graph
    chunks = max(schedule.problem.collective.chunks, 1)
    sources = graph.sources[schedule.link].astype(np.int64) * chunks + schedule.chunk
    targets = graph.destinations[schedule.link].astype(np.int64) * chunks + schedule.chunk
    free_ps = schedule.start_ps + schedule.problem.held_ps[schedule.link]
    send = int(np.argmax(schedule.end_ps))
    path = [send]
    while True:
        start = schedule.start_ps[send]
        same_link = np.flatnonzero((schedule.link == schedule.link[send]) & (schedule.start_ps < start))
        brought = np.flatnonzero((targets == sources[send]) & (schedule.end_ps <= start))
        if not schedule.problem.collective.is_reducing and len(brought):
            brought = brought[[int(np.argmin(schedule.end_ps[brought]))]]
        options = [(int(free_ps[other]), int(other)) for other in same_link[-1:]]
        if len(brought):
            latest = int(brought[np.argmax(schedule.end_ps[brought])])
            options.append((int(schedule.end_ps[latest]), latest))
        if not options:
            return path[::-1]
        send = max(options)[1]
        path.append(send)
