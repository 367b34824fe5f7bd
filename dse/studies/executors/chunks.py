"""Chunks of cases: how many go together, and how that follows the cost of a case."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeAlias

from dse.studies.evaluator import Case, Evaluator
from dse.studies.store.row import Row

Item: TypeAlias = tuple[int, Case]
"""A case and its index in the source."""

_GROWTH = 4  # at most, from one measurement to the next: the next points may cost more
_WEIGHT = 0.5  # of the last measurement in the estimate


class ChunkSizer:
    """Chooses the number of points of a chunk so that it takes `target_s` seconds; starts with one point."""

    def __init__(self, target_s: float, max_points: int) -> None:
        self._target_s = target_s
        self._max_points = max_points
        self._point_s: float | None = None
        self.size = 1

    def measured(self, points: int, seconds: float) -> None:
        """Take in that `points` took `seconds`."""
        if points < 1:
            return
        last_s = seconds / points
        before_s = last_s if self._point_s is None else self._point_s
        self._point_s = _WEIGHT * last_s + (1 - _WEIGHT) * before_s
        fitting = self._target_s / max(self._point_s, 1e-9)
        self.size = max(1, int(min(fitting, self.size * _GROWTH, self._max_points)))


@dataclass(frozen=True)
class Chunk(Generic[Case]):
    """Cases that are evaluated together, and how often they have been lost so far.

    `losses` counts ends of the worker, which a case may have caused; `node_losses` ends of its machine.
    """

    items: list[Item[Case]]
    losses: int = 0
    node_losses: int = 0

    def without(self, done: int) -> Chunk[Case]:
        """Return what is left after the first `done` cases."""
        return Chunk(self.items[done:], self.losses, self.node_losses)

    def halves(self) -> tuple[Chunk[Case], Chunk[Case]]:
        """Return two chunks of about the same size, each with one loss more."""
        middle = len(self.items) // 2
        return (
            Chunk(self.items[:middle], self.losses + 1, self.node_losses),
            Chunk(self.items[middle:], self.losses + 1, self.node_losses),
        )


def drawn(source: Iterator[Item[Case]], count: int) -> list[Item[Case]]:
    """Return up to `count` of the next cases."""
    return list(islice(source, count))


_LONGEST_SECONDS = 1e9  # what the kernel can count


@dataclass(frozen=True)
class Done(Generic[Row]):
    """Rows of the first cases of a task, and the seconds that they took."""

    rows: list[Row]
    seconds: float


def limit_s(evaluator: Evaluator[Case, Row], case: Case, timeout_s: float | None) -> float | None:
    """Return the seconds that a case may take: programs of the user's own have limits of their own."""
    if timeout_s is None:
        return None
    return timeout_s + sum(getattr(program, "timeout_s", 0.0) for program in evaluator.programs(case))


@contextlib.contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """End this process with SIGALRM when the block takes longer, even inside native code; None is no limit.

    The kernel does it: no handler has to run, which a stuck engine would not let happen.
    """
    if seconds is not None and seconds < _LONGEST_SECONDS:
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
