"""Which strategies satisfy the constraints for a model and a system, and what each constraint removes."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

from dse.expressions import Expression
from dse.models import ModelSpec
from dse.space.degrees import Axes, combinations, is_open
from dse.space.names import FieldNames, Reader, explain, reader, strategy_field
from dse.strategies import STRATEGY_FIELDS, Strategy
from dse.systems import SystemSpec

_KEPT_LISTS = 64
_NAMES = FieldNames()


class Constraints:
    """Selects strategies, scenario by scenario, and counts.

    The list of strategies depends on a scenario only through the values that constraints read of it: few
    lists serve many scenarios.

    `combinations` and `points` count over all scenarios so far.

    Raises:
        InputError: a constraint outside the language.
    """

    def __init__(self, axes: Axes, constraints: Sequence[str]) -> None:
        """Parse the constraints."""
        self._axes = axes
        self._is_open = is_open(axes)
        self._all = [
            Expression(text, _NAMES, f"space.constraints.{index}", explain)
            for index, text in enumerate(constraints)
        ]
        on_strategy = [any(map(strategy_field, expression.names_used)) for expression in self._all]
        self._of_scenario = [e for e, uses in zip(self._all, on_strategy, strict=True) if not uses]
        self._of_strategy = [e for e, uses in zip(self._all, on_strategy, strict=True) if uses]
        self._scenario_readers = _readers(self._of_scenario)
        self._readers = _readers(self._of_strategy)
        self._removed = dict.fromkeys(self._all, 0)
        self._select = functools.lru_cache(maxsize=_KEPT_LISTS)(self._selected)
        self._size = functools.lru_cache(maxsize=_KEPT_LISTS)(self._counted)
        self.scenarios = 0
        self.combinations = 0
        self.points = 0

    def strategies(self, model: ModelSpec, system: SystemSpec) -> tuple[Strategy, ...]:
        """Return the strategies for a model and a system, first axis (dp) slowest.

        Raises:
            InputError: a constraint cannot be evaluated.
        """
        npus = system.npus if self._is_open else 0
        size = self._size(npus)
        self.scenarios += 1
        self.combinations += size
        values = {name: read(model, system) for name, read in self._scenario_readers.items()}
        for expression in self._of_scenario:
            if not expression.holds(values):
                self._removed[expression] += size
                return ()
        strategies, removed = self._select(npus, *[read(model, system) for read in self._readers.values()])
        for expression, count in zip(self._of_strategy, removed, strict=True):
            self._removed[expression] += count
        self.points += len(strategies)
        return strategies

    def removed(self) -> list[tuple[Expression, int]]:
        """Return how many combinations each constraint removed, in the order of the constraints."""
        return list(self._removed.items())

    def removed_in_order(self) -> list[tuple[Expression, int]]:
        """Return the same in the order of evaluation."""
        return [(each, self._removed[each]) for each in (*self._of_scenario, *self._of_strategy)]

    def _counted(self, npus: int) -> int:
        if self._is_open:
            return sum(1 for _ in combinations(self._axes, npus))
        return math.prod([len(values or ()) for values in self._axes.values()])

    def _selected(self, npus: int, *of_scenario: float) -> tuple[tuple[Strategy, ...], tuple[int, ...]]:
        """Return the strategies, and how many each constraint removes, for values of `self._readers`."""
        values = dict(zip(self._readers, of_scenario, strict=True))
        removed = [0] * len(self._of_strategy)
        found = []
        # Short and dotted names of one field are both set: which of them constraints use costs more to ask.
        keys = [(field, f"strategy.{field}") for field in STRATEGY_FIELDS]
        names = list(itertools.chain.from_iterable(keys))
        for combination in combinations(self._axes, npus):
            doubled = [value for value in combination for _ in range(2)]
            values.update(zip(names, doubled, strict=True))
            for index, expression in enumerate(self._of_strategy):
                if not expression.holds(values):
                    removed[index] += 1
                    break
            else:
                found.append(Strategy(*combination))  # type: ignore[arg-type]
        return tuple(found), tuple(removed)


def _readers(expressions: Sequence[Expression]) -> dict[str, Reader]:
    names = {name: each.key for each in expressions for name in each.names_used if not strategy_field(name)}
    return {name: reader(name, key) for name, key in names.items()}
