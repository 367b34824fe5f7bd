"""Calls that end early: those of the engine inside `cancellable`, and whatever asks a deadline."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from dse.native._engine import Cancellation as Cancellation

_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


@contextlib.contextmanager
def cancellable(cancellation: Cancellation) -> Iterator[None]:
    """Let `cancellation` end every call of the engine that this thread makes in the block, within ms.

    The calls raise `Cancelled`, or `SimulationTimeout` when a deadline of `cancellation` has passed. Ctrl-C
    needs no token: in the main thread the engine lets Python handle signals every 50 ms.
    """
    before = _current.set(cancellation)
    try:
        yield
    finally:
        _current.reset(before)


def current_cancellation() -> Cancellation | None:
    """Return the token of the innermost block, to be handed to the engine."""
    return _current.get()


@dataclass(frozen=True)
class Deadline:
    """Until when an answer is wanted: `ends_s` of the monotonic clock, or until `cancellation` is set.

    Work that can take long asks `is_over` between its steps, and ends with what it has. None means never.
    """

    ends_s: float | None = None
    cancellation: Cancellation | None = None

    @classmethod
    def after(cls, seconds: float | None, cancellation: Cancellation | None = None) -> Deadline:
        """Return the deadline in so many seconds from now; None means without a limit."""
        return cls(None if seconds is None else time.monotonic() + seconds, cancellation)

    def part(self, share: float) -> Deadline:
        """Return a deadline after a share of the time that is left."""
        return Deadline.after(None if self.left_s is None else share * self.left_s, self.cancellation)

    def at_least(self, seconds: float) -> Deadline:
        """Return a deadline that leaves so many seconds, also after a cancellation."""
        return Deadline.after(None if self.left_s is None else max(seconds, self.left_s))

    @property
    def left_s(self) -> float | None:
        """Seconds that are left, at least 0; None without a limit."""
        return None if self.ends_s is None else max(0.0, self.ends_s - time.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether the time has passed, or the work was cancelled."""
        return self.left_s == 0 or (self.cancellation is not None and self.cancellation.is_cancelled)


NEVER = Deadline()
