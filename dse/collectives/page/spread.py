"""The plot of times under links that vary: which share of the draws is over by when, per schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from dse.collectives.robust.summary import PERCENTS

WIDTH, HEIGHT = 640, 240
_MOST_FIXED = 3  # more lines cannot be told apart
_TICKS = 6


class Line(NamedTuple):
    """A schedule's line: its name, and what a polyline in SVG takes."""

    name: str
    points: str


class SpreadPlot(NamedTuple):
    """Lines, and ticks of both axes: their places, and what they stand for in ps and in per cent."""

    lines: list[Line]
    ticks: list[tuple[float, int]]
    levels: list[tuple[float, int]]


def spread_plot(variance: Mapping[str, Any]) -> SpreadPlot:
    """Return the plot of `variance` in a summary: the schedule, and the best fixed algorithms by p95."""
    fixed = sorted(variance["fixed_algorithms"].items(), key=lambda item: (item[1]["p95_ps"], item[0]))
    shown = {"this schedule": variance["percentiles_ps"]}
    shown |= {name: figures["percentiles_ps"] for name, figures in fixed[:_MOST_FIXED]}
    first: int = min(times[0] for times in shown.values())
    last: int = max(max(times[-1] for times in shown.values()), first + 1)

    def place(time_ps: int) -> float:
        return round((time_ps - first) / (last - first) * WIDTH, 1)

    lines = [
        Line(
            name,
            " ".join(
                f"{place(time)},{_height(percent)}" for time, percent in zip(times, PERCENTS, strict=True)
            ),
        )
        for name, times in shown.items()
    ]
    ticks = [(place(tick), tick) for tick in _ticks(first, last)]
    return SpreadPlot(lines, ticks, [(_height(percent), percent) for percent in (0, 25, 50, 75, 100)])


def _height(percent: int) -> float:
    """Where a share of the draws stands, from the top."""
    return round(HEIGHT * (1 - percent / 100), 1)


def _ticks(first: int, last: int) -> list[int]:
    """At most `_TICKS` round times of a range."""
    least = (last - first) / _TICKS
    power = 10 ** max(0, math.floor(math.log10(max(least, 1))))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
    return list(range(-(-first // step) * step, last + 1, step))
