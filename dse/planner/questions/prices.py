"""The subset of nodes that makes a step cheapest, for every price of a type's GPU-hour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dse.base.errors import InputError, NothingFits
from dse.planner.questions.subsets import Subset

_MS_PER_HOUR = 3.6e6


@dataclass(frozen=True)
class PriceRange:
    """From `start` to `end` per GPU-hour of `type` a step is cheapest on `subset`; the last end is infinite.

    `price_per_step` is that at `start`; it grows by `slope` for each unit of the price.
    """

    type: str
    start: float
    end: float
    subset: Subset
    price_per_step: float
    slope: float


def price_ranges(found: Sequence[Subset], type_: str) -> list[PriceRange]:
    """Return the cheapest subset for every price of a type, the other prices as they are.

    The price of a step on a subset is a line in the price of the type: time x (GPUs of the type x price +
    price of the others). The answer is the lower envelope of these lines, exact but for rounding. Of subsets
    that cost the same at all prices it is the fastest.

    Raises:
        InputError: prices are unknown.
        NothingFits: no subset has a plan.
    """
    known = sorted(
        (subset for subset in found if subset.step_ms is not None), key=lambda one: one.step_ms or 0
    )
    lines = [_line(subset, type_) for subset in known]
    if not lines:
        raise NothingFits("no subset of the nodes has a plan that fits; see dse plan, without prices")
    ranges = []
    price = 0.0
    slope, base, subset = min(lines, key=lambda line: (line[1], line[0]))
    while True:
        end, following = _next(lines, price, slope, base)
        ranges.append(PriceRange(type_, price, end, subset, base + slope * price, slope))
        if following is None:
            return ranges
        price = end
        slope, base, subset = following


def _line(subset: Subset, type_: str) -> tuple[float, float, Subset]:
    """Slope and base of the price of a step."""
    prices = subset.problem.cluster.price_per_hour
    if not prices:
        raise InputError("prices are unknown; write prices=[TYPE:NUMBER,...], a price for each type")
    hours = (subset.step_ms or 0.0) / _MS_PER_HOUR
    gpus = subset.gpus
    others = sum(count * prices[other] for other, count in gpus.items() if other != type_)
    return hours * gpus.get(type_, 0), hours * others, subset


def _next(
    lines: Sequence[tuple[float, float, Subset]], price: float, slope: float, base: float
) -> tuple[float, tuple[float, float, Subset] | None]:
    """Where a flatter line crosses next, and which; of lines that cross there the flattest."""
    best: tuple[float, float, tuple[float, float, Subset]] | None = None
    for line in lines:
        if line[0] < slope:
            at = max(price, (line[1] - base) / (slope - line[0]))
            if best is None or (at, line[0]) < best[:2]:
                best = (at, line[0], line)
    return (math.inf, None) if best is None else (best[0], best[2])
