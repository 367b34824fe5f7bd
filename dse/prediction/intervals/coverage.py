"""How often measured steps lie in their interval, by kind."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from dse.prediction.intervals.interval import Interval, interval_from
from dse.prediction.intervals.kinds import Kind
from dse.prediction.intervals.unseen import Unseen

LEAST_ROWS = 15
"""Rows from which on the share of a kind says something: its standard error is a tenth."""


@dataclass(frozen=True)
class Held:
    """A measured step and its interval: `error` is log(predicted / measured)."""

    kind: Kind
    error: float
    interval: Interval

    @property
    def is_inside(self) -> bool:
        """Whether the measured step lies in the interval."""
        return (
            math.log(self.interval.low) <= -self.error + _ROUNDING
            and -self.error <= math.log(self.interval.high) + _ROUNDING
        )


@dataclass(frozen=True)
class Coverage:
    """Steps of a kind: their mean absolute error, their bias, and the share of them in their interval, in %.

    `width_pct` is the mean of how much longer the end of an interval is than its begin.
    """

    kind: str
    rows: int
    error_pct: float
    bias_pct: float
    inside_pct: float
    width_pct: float


ALLOWED_PCT = (75.0, 88.0)
"""The shares that an interval of 80 % may have in a kind with enough rows."""

_ROUNDING = 1e-9
_FEATURES = ("accelerator", "bits", "blocks", "context", "framework", "scale")


def held_out(runs: Sequence[Unseen]) -> list[Held]:
    """Return each run with the interval that the runs of other models make."""
    made: dict[tuple[Kind, str], Interval | None] = {}
    held = []
    for run in runs:
        key = (run.kind, run.model)
        if key not in made:
            made[key] = interval_from(run.kind, [other for other in runs if other.model != run.model])
        if interval := made[key]:
            held.append(Held(run.kind, run.error, interval))
    return held


def coverages(held: Sequence[Held]) -> list[Coverage]:
    """Return the coverage of all steps, by each feature of their kind, and by the three that matter most."""
    parts: dict[str, list[Held]] = {"all": list(held)}
    for feature in _FEATURES:
        for value in sorted({getattr(one.kind, feature) for one in held}):
            parts[_named(feature, value)] = [one for one in held if getattr(one.kind, feature) == value]
    for one in sorted(held, key=_joint):
        accelerator, bits, blocks = _joint(one)
        parts.setdefault(f"{accelerator}, {bits} bit, {blocks}", []).append(one)
    return [coverage(name, some) for name, some in parts.items()]


def coverage(kind: str, held: Iterable[Held]) -> Coverage:
    """Return the coverage of some steps under the name `kind`."""
    some = list(held)
    return Coverage(
        kind=kind,
        rows=len(some),
        error_pct=100 * fmean(abs(math.expm1(one.error)) for one in some),
        bias_pct=100 * fmean(math.expm1(one.error) for one in some),
        inside_pct=100 * fmean(one.is_inside for one in some),
        width_pct=100 * fmean(one.interval.high / one.interval.low - 1 for one in some),
    )


def _joint(one: Held) -> tuple[str, int, str]:
    return one.kind.accelerator, one.kind.bits, one.kind.blocks


def _named(feature: str, value: object) -> str:
    if feature == "bits":
        return f"{value} bit"
    if feature == "context":
        return "cp > 1" if value else "cp 1"
    return f"{value} NPUs" if feature == "scale" else str(value)
