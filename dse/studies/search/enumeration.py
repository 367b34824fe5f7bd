"""Searches that need no model: every point of a space, a random sample of it, or all that may still win."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from dse.base.errors import InputError
from dse.inputs.systems.values import memory_of_spec
from dse.simulation.costs.bounds import lower_bound
from dse.studies.points import DesignPoint
from dse.studies.points.blocks import PointBlock, SpacePoints, blocks_of
from dse.studies.search.base import Points, Search, SearchInputs, coverage, none_feasible
from dse.studies.space import sample
from dse.studies.space.pruning import Pruner
from dse.studies.store import StudyRow


def make_exhaustive(inputs: SearchInputs, points: Points) -> Search:
    """Return the search that `search=exhaustive` names."""
    return Pruned(points, inputs.chosen_cap_bytes) if inputs.search.prune else Exhaustive(points)


def make_random(inputs: SearchInputs, points: Points) -> Search:
    """Return the search that `search=random` names."""
    assert inputs.search.samples is not None
    return RandomSample(points, inputs.search.samples, inputs.search.seed)


class Exhaustive(Search):
    """Every point."""

    def __init__(self, points: Points) -> None:
        self._points = points

    def batches(self) -> Iterator[Iterable[DesignPoint]]:
        """See `Search.batches`: one batch."""
        yield self._points()


class RandomSample(Search):
    """`samples` feasible points drawn without replacement, in the order of the space; all if there are fewer.

    The same space, number and seed give the same sample on every machine.
    """

    def __init__(self, points: Points, samples: int, seed: int) -> None:
        self._points = points
        self._samples = samples
        self._seed = seed
        self._notes: list[str] = []

    def batches(self) -> Iterator[Iterable[DesignPoint]]:
        """See `Search.batches`: one batch.

        Raises:
            InputError: as `Search.batches`, or no point is feasible.
        """
        blocks = [(block, block.feasible) for block in blocks_of(self._points())]
        feasible = np.flatnonzero(np.concatenate([np.zeros(0, bool), *[found for _, found in blocks]]))
        infeasible = sum(len(block) for block, _ in blocks) - len(feasible)
        if not len(feasible):
            raise InputError(none_feasible("random", infeasible))
        chosen = np.array(sample(feasible.tolist(), self._samples, self._seed))
        self._notes = [coverage("random", len(chosen), len(feasible), infeasible)]
        yield SpacePoints(_chosen([block for block, _ in blocks], chosen))

    def notes(self) -> list[str]:
        """See `Search.notes`."""
        return self._notes


def _chosen(blocks: Iterable[PointBlock], places: NDArray[np.intp]) -> Iterator[PointBlock]:
    first = 0
    for block in blocks:
        inside = places[(places >= first) & (places < first + len(block))]
        first += len(block)
        yield block.take(inside - (first - len(block)))


class Pruned(Search):
    """Every point but those that provably cannot be the best of their model and system, capped or not.

    Proof is a lower bound of wall time and peak memory (`dse.simulation.costs.bounds`). The strategies of a
    scenario are proposed by ascending bound, so that a good one comes early.
    """

    learns = True

    def __init__(self, points: Points, memory_cap_bytes: int | None) -> None:
        """Where the cap is None, that of a system is the memory of its NPUs."""
        self._points = points
        self._cap = memory_cap_bytes
        self._pruners: dict[int, Pruner] = {}  # by cap

    def batches(self) -> Iterator[Iterable[DesignPoint]]:
        """See `Search.batches`: one batch, thinned while it is drawn."""
        yield self._candidates()

    def tell(self, row: StudyRow) -> None:
        """See `Search.tell`."""
        if row.wall_time_ns is not None:
            pruner = self._pruner(row.system_spec)
            pruner.saw((row.model_spec, row.system_spec), row.wall_time_ns, row.peak_memory_bytes)

    def notes(self) -> list[str]:
        """See `Search.notes`."""
        counts = Counter[str]()
        for pruner in self._pruners.values():
            counts.update(pruner.counts())
        return [f"pruned {count} points: {reason}" for reason, count in counts.items() if count]

    def _pruner(self, system_spec: str | None) -> Pruner:
        cap = memory_of_spec(system_spec) if self._cap is None else self._cap
        return self._pruners.setdefault(cap, Pruner(cap))

    def _candidates(self) -> Iterator[DesignPoint]:
        for _, points in itertools.groupby(self._points(), lambda point: id(point.scenario)):
            yield from self._worth_evaluating(list(points))

    def _worth_evaluating(self, points: list[DesignPoint]) -> Iterator[DesignPoint]:
        bounded = [
            (lower_bound(point.scenario.model, point.strategy, point.scenario.system), point)
            for point in points
        ]
        bounded.sort(key=lambda pair: pair[0].wall_time_ns)
        for bound, point in bounded:
            scenario = point.scenario
            if self._pruner(scenario.system_spec).can_win((scenario.model_spec, scenario.system_spec), bound):
                yield point
