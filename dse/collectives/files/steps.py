"""The sends that every send waits for at its two ends: the order of reads and writes of a chunk at a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dse.collectives.problem.schedule import Schedule


class Step(NamedTuple):
    """A send leaves its source, or arrives at its destination (`arrives`).

    `written_by` is the last send that brought the chunk to that node before, None if none did. `read_by` are
    the sends that have left with it since then.
    """

    send: int
    arrives: bool
    written_by: int | None
    read_by: tuple[int, ...]


def ordered_steps(schedule: Schedule) -> Iterator[Step]:
    """Yield both steps of every send in order of time; at one time what arrives comes first."""
    import numpy as np

    count, graph = len(schedule), schedule.problem.graph
    starts, ends = schedule.start_ps, schedule.end_ps
    times = np.concatenate([starts, ends])
    phases = np.concatenate([np.ones(count, dtype=np.int8), np.where(ends > starts, 0, 2)])
    places = np.concatenate([graph.sources[schedule.link], graph.destinations[schedule.link]]).astype(
        np.int64
    )
    places = places * max(schedule.problem.collective.chunks, 1) + np.tile(schedule.chunk, 2)
    order = np.lexsort((np.arange(2 * count), phases, times)).tolist()
    place_of = places.tolist()
    written: dict[int, int] = {}
    read: dict[int, list[int]] = {}
    for event in order:
        arrives, place = event >= count, place_of[event]
        send = event - count if arrives else event
        if arrives:
            yield Step(send, True, written.get(place), tuple(read.pop(place, ())))
            written[place] = send
        else:
            yield Step(send, False, written.get(place), ())
            read.setdefault(place, []).append(send)
