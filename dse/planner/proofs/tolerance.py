"""The difference that rounding may make: the checker adds up otherwise than the search."""

from __future__ import annotations

SLACK = 1e-9
"""Relative; the search allows twice as much at the edges of its boxes."""


def above(value: float) -> float:
    """Return what a number, of any sign, may be at most after rounding."""
    return value + SLACK * abs(value)


def below(value: float) -> float:
    """Return what a number, of any sign, may be at least after rounding."""
    return value - SLACK * abs(value)
