"""Objects that many cases share, in Ray's object store: put there once, many together, and named by tasks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Generic

from dse.studies.evaluator import Case, Evaluator
from dse.studies.executors.chunks import Item
from dse.studies.store.row import Row

_KEPT = 10_000  # objects that later chunks may need: points come with those of a scenario together

Part = tuple[int, int, Sequence[Any]]


class Packs(Generic[Case, Row]):
    """Lists of shared objects that have been put into the store; the last objects keep their place."""

    def __init__(self, put: Callable[[list[Any]], Any], evaluator: Evaluator[Case, Row]) -> None:
        """`put` stores a list and returns its reference."""
        self._put = put
        self._split = evaluator.split
        self._places: OrderedDict[int, tuple[Any, Any, int]] = OrderedDict()

    def of(self, items: Sequence[Item[Case]]) -> tuple[list[Any], list[Part]]:
        """Return the packs of these cases, and cases by (number of the pack, place in it, their rests)."""
        runs = [
            (same[0][0], [rest for _, rest in same])
            for _, group in groupby((self._split(case) for _, case in items), key=lambda split: id(split[0]))
            for same in [list(group)]
        ]
        self._add({id(shared): shared for shared, _ in runs})
        packs: dict[Any, int] = {}
        parts: list[Part] = []
        for shared, rests in runs:
            _, pack, place = self._places[id(shared)]
            parts.append((packs.setdefault(pack, len(packs)), place, rests))
        while len(self._places) > _KEPT:
            self._places.popitem(last=False)
        return list(packs), parts

    def _add(self, objects: dict[int, Any]) -> None:
        for name in objects:
            if name in self._places:
                self._places.move_to_end(name)
        new = [shared for name, shared in objects.items() if name not in self._places]
        if new:
            pack = self._put(new)
            for place, shared in enumerate(new):
                self._places[id(shared)] = shared, pack, place  # held, so that its id stays its own
