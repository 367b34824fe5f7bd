"""A space as a model-based search sees it: indices of parameters, and the points below a choice of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dse.inputs.strategies.strategy import AXIS, STRATEGY_FIELDS, Strategy
from dse.studies.points import DesignPoint

Choice = tuple[int, ...]
"""One index for each parameter of a view."""

_SWITCH = 1.0  # how far true is from false, in halvings of a degree
_ZERO = 0.5  # a count of 0 is a halving from 1


@dataclass(frozen=True)
class SearchParameter:
    """Something to choose besides the strategy: `size` values, `is_ordered` if neighbours are alike."""

    name: str
    size: int
    is_ordered: bool


@dataclass(frozen=True)
class View:
    """A space: parameters whose product may be huge, and the few strategies below one choice of them.

    `points` returns the points of a choice, one for each strategy that the constraints allow and that is
    feasible, in a fixed order; none if there are none; `infeasible` how many strategies are allowed and not
    feasible. Both raise an InputError if the choice is no valid model or system. `strategy_axes` has the
    values of each field of a strategy, ascending.
    """

    parameters: tuple[SearchParameter, ...]
    strategy_axes: Mapping[str, tuple[Any, ...]]
    points: Callable[[Choice], tuple[DesignPoint, ...]]
    infeasible: Callable[[Choice], int]

    @property
    def choices(self) -> int:
        """Number of combinations of the parameters."""
        return math.prod(parameter.size for parameter in self.parameters)


def by_distance(points: tuple[DesignPoint, ...], wanted: Mapping[str, Any]) -> list[DesignPoint]:
    """Sort points by the distance of their strategies from a wanted one, which need not exist; stable.

    Distance counts doublings and halvings of degrees and counts, and switches and choices that differ.
    """
    return sorted(points, key=lambda point: _distance(point.strategy, wanted))


def _distance(strategy: Strategy, wanted: Mapping[str, Any]) -> float:
    distance = 0.0
    for name in STRATEGY_FIELDS:
        value = getattr(strategy, name)
        if AXIS[name].unit == "1":
            distance += abs(math.log2((value or _ZERO) / (wanted[name] or _ZERO)))
        else:
            distance += _SWITCH * (value != wanted[name])
    return distance
