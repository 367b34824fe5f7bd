"""Combinations of the axes of a strategy; degrees without a list are all that fill the system."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from dse.inputs.strategies import DEGREES

Axes: TypeAlias = Mapping[str, "Sequence[Any] | None"]
"""The values of each field of a strategy in order; None means every degree with which it fills the NPUs."""


def divisors(number: int) -> list[int]:
    """Return the divisors of a number of at least 1, ascending."""
    low = [divisor for divisor in range(1, int(number**0.5) + 1) if number % divisor == 0]
    return sorted({*low, *(number // divisor for divisor in low)})


def batches_near(batch: int, npus: int) -> list[int]:
    """Return the multiples of a number of NPUs next to a batch: dp may be any divisor of the NPUs there."""
    below = batch // npus * npus
    return [each for each in (below, below + npus) if each not in (0, batch)]


def is_open(axes: Axes) -> bool:
    """Whether some axis of degrees has no list, so that combinations depend on the system."""
    return any(axes[axis] is None for axis in DEGREES)


def degree_combinations(axes: Axes, npus: int) -> Iterator[tuple[int, ...]]:
    """Iterate over the combinations of degrees, the first axis (dp) slowest.

    With an axis without a list, only those that multiply to `npus`: others never fill the system.
    """
    if is_open(axes):
        return _filling([axes[axis] for axis in DEGREES], npus)
    return itertools.product(*[axes[axis] or () for axis in DEGREES])


def _filling(axes: Sequence[Sequence[int] | None], npus: int) -> Iterator[tuple[int, ...]]:
    """Iterate over degrees, one of each axis, whose product is `npus`."""

    @functools.cache
    def rest(axis: int, left: int) -> list[tuple[int, ...]]:
        """Degrees of the axes from this one on; few products are left over, each in many ways."""
        if axis == len(axes):
            return [()] if left == 1 else []
        degrees = axes[axis]
        if degrees is None:
            degrees = divisors(left) if axis + 1 < len(axes) else [left]
        fitting = [degree for degree in degrees if left % degree == 0]
        return [(degree, *others) for degree in fitting for others in rest(axis + 1, left // degree)]

    return iter(rest(0, npus))
