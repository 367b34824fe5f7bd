"""Many strategies as columns: the values of each axis, and which of them each strategy has."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dse.inputs.strategies.axes import AxisValue
from dse.inputs.strategies.strategy import AXES, STRATEGY_FIELDS, Strategy, strategy_values

Codes = NDArray[np.integer[Any]]

_MOST_LOOKED_UP = 2**20  # combinations that have a table; more are sorted
_MOST_NUMBERED = 2**32  # before those that do not occur are left out


class Strategies(Sequence[Strategy]):
    """Strategies in an order, made one by one when somebody asks for one.

    `values` has the different values of each axis, and `codes` of each axis with several the place of a
    strategy's value among them.
    """

    def __init__(
        self, values: Mapping[str, Sequence[AxisValue]], codes: Mapping[str, Codes], count: int
    ) -> None:
        """Take columns of `count` strategies; an axis that `values` lacks has its default in all of them."""
        self.values = {axis.name: tuple(values.get(axis.name, (axis.default,))) for axis in AXES}
        self.codes = {name: column for name, column in codes.items() if len(self.values[name]) > 1}
        self._count = count

    @classmethod
    def of(cls, strategies: Sequence[Strategy]) -> Strategies:
        """Return strategies as columns."""
        if isinstance(strategies, Strategies):
            return strategies
        values: dict[str, Sequence[AxisValue]] = {}
        codes: dict[str, Codes] = {}
        for name, column in zip(STRATEGY_FIELDS, zip(*map(strategy_values, strategies)), strict=False):  # noqa: B905
            known: dict[tuple[type, AxisValue], int] = {}  # True is no 1
            numbers = [known.setdefault((type(value), value), len(known)) for value in column]
            values[name] = [value for _, value in known]
            codes[name] = np.array(numbers, np.min_scalar_type(len(known)))
        return cls(values, codes, len(strategies))

    def __len__(self) -> int:
        """Return the number of strategies."""
        return self._count

    @overload
    def __getitem__(self, index: int) -> Strategy: ...
    @overload
    def __getitem__(self, index: slice) -> Strategies: ...
    def __getitem__(self, index: int | slice) -> Strategy | Strategies:
        """Return a strategy, or some as columns."""
        if isinstance(index, slice):
            return self._part(index, len(range(*index.indices(self._count))))
        place = range(self._count)[index]
        return Strategy(**{name: self.value(name, place) for name in STRATEGY_FIELDS})

    def __iter__(self) -> Iterator[Strategy]:
        """Iterate over the strategies."""
        for values in zip(*[self._listed(name) for name in STRATEGY_FIELDS], strict=False):
            yield Strategy(**dict(zip(STRATEGY_FIELDS, values, strict=True)))

    def _listed(self, name: str) -> Iterable[AxisValue]:
        values, codes = self.values[name], self.codes.get(name)
        if codes is None:
            return itertools.repeat(values[0], self._count)
        return [values[code] for code in codes.tolist()]

    def __eq__(self, other: object) -> bool:
        """Whether others are the same strategies in the same order."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_equal, self, other))

    __hash__ = None  # type: ignore[assignment]

    def value(self, name: str, place: int) -> Any:
        """Return the value of an axis of the strategy at a place."""
        values, codes = self.values[name], self.codes.get(name)
        return values[0 if codes is None else codes[place]]

    def column(self, name: str) -> Any:
        """Return an axis as an array, of numbers and flags or of texts; a single value where all have it."""
        values, codes = self.values[name], self.codes.get(name)
        if codes is None:
            return values[0]
        types = {type(value) for value in values}
        kind = bool if types == {bool} else np.int64 if types == {int} and _are_short(values) else object
        return np.array(values, kind)[codes]

    def asked(
        self, names: Sequence[str], function: Callable[..., Any], **given: Any
    ) -> tuple[list[Any], NDArray[np.intp]]:
        """Ask a function of some axes once for each combination of their values; `given` are no axes.

        Returns:
            The answers, and for each strategy the number of its own.
        """
        firsts, kinds = self.kinds([name for name in names if name not in given])
        answers = [
            function(*[given[name] if name in given else self.value(name, place) for name in names])
            for place in firsts.tolist()
        ]
        return answers, kinds

    def __getattr__(self, name: str) -> Any:
        """Return the column of an axis, so that a rule reads the same for one strategy and for many."""
        if name not in STRATEGY_FIELDS or "values" not in self.__dict__:
            raise AttributeError(name)
        return self.column(name)

    def take(self, which: NDArray[Any]) -> Strategies:
        """Return the strategies at some places, or where a mask is true."""
        count = int(np.count_nonzero(which)) if which.dtype == bool else len(which)
        return self._part(which, count)

    def crossed(self, name: str, values: Sequence[AxisValue]) -> Strategies:
        """Return each strategy with each of several values of an axis, which vary fastest."""
        own = np.arange(len(values), dtype=np.min_scalar_type(len(values)))
        codes = {each: np.repeat(column, len(values)) for each, column in self.codes.items()}
        codes[name] = np.tile(own, self._count)
        return Strategies({**self.values, name: values}, codes, self._count * len(values))

    def kinds(self, names: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Number the combinations of values of some axes that occur.

        Returns:
            The place of the first strategy of each combination, and for each strategy its combination.
        """
        size, numbers = 1, np.zeros(self._count, np.int64)
        for name in dict.fromkeys(names):
            if name in self.codes:
                if size > _MOST_NUMBERED:
                    numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
                    size = self._count
                size *= len(self.values[name])
                numbers = numbers * len(self.values[name]) + self.codes[name]
        if size == 1:  # all are alike
            return numbers[:1], numbers
        if size > _MOST_LOOKED_UP:
            _, first, kinds = np.unique(numbers, return_index=True, return_inverse=True)
            return first, kinds.reshape(-1)
        firsts = np.full(size, -1, np.intp)
        firsts[numbers[::-1]] = np.arange(self._count - 1, -1, -1)
        present = np.flatnonzero(firsts >= 0)
        places = np.zeros(size, np.intp)
        places[present] = np.arange(len(present))
        return firsts[present], places[numbers]

    def _part(self, index: Any, count: int) -> Strategies:
        return Strategies(self.values, {name: column[index] for name, column in self.codes.items()}, count)


def _are_short(values: Sequence[Any]) -> bool:
    return all(abs(value) < 2**63 for value in values)


def _equal(one: Strategy, other: object) -> bool:
    return one == other
