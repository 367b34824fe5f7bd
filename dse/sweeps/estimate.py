"""How long the missing points of a sweep will take, as a range, from a few points of every kind."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dse.cancellation import Cancellation, cancellable
from dse.points import DesignPoint, evaluate

BUDGET_S = 1.5
"""Seconds of wall time for all points of an estimate; what else it does takes milliseconds."""

PROBES = 4
"""Points of a kind that are tried, at most."""

_PREDICTION = 500  # operations of a pipeline that take as long as the rest of a prediction
_SPREAD = 2.0  # between what is measured, or extrapolated from shallower kinds, and what may come


def cost_units(point: DesignPoint) -> int:
    """Return a number that the time of a point grows with: layers, micro-batches, ranks that differ."""
    model, system, strategy = point.scenario.model, point.scenario.system, point.strategy
    if (
        point.scenario.is_predicted
    ):  # the pipeline costs a moment for each operation, besides what all points do
        size = strategy.dp * max(strategy.micro_batch, 1)
        return _PREDICTION + strategy.pp * strategy.chunks * max(1, model.batch_size // size)
    ranks = system.npus if system.network_model == "congestion_aware" or system.deratings else 1
    ranks = max(ranks, len(system.npu_types))
    return model.num_layers * model.micro_batches_on(strategy.dp, strategy.pp) * ranks


@dataclass
class Kind:
    """Points that cost about the same: how many, what each costs in units, and some, evenly spread."""

    units: int
    count: int = 0
    probes: list[DesignPoint] = field(default_factory=list)
    _stride: int = 1

    def add(self, point: DesignPoint) -> None:
        """Count a point, and keep it if it is its turn."""
        if self.count % self._stride == 0:
            if len(self.probes) == PROBES:
                self.probes, self._stride = self.probes[::2], self._stride * 2
            if self.count % self._stride == 0:
                self.probes.append(point)
        self.count += 1


@dataclass(frozen=True)
class Estimate:
    """Seconds of wall time: the likely ones, and a range that holds most sweeps."""

    low_s: float
    likely_s: float
    high_s: float
    extrapolated: int = 0
    """Points of kinds that were too slow to try."""

    def describe(self) -> str:
        """Such as "about 20 s to 2 min"."""
        if self.high_s == 0:
            return "none"
        if self.high_s < 1:
            return "less than 1 s"
        low, high = _duration(self.low_s), _duration(self.high_s)
        range_ = f"about {low}" if low == high else f"about {low} to {high}"
        if not self.extrapolated:
            return range_
        return f"{range_}; {self.extrapolated} of them are too slow to try, so extrapolated"


def measured(point: DesignPoint, limit_s: float) -> float | None:
    """Evaluate a point; return the CPU seconds of this thread, which other programs do not lengthen.

    None is for a point that the engine gave up after `limit_s`.
    """
    began = time.thread_time()
    with cancellable(Cancellation().limited_to(limit_s, "the estimate of a sweep")):
        row = evaluate(point)
    return None if row.status == "timeout" else time.thread_time() - began


def estimate(
    kinds: list[Kind],
    cores: int,
    *,
    share: float = 1.0,
    probes: int = PROBES,
    measure: Callable[[DesignPoint, float], float | None] = measured,
    clock: Callable[[], float] = time.perf_counter,
) -> Estimate:
    """Estimate the wall time of a `share` of the points on so many cores, from up to `probes` of each kind.

    Kinds are tried from the cheapest to the dearest, as long as what is known says that the next point ends
    within the budget; what dearer kinds cost is extrapolated from the dearest one that was tried. `measure`
    returns the CPU seconds of a point, or None if it took longer than the seconds that were left; `clock` is
    the time of the wall.
    """
    kinds = sorted(kinds, key=lambda kind: kind.units)
    until = clock() + BUDGET_S
    seconds: list[list[float]] = [[] for _ in kinds]
    given_up: set[int] = set()
    wall_per_unit = 0.0
    for turn in range(probes):
        for number, kind in enumerate(kinds):
            if turn >= len(kind.probes):
                continue
            began = clock()
            if began + wall_per_unit * kind.units > until or began >= until:
                break  # and so would be those that cost more
            took = measure(kind.probes[turn], until - began)
            if took is None:
                given_up.add(number)
            seconds[number].append(until - began if took is None else took)
            wall_per_unit = max(wall_per_unit, (clock() - began) / kind.units)
    if len(seconds[0]) > 1:
        del seconds[0][0]  # the first point of all pays for what is loaded once
    low = likely = high = slowest = 0.0
    extrapolated = 0
    per_unit = 0.0
    for number, (kind, known) in enumerate(zip(kinds, seconds, strict=True)):
        mean = sum(known) / len(known) if known else per_unit * kind.units
        least, most = mean / _SPREAD, mean * _SPREAD
        if known:
            per_unit = mean / kind.units
            least, most = min(*known, least), max(*known, most)
        if not known or number in given_up:
            most *= _SPREAD
            extrapolated += kind.count
        low, likely, high = low + kind.count * least, likely + kind.count * mean, high + kind.count * most
        slowest = max(slowest, mean)
    points = sum(kind.count for kind in kinds) * share
    used = max(1.0, min(cores, points))
    # No number of cores makes the slowest kind of point shorter.
    low, likely, high = (max(total * share / used, slowest) for total in (low, likely, high))
    return Estimate(low, likely, high, extrapolated)


def _duration(seconds: float) -> str:
    """With one or two digits: more would not be true."""
    unit, name = (1, "s") if seconds < 90 else (60, "min") if seconds < 5400 else (3600, "h")
    value = seconds / unit
    return f"{value:.0f} {name}" if value >= 10 else f"{value:.1g} {name}"
