"""A step without stragglers: what ranks that run alike do takes the same time on all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from dse.base.errors import InputError
from dse.base.lazy import NDArray
from dse.simulation.recorded.step import RecordedStep
from dse.simulation.recorded.times import is_communication, rank_index_of

Stragglers = Literal["recorded", "median", "fastest"]

# Recordings of equal ranks differ in a few operators, such as those of the first rank's own output.
_ALIKE = 0.95


def without_stragglers(step: RecordedStep, rule: Stragglers) -> RecordedStep:
    """Return the step in which counterparts last as long as their median, or as the `fastest` of them.

    Two ranks run alike if 95 % of their nodes have names that both have equally often. The counterpart of a
    node is the node of the same name and the same turn among those of its name, on a rank that runs alike and
    has that name equally often. Gaps before nodes follow the same rule; communication stays as it was.

    Raises:
        InputError: no two recorded ranks run alike.
    """
    work = np.flatnonzero(~is_communication(step))
    ranks, names = rank_index_of(step)[work], step.name[work].astype(np.int64)
    counts = np.zeros((len(step.ranks), len(step.names)), dtype=np.int64)
    np.add.at(counts, (ranks, names), 1)
    kinds = _kinds_of(counts)
    if len(set(kinds.tolist())) == len(kinds):
        raise InputError(
            f"stragglers is {rule}, but no two of the {len(step.ranks)} recorded ranks run alike: their "
            "operators have other names or other numbers"
        )
    # One number for each name and how often it is there, on ranks that run alike.
    rows = np.stack([np.broadcast_to(kinds[:, None], counts.shape), counts]).reshape(2, -1)
    _, rows_alike = np.unique(rows, axis=1, return_inverse=True)
    alike = rows_alike.reshape(counts.shape) * len(step.names) + np.arange(len(step.names))
    turn = _turns(ranks * len(step.names) + names)
    _, counterpart = np.unique(alike[ranks, names] * (turn.max(initial=0) + 1) + turn, return_inverse=True)
    duration_ns, gap_ns = step.duration_ns.copy(), step.gap_ns.copy()
    duration_ns[work] = _levelled(duration_ns[work], counterpart, rule)
    gap_ns[work] = _levelled(gap_ns[work], counterpart, rule)
    return replace(step, duration_ns=duration_ns, gap_ns=gap_ns)


def _kinds_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first rank with which each rank runs alike, from how often each rank has each name."""
    kinds = np.arange(len(counts))
    for rank, own in enumerate(counts):
        for first in np.unique(kinds[:rank]).tolist():
            other = counts[first]
            equal = own == other
            if own[equal].sum() * 2 >= _ALIKE * (own.sum() + other.sum()):
                kinds[rank] = first
                break
    return kinds


def _turns(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each key was there before, in order."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.searchsorted(ordered, ordered, side="left")
    turns = np.empty(len(keys), dtype=np.int64)
    turns[order] = np.arange(len(keys)) - first
    return turns


def _levelled(values: NDArray[np.int64], group: NDArray[np.int64], rule: Stragglers) -> NDArray[np.int64]:
    """The least, or the median, of the values of each group, at each of its places."""
    order = np.lexsort((values, group))
    ordered = group[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(order) else order
    sizes = np.diff(np.r_[first, len(order)])
    low = values[order[first + (sizes - 1) // 2]] if rule == "median" else values[order[first]]
    high = values[order[first + sizes // 2]] if rule == "median" else low
    level: NDArray[np.int64] = (low + (high - low) // 2)[group]
    return level
