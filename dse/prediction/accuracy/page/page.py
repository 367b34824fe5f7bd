"""The page of an accuracy: one HTML file with its style and its pictures inside.

A scatter plot of predicted against measured seconds: both axes logarithmic, places in units of SVG.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.base.pages import page_style, template_environment
from dse.prediction.accuracy.accuracy import Accuracy
from dse.prediction.accuracy.comparison import Compared
from dse.prediction.accuracy.output import inexpressible_by_reason

TEMPLATES = Path(__file__).parent / "templates"


def render_page(accuracy: Accuracy) -> str:
    """Return the page; it loads nothing, and runs without a network and without a program."""
    environment = template_environment(TEMPLATES)
    environment.filters.update(
        percent=lambda value: "–" if value is None else f"{value:.1f}",
        signed=lambda value: "–" if value is None else f"{value:+.1f}",
        seconds=lambda value: f"{value:.4g}",
    )
    plots: list[dict[str, Any]] = []
    for source in accuracy.sources:
        if source.expressible:
            rows = [one for one in accuracy.compared if one.row.source == source.source]
            plots.append({"errors": source, "plot": scatter(rows)})
    known = [one for one in accuracy.compared if one.is_expressible]
    return environment.get_template("accuracy.html").render(
        accuracy=accuracy,
        plots=plots,
        parts=list(accuracy.total.parts_pct),
        missing=inexpressible_by_reason(accuracy.compared),
        worst=sorted(known, key=lambda one: -abs(one.error_pct))[:20],
        size=SIZE,
        margin=MARGIN,
        style=page_style(TEMPLATES / "accuracy.css"),
    )


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
