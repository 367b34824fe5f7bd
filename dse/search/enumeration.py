"""Searches that need no model: every point of a space, a random sample of it, or all that may still win."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator

from dse.points import DesignPoint
from dse.results import StudyRow
from dse.search.base import Search
from dse.space.bounds import lower_bound
from dse.space.pruning import Pruner

Points = Callable[[], Iterator[DesignPoint]]
"""Enumerates a space from its beginning, in a fixed order."""


class Exhaustive(Search):
    """Every point."""

    def __init__(self, points: Points) -> None:
        """Keep the space; nothing is enumerated yet."""
        self._points = points

    def batches(self) -> Iterator[Iterable[DesignPoint]]:
        """See `Search.batches`: one batch."""
        yield self._points()


class RandomSample(Search):
    """`samples` points drawn without replacement, in the order of the space; all of them if there are fewer.

    The same space, number and seed give the same sample on every machine.
    """

    def __init__(self, points: Points, samples: int, seed: int) -> None:
        """Keep the space; nothing is enumerated yet."""
        self._points = points
        self._samples = samples
        self._seed = seed

    def batches(self) -> Iterator[Iterable[DesignPoint]]:
        """See `Search.batches`: one batch."""
        count = sum(1 for _ in self._points())
        if self._samples >= count:
            yield self._points()
            return
        chosen = set(random.Random(self._seed).sample(range(count), self._samples))
        yield (point for index, point in enumerate(self._points()) if index in chosen)


class Pruned(Search):
    """Every point but those that provably cannot be the best of their model and system, capped or not.

    Proof is a lower bound of wall time and peak memory (`dse.space.bounds`). The strategies of a scenario
    are proposed by ascending bound, so that a good one comes early.
    """

    learns = True

    def __init__(self, points: Points, memory_cap_bytes: int | None) -> None:
        """Keep the space; nothing is enumerated yet."""
        self._points = points
        self._pruner = Pruner(memory_cap_bytes)

    def batches(self) -> Iterator[Iterable[DesignPoint]]:
        """See `Search.batches`: one batch, thinned while it is drawn."""
        yield self._candidates()

    def tell(self, row: StudyRow) -> None:
        """See `Search.tell`."""
        if row.wall_time_ns is not None:
            self._pruner.saw((row.model_spec, row.system_spec), row.wall_time_ns, row.peak_memory_bytes)

    def notes(self) -> list[str]:
        """See `Search.notes`."""
        return [
            f"pruned {count} points: {reason}" for reason, count in self._pruner.counts().items() if count
        ]

    def _candidates(self) -> Iterator[DesignPoint]:
        scenario: list[DesignPoint] = []
        for point in self._points():
            if scenario and point.scenario is not scenario[0].scenario:
                yield from self._worth_evaluating(scenario)
                scenario = []
            scenario.append(point)
        yield from self._worth_evaluating(scenario)

    def _worth_evaluating(self, points: list[DesignPoint]) -> Iterator[DesignPoint]:
        bounded = [
            (lower_bound(point.scenario.model, point.strategy, point.scenario.system), point)
            for point in points
        ]
        bounded.sort(key=lambda pair: pair[0].wall_time_ns)
        for bound, point in bounded:
            on = point.scenario
            if self._pruner.can_win((on.model_spec, on.system_spec), bound):
                yield point
