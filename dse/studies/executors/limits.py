"""How long a point may take, and which points of a task were done in its time."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass

from dse.studies.points import Scenario
from dse.studies.store import StudyRow

_LONGEST_SECONDS = 1e9  # what the kernel can count


@dataclass(frozen=True)
class Done:
    """Rows of the first points of a task, and the seconds that they took."""

    rows: list[StudyRow]
    seconds: float


def limit_s(scenario: Scenario, point_timeout_s: float | None) -> float | None:
    """Return the seconds that a point may take: programs of the user's own have limits of their own."""
    if point_timeout_s is None:
        return None
    programs = (scenario.generator, scenario.simulator)
    return point_timeout_s + sum(getattr(program, "timeout_s", 0.0) for program in programs)


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
