"""Scenarios in Ray's object store: put there once, many together, and named by tasks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from dse.inputs.strategies import Strategy
from dse.studies.executors.chunks import Item
from dse.studies.points import Scenario

_KEPT = 10_000  # scenarios that later chunks may need: points come with those of a scenario together

Part = tuple[int, int, Sequence[Strategy]]


class ScenarioPacks:
    """Lists of scenarios that have been put into the store; the last scenarios keep their place."""

    def __init__(self, put: Callable[[list[Scenario]], Any]) -> None:
        """`put` stores a list and returns its reference."""
        self._put = put
        self._places: OrderedDict[int, tuple[Scenario, Any, int]] = OrderedDict()

    def of(self, items: Sequence[Item]) -> tuple[list[Any], list[Part]]:
        """Return the packs of these points, and points by (number of the pack, place in it, strategies)."""
        runs = [
            (same[0].scenario, [point.strategy for point in same])
            for _, group in groupby(items, key=lambda item: id(item[1].scenario))
            for same in [[point for _, point in group]]
        ]
        self._add({id(scenario): scenario for scenario, _ in runs})
        packs: dict[Any, int] = {}
        parts: list[Part] = []
        for scenario, strategies in runs:
            _, pack, place = self._places[id(scenario)]
            parts.append((packs.setdefault(pack, len(packs)), place, strategies))
        while len(self._places) > _KEPT:
            self._places.popitem(last=False)
        return list(packs), parts

    def _add(self, scenarios: dict[int, Scenario]) -> None:
        for name in scenarios:
            if name in self._places:
                self._places.move_to_end(name)
        new = [scenario for name, scenario in scenarios.items() if name not in self._places]
        if new:
            pack = self._put(new)
            for place, scenario in enumerate(new):
                self._places[id(scenario)] = scenario, pack, place  # held, so that its id stays its own
