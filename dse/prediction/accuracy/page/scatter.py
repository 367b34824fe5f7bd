"""A scatter plot of predicted against measured seconds: both axes logarithmic, places in units of SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dse.prediction.accuracy.comparison import Compared

SIZE, MARGIN = 300.0, 44.0
BAND = 1.1  # a prediction within this factor lies between the two lines on both sides of the diagonal
_STEPS = ((1,), (1, 3), (1, 2, 5))  # ticks of a decade: the most that are not crowded
_MOST_TICKS = 6


@dataclass(frozen=True)
class Dot:
    """A row: its place, and what is shown when it is pointed at."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Scatter:
    """Places from 0 to SIZE, x to the right, y down; `ticks` are seconds with their place from the left.

    `band` is the distance of the lines next to the diagonal from it, along y.
    """

    dots: Sequence[Dot]
    ticks: Sequence[tuple[str, float]]
    band: float


def scatter(compared: Sequence[Compared]) -> Scatter:
    """Return the plot of the rows that have a prediction, at least one; both axes have the same range."""
    known = [one for one in compared if one.is_expressible]
    times = [time for one in known for time in (one.predicted_s, one.row.iter_s)]
    low, high = math.log10(min(times) / BAND), math.log10(max(times) * BAND)
    scale = SIZE / (high - low)
    dots = [
        Dot(
            x=round((math.log10(one.row.iter_s) - low) * scale, 1),
            y=round(SIZE - (math.log10(one.predicted_s) - low) * scale, 1),
            text=f"{one.row.id}: predicted {one.predicted_s:.4g} s, measured {one.row.iter_s:.4g} s, "
            f"{one.error_pct:+.1f} %",
        )
        for one in known
    ]
    ticks = [(f"{tick:g}", round((math.log10(tick) - low) * scale, 1)) for tick in _ticks(low, high)]
    return Scatter(dots, ticks, round(math.log10(BAND) * scale, 1))


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two powers of ten, given by their exponents."""
    best: list[float] = []
    for steps in _STEPS:
        found = [
            step * 10.0**decade
            for decade in range(math.floor(low), math.ceil(high) + 1)
            for step in steps
            if low <= math.log10(step * 10.0**decade) <= high
        ]
        if len(found) <= _MOST_TICKS:
            best = found
    return best
