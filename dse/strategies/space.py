"""The design space: axes and constraints as data, enumerated in a fixed order, and samples of it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from dse.errors import InputError
from dse.models import MODEL_DIMENSIONS, ModelSpec
from dse.strategies.expressions import Expression
from dse.strategies.strategy import STRATEGY_FIELDS, Strategy

_SWITCHES = ("weight_sharded", "activation_recompute")
_AXES = STRATEGY_FIELDS
_NAMES = (*_AXES, "npus", *MODEL_DIMENSIONS)
_MAX_DEGREE = 2**31 - 1

_Point = TypeVar("_Point")


@dataclass(frozen=True)
class DesignSpace:
    """The strategies worth trying: the product of six axes, less what violates a constraint.

    A constraint is an `Expression` over the axes, `npus` (of the network) and the dimensions of the model; a
    combination that violates one is not a point.

    Raises:
        InputError: an empty axis, a degree that is no positive integer, a value listed twice, or a constraint
            outside the language; names the key as a user writes it, such as `space.tp`.
    """

    name: str
    dp: tuple[int, ...]
    tp: tuple[int, ...]
    sp: tuple[int, ...]
    pp: tuple[int, ...]
    weight_sharded: tuple[bool, ...]
    activation_recompute: tuple[bool, ...]
    constraints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check axes and constraints."""
        for axis in _AXES:
            _check_axis(axis, getattr(self, axis))
        self._parse_constraints()

    def points(self, npus: int, model: ModelSpec) -> tuple[Strategy, ...]:
        """Return the strategies for a network of `npus` NPUs, first axis (dp) slowest, last axis fastest.

        Raises:
            InputError: no strategy is left (says which constraint removed the last), or a constraint cannot
                be evaluated, for example because it divides by zero.
        """
        axes = [getattr(self, axis) for axis in _AXES]
        points = [dict(zip(_AXES, values, strict=True)) for values in itertools.product(*axes)]
        total = len(points)
        given = {"npus": npus} | {key: getattr(model, key) for key in MODEL_DIMENSIONS}
        for constraint in self._parse_constraints():
            remaining = [point for point in points if constraint.holds(given | point)]
            if not remaining:
                raise InputError(
                    f"space '{self.name}' is empty: {constraint.key} '{constraint.text}' removes the last "
                    f"{len(points)} of {total} combinations; the network has {npus} NPUs, "
                    f"the model is {model.name}"
                )
            points = remaining
        return tuple(Strategy(**point) for point in points)

    def _parse_constraints(self) -> list[Expression]:
        return [
            Expression(text, _NAMES, key=f"space.constraints.{index}")
            for index, text in enumerate(self.constraints)
        ]


def sample(points: Sequence[_Point], count: int, seed: int) -> tuple[_Point, ...]:
    """Return `count` of the points drawn without replacement, in their order; all of them if there are fewer.

    The same points, count and seed give the same sample on every machine.

    Raises:
        InputError: `count` is below 1.
    """
    if count < 1:
        raise InputError(f"search.samples is {count}; it must be at least 1")
    if count >= len(points):
        return tuple(points)
    return tuple(points[index] for index in sorted(random.Random(seed).sample(range(len(points)), count)))


def _check_axis(axis: str, values: tuple[object, ...]) -> None:
    key = f"space.{axis}"
    if not values:
        raise InputError(f"{key} is empty; it must list at least one value")
    for value in values:
        if axis in _SWITCHES:
            if not isinstance(value, bool):
                raise InputError(f"{key} lists {value!r}; its values must be true or false")
        elif isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_DEGREE:
            raise InputError(f"{key} lists {value!r}; its values must be integers from 1 to {_MAX_DEGREE}")
        if values.count(value) > 1:
            shown = str(value).lower() if isinstance(value, bool) else value
            raise InputError(f"{key} lists {shown} more than once; its values must differ")
