"""Bounds of a recorded step: its work alone, its communication alone, and its longest chain of both."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dse.simulation.recorded.step import RecordedStep
from dse.simulation.recorded.times import is_communication, times_of


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
