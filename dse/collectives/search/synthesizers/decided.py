"""Least times of problems without sums: which time is enough, asked from the bound up, in the engine."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import gcd
from typing import Literal

from dse.base.lazy import solvers
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.synthesizers.base import Effort, limited
from dse.collectives.search.synthesizers.time_indexed import sums

# Contradictions after which a time stays open, at first, and the growth of that where no other time is left.
_FAILS = 8_000
_GROWTH = 1.3


class Decided:
    """The best schedule so far, and the least time that is not refuted."""

    def __init__(self, problem: Problem, best: Schedule, least_ps: int, effort: Effort) -> None:
        self.problem, self.best, self.effort = problem, best, effort
        self.least_ps, self.refuted_ps, self.asked = least_ps, 0, 0

    @property
    def is_done(self) -> bool:
        """Whether the best is optimal."""
        return self.best.time_ps <= self.least_ps

    def climb(self) -> None:
        """Ask for ever longer times from the bound up, and for shorter ones where a time stays open.

        Sends that start as early as they can end at a sum of times of links, so other times are not asked.
        """
        points = self._points()
        low, step, fails = 0, 1, _FAILS
        deadline = self.effort.deadline
        while low < (high := bisect_left(points, self.best.time_ps)) and not deadline.is_over:
            at = min(low + step, high) - 1
            answer = self._ask(points[at], fails, self.effort.until(deadline))
            if answer is False:
                self.refuted_ps = points[at]
                low, step = at + 1, 2 * step
                self.least_ps = points[low] if low < len(points) else self.best.time_ps
            elif answer is None and at > low:
                step = max(1, (at - low + 1) // 2)
            elif answer is None:
                fails = int(_GROWTH * fails)
            elif answer.time_ps < self.best.time_ps:
                self.best = answer

    def _points(self) -> Sequence[int]:
        """Times at which a schedule can end, from the least to those of the best, in order."""
        times = self.problem.distinct_times.ravel().tolist()
        unit, best_ps = max(1, gcd(*times)), self.best.time_ps
        try:
            return [point for point in sums({*times} - {0}, best_ps) if point >= self.least_ps]
        except OverflowError:
            return range(-(-self.least_ps // unit) * unit, best_ps + 1, unit)

    def _ask(self, within_ps: int, fails: int, effort: Effort) -> Schedule | Literal[False] | None:
        """Return a schedule of that time at most, False if there is none, None if that stays open."""
        self.asked += 1
        with limited(effort) as cancellation:
            is_refuted, columns, _ = solvers.decide_schedule(
                self.problem.native, within_ps, effort.seed + self.asked, fails, cancellation
            )
        if columns is None:
            return False if is_refuted else None
        return Schedule.of(self.problem, *columns)
