"""Times of a recorded step's nodes from the engine, and which rank each node is of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from dse.base.lazy import NDArray, _engine
from dse.simulation.recorded.step import NodeKind, RecordedStep


def times_of(step: RecordedStep) -> _engine.RecordedTimes:
    """Return when each node could begin, runs and ends; -1 for what never does.

    Raises:
        InputError: columns that do not fit each other, or numbers out of their range.
    """
    return _engine.replay_recorded(
        np.ascontiguousarray(step.lane, dtype=np.int32),
        np.ascontiguousarray(step.duration_ns, dtype=np.int64),
        np.ascontiguousarray(step.gap_ns, dtype=np.int64),
        np.ascontiguousarray(step.before_first, dtype=np.int64),
        np.ascontiguousarray(step.before, dtype=np.int64),
        np.ascontiguousarray(step.communication, dtype=np.int32),
        np.ascontiguousarray(step.waits, dtype=np.bool_),
        len(step.lanes),
        len(step.communications),
    )


def rank_index_of(step: RecordedStep) -> NDArray[np.int64]:
    """Return the position in `step.ranks` of each node's rank."""
    return np.repeat(np.arange(len(step.ranks), dtype=np.int64), np.diff(step.rank_first))


def rank_of_node(step: RecordedStep, node: int) -> int:
    """Return the rank of a node."""
    return step.ranks[int(np.searchsorted(step.rank_first, node, side="right")) - 1]


def is_communication(step: RecordedStep) -> NDArray[np.bool_]:
    """Say of each node whether it is a collective, a send or a receive."""
    return step.kind >= NodeKind.COLLECTIVE


def scaled(times_ns: NDArray[np.int64], factor: float | NDArray[np.float64]) -> NDArray[np.int64]:
    """Return times multiplied by a factor, as whole numbers; a factor of 1 changes none."""
    product: NDArray[np.float64] = np.rint(times_ns * factor)
    return product.astype(np.int64)


def edges_of(step: RecordedStep) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the edges of `before` as two columns: the node that begins, and the one that ended."""
    nodes = np.arange(step.node_count, dtype=np.int64)
    return np.repeat(nodes, np.diff(step.before_first)), step.before


def with_edges(
    step: RecordedStep, begins: Iterable[NDArray[np.int64]], ended: Iterable[NDArray[np.int64]]
) -> RecordedStep:
    """Return the step with other edges, given as columns like those of `edges_of`, in any order."""
    owner = np.concatenate([np.empty(0, dtype=np.int64), *begins])
    other = np.concatenate([np.empty(0, dtype=np.int64), *ended])
    order = np.argsort(owner, kind="stable")
    first = np.zeros(step.node_count + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=step.node_count), out=first[1:])
    return replace(step, before_first=first, before=other[order])
