"""Sums in the order written: what the compat rules ask for, bit by bit."""

from __future__ import annotations

from collections.abc import Iterable


def plain_sum(values: Iterable[float]) -> float:
    """Return the sum from left to right, starting at 0; the built-in one compensates from Python 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total
