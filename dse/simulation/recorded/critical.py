"""The critical path of a replay: the nodes that decide when it ends, and what their time consists of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dse.base.errors import InputError
from dse.base.lazy import NDArray, _engine
from dse.simulation.recorded.classes import class_name, classes_of
from dse.simulation.recorded.replay import Replay
from dse.simulation.recorded.step import NodeKind, RecordedStep
from dse.simulation.recorded.times import is_communication, times_of


@dataclass(frozen=True, eq=False)
class CriticalPath:
    """A path through a replay, from its start to its end; the parts of its time add up to `total_ns`.

    `nodes` are in the order of time. Each adds its gap, its wait for other ranks and its duration as far as
    they lie on the path. `work_ns` are the durations by class (`classes`), of work and of `communication`.
    """

    nodes: NDArray[np.int64]
    work_ns: Mapping[str, int]
    rank_ns: Mapping[int, int]
    communication_ns: int
    gap_ns: int
    waiting_ns: int

    @property
    def total_ns(self) -> int:
        """The end of the path."""
        return sum(self.work_ns.values()) + self.communication_ns + self.gap_ns + self.waiting_ns


def critical_path(replay: Replay, rank: int | None = None) -> CriticalPath:
    """Return what decides when a replay ends, or when one of its ranks does.

    Without `rank`, where nodes wait for other ranks, the path goes on with the last of these, so that there
    is no waiting on it. With `rank`, it stays on that rank, and its waiting is a part of its time.

    Raises:
        InputError: the replay is a deadlock, or `rank` was not recorded.
    """
    step = replay.step
    if replay.blocked:
        raise InputError(f"a replay that never ends has no critical path: {replay.reason}")
    across = rank is None
    last = _last_node(replay, rank)
    if last < 0:
        return CriticalPath(np.empty(0, dtype=np.int64), {}, {}, 0, 0, 0)
    path = _engine.recorded_path(last, replay.after, replay.last, step.communication, step.waits, across)
    nodes = path[::-1]
    led_on = np.zeros(len(nodes), dtype=np.bool_)  # decided by the node of another rank that came last
    if across:
        waiting = np.flatnonzero(step.waits[nodes] & (step.communication[nodes] >= 0))
        led_on[waiting] = replay.last[step.communication[nodes[waiting]]] != nodes[waiting]
    decides = np.zeros(len(nodes), dtype=np.bool_)
    decides[:-1] = led_on[1:]  # the last of a communication, before the node that waited for it
    gap_ns = np.where(led_on, 0, step.gap_ns[nodes])
    waiting_ns = np.where(led_on, 0, replay.wait_ns[nodes])
    work_ns = np.where(decides, 0, step.duration_ns[nodes])
    communicates = step.kind[nodes] >= NodeKind.COLLECTIVE
    classes = _sums(classes_of(step, nodes[~communicates]), work_ns[~communicates])
    index = np.searchsorted(step.rank_first, nodes, side="right") - 1
    ranks = _sums(index, gap_ns + waiting_ns + work_ns)
    return CriticalPath(
        nodes,
        {class_name(number): time_ns for number, time_ns in classes.items()},
        {step.ranks[index]: time_ns for index, time_ns in ranks.items()},
        int(work_ns[communicates].sum()),
        int(gap_ns.sum()),
        int(waiting_ns.sum()),
    )


def _last_node(replay: Replay, rank: int | None) -> int:
    step = replay.step
    if rank is None:
        return int(replay.end_ns.argmax()) if step.node_count else -1
    if rank not in step.ranks:
        raise InputError(f"rank {rank} was not recorded, so nothing is known of its path")
    first, end = step.rank_first[step.ranks.index(rank) :][:2].tolist()
    return first + int(replay.end_ns[first:end].argmax()) if end > first else -1


def _sums(keys: NDArray[np.int64], times_ns: NDArray[np.int64]) -> dict[int, int]:
    """The sum of times of each key."""
    sums = np.zeros(int(keys.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(sums, keys, times_ns)
    return {key: int(sums[key]) for key in np.unique(keys).tolist()}


@dataclass(frozen=True)
class Bounds:
    """Times of parts of a step, each at most its replay; -1 where that never ends.

    `work_ns`: work and gaps, with communication that takes no time and waits for no rank.
    `communication_ns`: communication in its order, with work and gaps that take no time.
    `critical_path_ns`: the longest chain of work and communication, without the gaps.
    """

    work_ns: int
    communication_ns: int
    critical_path_ns: int


def bounds_of(step: RecordedStep) -> Bounds:
    """Return the bounds of a step.

    Raises:
        InputError: columns that do not fit each other.
    """
    communicates = is_communication(step)
    no_gaps = np.zeros_like(step.gap_ns)
    work = replace(
        step,
        duration_ns=np.where(communicates, 0, step.duration_ns),
        waits=np.zeros_like(step.waits),
    )
    communication = replace(step, duration_ns=np.where(communicates, step.duration_ns, 0), gap_ns=no_gaps)
    return Bounds(_end_ns(work), _end_ns(communication), _end_ns(replace(step, gap_ns=no_gaps)))


def _end_ns(step: RecordedStep) -> int:
    times = times_of(step)
    return -1 if len(times.circle) else int(times.end_ns.max(initial=0))
