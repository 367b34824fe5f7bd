"""Whether a predicted peak fits into the memory of an NPU: yes, no, or within the error of predictions."""

from __future__ import annotations

from typing import Literal

from dse.base.errors import InputError
from dse.prediction.steps.frameworks import framework_named

Verdict = Literal["fits", "may fit", "does not fit"]


def verdict(peak_memory_bytes: float, capacity_bytes: float, margin: float) -> Verdict:
    """Return whether a predicted peak fits, where predictions are off by up to `margin` times the peak.

    >>> verdict(60e9, 80e9, 0.1), verdict(75e9, 80e9, 0.1), verdict(85e9, 80e9, 0.1), verdict(90e9, 80e9, 0.1)
    ('fits', 'may fit', 'may fit', 'does not fit')
    """
    if peak_memory_bytes * (1 + margin) <= capacity_bytes:
        return "fits"
    return "may fit" if peak_memory_bytes <= most_that_may_fit(capacity_bytes, margin) else "does not fit"


def most_that_may_fit(capacity_bytes: float, margin: float) -> float:
    """Return the largest predicted peak that may fit."""
    return capacity_bytes * (1 + margin)


def margin_of(framework: str) -> float:
    """Return the margin of predicted peaks of a framework; the widest where there is none of this name."""
    from dse.prediction.steps.framework_memory import WIDEST_MARGIN

    try:
        return framework_named(framework).memory.margin
    except InputError:  # the study was made where this file is
        return WIDEST_MARGIN
