"""How long the missing points of a sweep will take, as a range, from a few points of every kind."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from dse.base.cancellation import Cancellation, cancellable
from dse.inputs.strategies.columns import Strategies
from dse.studies.points import DesignPoint, evaluate
from dse.studies.points.blocks import PointBlock
from dse.studies.points.evaluate import evaluate_block

BUDGET_S = 1.5
"""Seconds of wall time for all points of an estimate; what else it does takes milliseconds."""

PROBES = 4
"""Points of a kind that are tried, at most."""

_SHORT_S = 0.005  # alone, of a point whose block is measured
_COPIES = 16  # of a point that are evaluated together
_SLOW = 4.0  # times what is expected: then a point is one of the slow ones of its kind
_LEAST_LIMIT_S = 0.1
_SPREAD = 2.0  # between what is measured, or extrapolated from shallower kinds, and what may come


@dataclass
class Kind:
    """Points that cost about the same: how many, what each costs in units, and some, evenly spread.

    Some may cost `slow_ranks` times as much; see `dse.studies.points.methods.Method`.
    """

    units: int
    slow_ranks: int = 1
    count: int = 0
    probes: list[DesignPoint] = field(default_factory=list)
    _stride: int = 1

    def add(self, places: Sequence[int], point_at: Callable[[int], DesignPoint]) -> None:
        """Count the points at some places, and keep those whose turn it is."""
        turn = -self.count % self._stride
        while turn < len(places):
            if len(self.probes) == PROBES:
                self.probes, self._stride = self.probes[::2], self._stride * 2
            if (self.count + turn) % self._stride == 0:
                self.probes.append(point_at(places[turn]))
                turn += 1
            turn += -(self.count + turn) % self._stride
        self.count += len(places)


def of_feasible(kind: Kind) -> Kind:
    """Return a kind without infeasible points, which take no time, by their share of its probes."""
    probes = [point for point in kind.probes if point.scenario.method.may_take_time(point)]
    count = round(kind.count * len(probes) / len(kind.probes))
    return replace(kind, probes=probes, count=count)


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
    alone_s = time.thread_time() - began
    if row.status == "timeout":
        return None
    if alone_s > _SHORT_S or not point.scenario.in_blocks:
        return alone_s
    (one_s, one), (several_s, several) = (_block_seconds(point, copies) for copies in (1, 1 + _COPIES))
    more = several_s > one_s and several > one
    return (several_s - one_s) / (several - one) if more else several_s / several


def _block_seconds(point: DesignPoint, copies: int) -> tuple[float, int]:
    """Return the CPU seconds of a block of a point, and how many of its copies were answered.

    The costs of a block by itself are shared by thousands of points.
    """
    block = PointBlock(point.scenario, Strategies.of([point.strategy] * copies))
    began = time.thread_time()
    answered = evaluate_block(block).num_rows
    return time.thread_time() - began, answered


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
    within the budget; what dearer kinds cost is extrapolated from the dearest one that was tried. A point
    that may be slow is given up when it turns out to be. `measure` returns the CPU seconds of a point, or
    None if it took longer than the seconds it got; `clock` is the time of the wall.
    """
    kinds = sorted(map(of_feasible, kinds), key=lambda kind: (kind.units, kind.slow_ranks))
    seconds, given_up = _tried(kinds, probes, measure, clock)
    may_be_slow = [number for number, kind in enumerate(kinds) if kind.slow_ranks > 1]
    slow = sum(given_up[number] for number in may_be_slow)
    tried = slow + sum(len(seconds[number]) for number in may_be_slow)
    total = Costs()
    per_unit = 0.0
    for kind, known, gave_up in zip(kinds, seconds, given_up, strict=True):
        if known:
            per_unit = sum(known) / len(known) / kind.units
        total.add(kind, known, per_unit, gave_up=bool(gave_up) and kind.slow_ranks == 1)
        if slow and kind.slow_ranks > 1:
            total.add_slow(kind, per_unit, slow, tried)
    points = sum(kind.count for kind in kinds) * share
    used = max(1.0, min(cores, points))
    # No number of cores makes the slowest kind of point shorter.
    low, likely, high = (
        max(seconds * share / used, total.slowest) for seconds in (total.low, total.likely, total.high)
    )
    return Estimate(low, likely, high, total.extrapolated)


def _tried(
    kinds: list[Kind],
    probes: int,
    measure: Callable[[DesignPoint, float], float | None],
    clock: Callable[[], float],
) -> tuple[list[list[float]], list[int]]:
    """Return the CPU seconds of the points tried of each kind, and how many of each were given up."""
    until = clock() + BUDGET_S
    seconds: list[list[float]] = [[] for _ in kinds]
    given_up = [0] * len(kinds)
    wall_per_unit = 0.0
    for turn in range(probes):
        for number, kind in enumerate(kinds):
            if turn >= len(kind.probes):
                continue
            began = clock()
            expected = wall_per_unit * kind.units
            if began + expected > until or began >= until:
                break  # and so would be those that cost more
            limit = until - began
            if kind.slow_ranks > 1:
                limit = min(limit, max(_SLOW * expected, _LEAST_LIMIT_S))
            took = measure(kind.probes[turn], limit)
            if took is None:
                given_up[number] += 1
            if took is not None or kind.slow_ranks == 1:
                seconds[number].append(limit if took is None else took)
                wall_per_unit = max(wall_per_unit, (clock() - began) / kind.units)
    if len(seconds[0]) > 1:
        del seconds[0][0]  # the first point of all pays for what is loaded once
    return seconds, given_up


@dataclass
class Costs:
    """CPU seconds of all points so far: at least, likely, at most, and of the slowest kind of point."""

    low: float = 0.0
    likely: float = 0.0
    high: float = 0.0
    slowest: float = 0.0
    extrapolated: int = 0

    def add(self, kind: Kind, known: list[float], per_unit: float, *, gave_up: bool) -> None:
        """Add the points of a kind, by the seconds of those that are known."""
        mean = sum(known) / len(known) if known else per_unit * kind.units
        least, most = mean / _SPREAD, mean * _SPREAD
        if known:
            least, most = min(*known, least), max(*known, most)
        if not known or gave_up:
            most *= _SPREAD
            self.extrapolated += kind.count
        self._add(kind.count, least, mean, most)

    def add_slow(self, kind: Kind, per_unit: float, slow: int, tried: int) -> None:
        """Add what slow points of a kind cost, which `slow` of `tried` ones were: a share known from few."""
        seconds = per_unit * kind.units * kind.slow_ranks
        least, most = slow / (tried + 1) / _SPREAD, (slow + 1) / (tried + 1) * _SPREAD
        self._add(kind.count, seconds * least, seconds * slow / tried, seconds * most)

    def _add(self, count: int, least: float, mean: float, most: float) -> None:
        self.low += count * least
        self.likely += count * mean
        self.high += count * most
        self.slowest = max(self.slowest, mean)


def _duration(seconds: float) -> str:
    """With one or two digits: more would not be true."""
    unit, name = (1, "s") if seconds < 90 else (60, "min") if seconds < 5400 else (3600, "h")
    value = seconds / unit
    return f"{value:.0f} {name}" if value >= 10 else f"{value:.1g} {name}"
