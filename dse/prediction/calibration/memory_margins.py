"""How far predicted peaks of memory are off, by framework: `python -m` this module prints the margins.

They are the key `margin` of `memory` in conf/framework, and make the verdicts of
`dse.prediction.steps.predict`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dse.prediction.measured.cases import predicted_cases
from dse.prediction.measured.rows import MeasuredRow, published_rows
from dse.prediction.steps.framework_memory import WIDEST_MARGIN

SHARE = 0.98
"""Share of runs whose error is within the margin."""

_LEAST = 0.03
"""No margin is narrower: what allocators and libraries take differs by release."""

_FEWEST_RUNS = 10
_TELLING = 0.8
_GIB = 2**30


class Margin(NamedTuple):
    """A margin, as a share of the peak, and the numbers of runs behind it: with a measured peak, and all."""

    share: float
    peaks: int
    runs: int


def margins(rows: Iterable[MeasuredRow]) -> dict[str, Margin]:
    """Return the margin of each framework in some rows."""
    errors: dict[str, list[tuple[float, bool]]] = {}
    for row, case, found in predicted_cases(rows):
        if case is None or isinstance(found, str):
            continue
        peak = found.peak_memory_bytes
        own = errors.setdefault(case.plan.framework, [])
        if row.measured_memory_gib is not None:
            own.append((abs(peak / (row.measured_memory_gib * _GIB) - 1), True))
        elif row.recompute and row.mbs:
            excess = peak / case.cluster.accelerator.usable_memory_bytes
            if excess >= _TELLING:
                own.append((max(0.0, excess - 1), False))
    return {framework: margin_from(found) for framework, found in sorted(errors.items())}


def margin_from(errors: Iterable[tuple[float, bool]]) -> Margin:
    """Return the margin that `SHARE` of some errors are within, each with whether its peak was measured.

    A run without a measured peak fitted: its error is at least what its prediction exceeds the memory by. It
    counts if the prediction comes near the memory.
    """
    found = list(errors)
    sizes = sorted(size for size, _ in found)
    peaks = sum(is_measured for _, is_measured in found)
    if len(sizes) < _FEWEST_RUNS:
        return Margin(WIDEST_MARGIN, peaks, len(sizes))
    place = min(len(sizes), math.ceil((len(sizes) + 1) * SHARE))
    return Margin(round(min(WIDEST_MARGIN, max(_LEAST, sizes[place - 1])), 3), peaks, len(sizes))


def text_of(found: Mapping[str, Margin]) -> str:
    """Return margins as lines of text."""
    return "\n".join(
        f"{framework}: margin {margin.share:g}, from {margin.runs} runs ({margin.peaks} with a measured peak)"
        for framework, margin in found.items()
    )


if __name__ == "__main__":
    print(text_of(margins(published_rows())))
