"""How long a case may take, and which cases of a task were done in its time."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from dse.studies.evaluator import Case, Evaluator
from dse.studies.store.row import Row

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
