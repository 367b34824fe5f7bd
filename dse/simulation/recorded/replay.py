"""A recorded step played again: when each node and rank ends, who waited for whom, and how true that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from dse.base.lazy import NDArray, _engine
from dse.simulation.recorded.blocked import blocked_nodes
from dse.simulation.recorded.changes import Changes, changed
from dse.simulation.recorded.step import RecordedStep
from dse.simulation.recorded.times import rank_index_of, rank_of_node, times_of
from dse.simulation.simulators.base import BlockedNode

_MOST_ERROR = 0.10


@dataclass(frozen=True, eq=False)
class Replay:
    """Times of a step, from its start, of every node: `start_ns` is when it could begin, `run_ns` when the
    others of its communication were there, too, and `end_ns` when it ended; -1 where that never happens.

    `after` is the node whose end came last before a node's gap (-1: none); `last` the node of each
    communication that could begin last. Under `deadlock`, `blocked` names nodes that wait for each other.
    """

    step: RecordedStep
    start_ns: NDArray[np.int64]
    run_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    after: NDArray[np.int64]
    last: NDArray[np.int64]
    blocked: tuple[BlockedNode, ...] = ()

    @property
    def status(self) -> Literal["ok", "deadlock"]:
        """Whether every node ended."""
        return "deadlock" if self.blocked else "ok"

    @property
    def reason(self) -> str:
        """Why nodes did not end, in one line; empty if all did."""
        if not self.blocked:
            return ""
        count = int((self.end_ns < 0).sum())
        circle = "; ".join(node.describe() for node in self.blocked)
        return f"{count} of {len(self.end_ns)} nodes never end; each waits for the next: {circle}"

    @cached_property
    def rank_end_ns(self) -> NDArray[np.int64]:
        """When each recorded rank ended; -1 for a rank with a node that never ends."""
        ends = np.zeros(len(self.step.ranks), dtype=np.int64)
        ranks = rank_index_of(self.step)
        np.maximum.at(ends, ranks, self.end_ns)
        ends[np.unique(ranks[self.end_ns < 0])] = -1
        return ends

    @property
    def step_ns(self) -> int:
        """When the last rank ended; -1 under deadlock."""
        if self.blocked:
            return -1
        return int(self.rank_end_ns.max(initial=0))

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """By what share each rank's end differs from its measured one; NaN where none was measured.

        Of use for a step without changes.
        """
        measured = np.where(self.step.measured_ns > 0, self.step.measured_ns, np.nan)
        return self.rank_end_ns / measured - 1.0

    @property
    def is_trusted(self) -> bool:
        """Whether every rank ends within 10 % of its measured step; `trust` says why one does not."""
        return not self.blocked and all(map(self.is_near, self.errors.tolist()))

    @staticmethod
    def is_near(error: float) -> bool:
        """Whether an error is one that a trusted replay may have."""
        return abs(error) <= _MOST_ERROR

    @cached_property
    def wait_ns(self) -> NDArray[np.int64]:
        """How long each node waited for the others of its communication."""
        return np.where(self.run_ns < 0, 0, self.run_ns - self.start_ns)

    def last_rank(self, communication: int) -> int | None:
        """Return the rank that could begin a communication last; None if it never ran."""
        last = int(self.last[communication])
        return None if last < 0 else rank_of_node(self.step, last)

    @cached_property
    def waited_for_ns(self) -> Mapping[tuple[int, int], int]:
        """How long a rank waited for another one in all its communications, by (rank, the other)."""
        nodes = np.flatnonzero(self.wait_ns > 0)
        ranks = rank_index_of(self.step)
        others = ranks[self.last[self.step.communication[nodes]]]
        count = len(self.step.ranks)
        sums = np.zeros(count * count, dtype=np.int64)
        np.add.at(sums, ranks[nodes] * count + others, self.wait_ns[nodes])
        return {
            (self.step.ranks[pair // count], self.step.ranks[pair % count]): int(sums[pair])
            for pair in np.flatnonzero(sums).tolist()
        }


def replayed(step: RecordedStep, changes: Changes | None = None) -> Replay:
    """Play a step again, changed or as it was recorded. Linear in nodes and edges.

    Raises:
        InputError: columns that do not fit each other, or changes that this step cannot take.
    """
    played = step if changes is None else changed(step, changes)
    times = times_of(played)
    return Replay(
        played, times.start_ns, times.run_ns, times.end_ns, times.after, times.last, _blocked(played, times)
    )


def _blocked(step: RecordedStep, times: _engine.RecordedTimes) -> tuple[BlockedNode, ...]:
    return blocked_nodes(step, times.start_ns, times.circle) if len(times.circle) else ()
