"""Which calls of the engine end early: those inside `cancellable`, when its token is cancelled or late."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from dse._engine import Cancellation

__all__ = ["Cancellation", "cancellable", "current_cancellation"]

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
