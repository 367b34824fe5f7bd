"""Intervals of predictions: where unseen runs of the same kind came out, wider kinds filling up few.

The quantiles are those of a mixture. n runs of the very kind make n / (n + `_PRIOR`) of it, runs that differ
in their scale only make the same of what is left, and so on: nested Dirichlet processes (Teh et al., 2006).
Where many runs of a kind were measured these alone count, where few were, their relatives. Runs of one model
count as fewer, and an interval that few tell is wider.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist

from dse.base.texts import counted
from dse.prediction.intervals.kinds import WIDER, Kind, words_of
from dse.prediction.intervals.unseen import Unseen, unseen_runs

SHARE = 0.8
"""Share of unseen runs within an interval."""

_PRIOR = 12.0
"""So many independent runs of a kind count as much as all wider kinds together."""

_CORRELATION = 0.3
"""Errors of two runs of one model have this correlation."""

_ENLARGED = 1.5
"""How many times as wide an interval is where no run had this accelerator."""

_FEW = 5
_NORMAL = NormalDist().inv_cdf((1 + SHARE) / 2)


@dataclass(frozen=True)
class Interval:
    """Where `SHARE` of what is measured lies: from `low` to `high` times what is predicted.

    `rows` is the number of unseen runs of the very `kind`. `basis` says on which runs the interval rests, and
    `knows_accelerator` whether one of them had this accelerator.
    """

    kind: Kind
    low: float
    high: float
    rows: int
    basis: str
    knows_accelerator: bool

    @property
    def note(self) -> str:
        """The interval in a sentence, in per cent of what is predicted."""
        low, high = (f"{100 * (bound - 1):+.0f}" for bound in (self.low, self.high))
        return f"80 % of measured steps lie {low} to {high} % from the predicted time: {self.basis}"


@lru_cache(maxsize=4096)
def interval_of(kind: Kind, quantity: str = "time") -> Interval | None:
    """Return the interval of predictions of a kind; None where nothing was measured of the quantity."""
    return interval_from(kind, unseen_runs(quantity))


def interval_from(kind: Kind, runs: Sequence[Unseen]) -> Interval | None:
    """Return the interval of a kind from the errors of some runs; None without runs."""
    if not runs:
        return None
    levels = by_closeness(kind, runs)
    pairs = weighted(levels)
    errors, weights = [-run.error for run, _ in pairs], [weight for _, weight in pairs]
    low, middle, high = (
        quantile(errors, weights, share) for share in ((1 - SHARE) / 2, 0.5, (1 + SHARE) / 2)
    )
    knows = any(run.kind.accelerator == kind.accelerator for run in runs)
    factor = wider(effective_number(pairs)) * (1 if knows else _ENLARGED)
    low, high = middle + factor * (low - middle), middle + factor * (high - middle)
    return Interval(kind, math.exp(low), math.exp(high), len(levels[0]), _basis(kind, levels), knows)


def by_closeness(kind: Kind, runs: Iterable[Unseen]) -> list[list[Unseen]]:
    """Return runs by how alike they are: those of the kind, those that differ in scale only, and so on.

    Runs of level n have all features in common with the kind but some of the first n of `WIDER`.
    """
    levels: list[list[Unseen]] = [[] for _ in range(len(WIDER) + 1)]
    for run in runs:
        level = len(WIDER)
        while level and getattr(run.kind, WIDER[level - 1]) == getattr(kind, WIDER[level - 1]):
            level -= 1
        levels[level].append(run)
    return levels


def weighted(levels: Sequence[Sequence[Unseen]]) -> list[tuple[Unseen, float]]:
    """Return the runs of levels with their weights in the mixture, which sum to 1."""
    pairs: list[tuple[Unseen, float]] = []
    left = 1.0
    last = max(place for place, level in enumerate(levels) if level)
    for place, level in enumerate(levels):
        if not level:
            continue
        number = effective_number([(run, 1.0) for run in level])
        own = left if place == last else left * number / (number + _PRIOR)
        pairs += [(run, own / len(level)) for run in level]
        left -= own
    return pairs


def effective_number(pairs: Sequence[tuple[Unseen, float]]) -> float:
    """Return how many independent runs tell as much as these with their weights (Kish, 1965).

    Errors of two runs of a model are correlated by `_CORRELATION`.
    """
    of_model: dict[str, float] = {}
    for run, weight in pairs:
        of_model[run.model] = of_model.get(run.model, 0.0) + weight
    alone = math.fsum(weight**2 for _, weight in pairs)
    alike = math.fsum(weight**2 for weight in of_model.values())
    total = math.fsum(of_model.values())
    return total**2 / ((1 - _CORRELATION) * alone + _CORRELATION * alike)


def wider(number: float) -> float:
    """Return how much wider an interval is that few runs tell: as Student's t is than a normal distribution.

    t / z is 1 + (z^2 + 1) / 4n at first order, and a further run has sqrt(1 + 1 / n) times the deviation of
    those that are known (Student, 1908).
    """
    return (1 + (_NORMAL**2 + 1) / (4 * number)) * math.sqrt(1 + 1 / number)


def quantile(values: Sequence[float], weights: Sequence[float], share: float) -> float:
    """Return the value below which `share` of the weights lie, linear between values.

    Half of the weight of a value lies below it (Hazen, 1914); beyond the outermost values there is none.
    """
    place = share * math.fsum(weights)
    below = 0.0
    before: tuple[float, float] | None = None
    for value, weight in sorted(zip(values, weights, strict=True)):
        middle = below + weight / 2
        if middle >= place:
            if before is None:
                return value
            part = (place - before[0]) / (middle - before[0])
            return before[1] + part * (value - before[1])
        before = middle, value
        below += weight
    assert before is not None
    return before[1]


def _basis(kind: Kind, levels: Sequence[Sequence[Unseen]]) -> str:
    """On which runs an interval rests: those of the kind, and of the next wider one where these are few."""
    numbers = list(accumulate(map(len, levels)))
    level = next((place for place, number in enumerate(numbers) if number >= _FEW), len(WIDER))
    text = f"{counted(numbers[level], 'unseen row')} of {words_of(kind, level)}"
    own = len(levels[0])
    if not own:
        return f"no measured run of this kind, {text}"
    return text if not level else f"{counted(own, 'row')} of this kind, {text}"
