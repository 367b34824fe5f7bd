"""Overlap of communication with work: none at all, or so much that no work waits for a collective."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from dse.base.errors import InputError
from dse.base.lazy import NDArray
from dse.simulation.recorded.step import Lane, NodeKind, RecordedStep
from dse.simulation.recorded.times import edges_of, is_communication, times_of, with_edges

_Edges = tuple[list["NDArray[np.int64]"], list["NDArray[np.int64]"]]


def without_overlap(step: RecordedStep) -> RecordedStep:
    """Return the step in which a rank does nothing while it communicates.

    Work on the streams of a rank's device, or of its host where it has none, and communications take turns,
    in the order in which the replay lets them run. That order is the same on all ranks, so none blocks.

    Raises:
        InputError: the step as it is never ends.
    """
    place = _places(step)
    communicates = is_communication(step)
    computing = _lanes_of_work(step)[step.lane] & ~communicates
    begins, ended = edges_of(step)
    edges: _Edges = ([begins], [ended])
    for rank in range(len(step.ranks)):
        span = np.arange(step.rank_first[rank], step.rank_first[rank + 1])
        own = span[communicates[span]]
        own = own[np.argsort(place[own], kind="stable")]
        _add(edges, own[1:], own[:-1])
        work = span[computing[span]]
        for lane in np.unique(step.lane[work]).tolist():
            _take_turns(edges, place, own, work[step.lane[work] == lane])
    return with_edges(step, *edges)


def without_waiting_for_collectives(step: RecordedStep) -> RecordedStep:
    """Return the step in which no work waits for a collective; collectives still wait for work.

    Messages stay as they are, since a stage of a pipeline cannot begin before its input is there. Collectives
    that share a thread or stream with work leave it for one of their own.
    """
    collective = step.kind == NodeKind.COLLECTIVE
    begins, ended = edges_of(step)
    kept = collective[begins] | ~collective[ended]
    edges: _Edges = ([begins[kept]], [ended[kept]])
    lane = step.lane.copy()
    lanes = list(step.lanes)
    order = np.argsort(step.lane, kind="stable")
    bounds = np.searchsorted(step.lane[order], np.arange(len(step.lanes) + 1))
    for number, (first, last) in enumerate(pairwise(bounds.tolist())):
        nodes = order[first:last]
        moved, left = nodes[collective[nodes]], nodes[~collective[nodes]]
        if not len(moved) or not len(left):
            continue
        lane[moved] = len(lanes)
        lanes.append(Lane(step.lanes[number].rank, f"collectives of {step.lanes[number].name}", False))
        before = np.searchsorted(left, moved) - 1
        _add(edges, moved[before >= 0], left[before[before >= 0]])
    return with_edges(replace(step, lane=lane, lanes=tuple(lanes)), *edges)


def _places(step: RecordedStep) -> NDArray[np.int64]:
    """Places of nodes, each after all that it waits for; those of a communication have one place."""
    times = times_of(step)
    if len(times.circle):
        raise InputError("overlap is none, but the step as it is never ends: its replay is a deadlock")
    turn = np.empty(step.node_count, dtype=np.int64)
    turn[times.order] = np.arange(step.node_count)
    place = np.empty(step.node_count, dtype=np.int64)
    place[np.lexsort((turn, times.run_ns))] = np.arange(step.node_count)
    first = np.full(len(step.communications), step.node_count, dtype=np.int64)
    joined = step.waits & (step.communication >= 0)
    np.minimum.at(first, step.communication[joined], place[joined])
    place[joined] = first[step.communication[joined]]
    return place


def _lanes_of_work(step: RecordedStep) -> NDArray[np.bool_]:
    devices = {lane.rank for lane in step.lanes if lane.is_device}
    return np.array([lane.is_device or lane.rank not in devices for lane in step.lanes], dtype=np.bool_)


def _take_turns(
    edges: _Edges, place: NDArray[np.int64], own: NDArray[np.int64], work: NDArray[np.int64]
) -> None:
    """Let each communication wait for the work before it in a lane, and the work after it for it."""
    after = np.searchsorted(place[work], place[own])
    _add(edges, own[after > 0], work[after[after > 0] - 1])
    _add(edges, work[after[after < len(work)]], own[after < len(work)])


def _add(edges: _Edges, begins: NDArray[np.int64], ended: NDArray[np.int64]) -> None:
    edges[0].append(begins.astype(np.int64))
    edges[1].append(ended.astype(np.int64))
