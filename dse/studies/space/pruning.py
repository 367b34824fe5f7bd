"""Leaving out points that provably cannot win, so that the optimum stays what it is."""

from __future__ import annotations

from collections.abc import Hashable

from dse.simulation.costs.bounds import Bound

SLOWER = "slower than the best even at full utilisation"
TOO_LARGE = "does not fit and is slower than the best without a cap"


class Pruner:
    """Remembers the best points of each scenario, and says what cannot be better.

    Two questions are kept right: the fastest point, and the fastest whose peak memory is within the cap. A
    point is pruned only if its bound is strictly above the best of both, so that ties are evaluated. Other
    questions about a pruned study, such as its Pareto front, may have other answers. Not for use by several
    threads at once.
    """

    def __init__(self, memory_cap_bytes: int | None) -> None:
        """Start without knowledge; the cap is per rank, None means that there is none."""
        self._cap = memory_cap_bytes
        self._best_ns: dict[Hashable, int] = {}
        self._best_fitting_ns: dict[Hashable, int] = {}
        self._counts = {SLOWER: 0, TOO_LARGE: 0}

    def saw(self, scenario_id: Hashable, wall_time_ns: int, peak_memory_bytes: int | None) -> None:
        """Take note of a point that was evaluated; without a known peak it is not taken to fit a cap."""
        _lower(self._best_ns, scenario_id, wall_time_ns)
        fits = self._cap is None or (peak_memory_bytes is not None and peak_memory_bytes <= self._cap)
        if fits:
            _lower(self._best_fitting_ns, scenario_id, wall_time_ns)

    def can_win(self, scenario_id: Hashable, bound: Bound) -> bool:
        """Return whether a point may still be the optimum of one of the questions; if not, count it."""
        best_ns = self._best_ns.get(scenario_id)
        if best_ns is None or bound.wall_time_ns <= best_ns:
            return True
        best_fitting_ns = self._best_fitting_ns.get(scenario_id)
        if best_fitting_ns is not None and bound.wall_time_ns > best_fitting_ns:
            self._counts[SLOWER] += 1
            return False
        if self._cap is not None and bound.peak_memory_bytes > self._cap:
            self._counts[TOO_LARGE] += 1
            return False
        return True

    def counts(self) -> dict[str, int]:
        """Return the number of pruned points by reason."""
        return dict(self._counts)


def _lower(best_ns: dict[Hashable, int], scenario_id: Hashable, wall_time_ns: int) -> None:
    known = best_ns.get(scenario_id)
    if known is None or wall_time_ns < known:
        best_ns[scenario_id] = wall_time_ns
