"""How the wall time of a point, and the best strategy, follow each number of the system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.answers.whatif.candidates import Candidates
from dse.answers.whatif.parameters import Parameter, parameters_of
from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.studies.points import DesignPoint, evaluate, strategy_of_row
from dse.studies.store import StudyRow

FACTORS = (0.5, 0.8, 1.25, 2.0)
"""By which parameters are multiplied unless told otherwise."""

STEP = 0.01
"""Relative step of the central difference of elasticities."""


@dataclass(frozen=True)
class Sample:
    """The wall time at a factor; `value` is what the parameter was, None for the time if it is not ok."""

    factor: float
    value: float
    wall_time_ns: int | None


@dataclass(frozen=True)
class Sensitivity:
    """How one point follows one parameter.

    `elasticity` is d ln(wall time) / d ln(parameter): -1 if doubling the parameter halves the wall time, 0 if
    the parameter does not matter; None if a neighbouring point is not ok.
    """

    parameter: Parameter
    wall_time_ns: int | None
    elasticity: float | None
    samples: tuple[Sample, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data: parameter, value, elasticity, wall_time_ns, samples."""
        return {
            "parameter": self.parameter.key,
            "value": self.parameter.value,
            "elasticity": self.elasticity,
            "wall_time_ns": self.wall_time_ns,
            "samples": [vars(sample) for sample in self.samples],
        }


@dataclass(frozen=True)
class Optimum:
    """The strategy that wins at a factor; None if nothing fits under the cap there."""

    factor: float
    value: float
    strategy: Strategy | None
    wall_time_ns: int | None


def sensitivity(
    point: DesignPoint, factors: Sequence[float] = FACTORS, parameters: Sequence[Parameter] | None = None
) -> list[Sensitivity]:
    """Evaluate a point with each parameter at each factor and at both neighbours for its elasticity.

    The workload is generated once. `parameters` are all of `parameters_of` by default.

    Raises:
        InputError: a factor is not a positive number, or the system refuses a value.
    """
    _check(factors)
    if parameters is None:
        on = point.scenario
        parameters = parameters_of(on.system, on.method)
    present = evaluate(point)
    answers = []
    for parameter in parameters:
        known: dict[float, StudyRow] = {parameter.value: present}
        samples = tuple(
            Sample(factor, value, _wall_time(point, parameter, value, known))
            for factor, value in [(factor, parameter.scaled(factor)) for factor in factors]
        )
        below, above = neighbours(parameter)
        walls = [_wall_time(point, parameter, value, known) for value in (below, above)]
        answers.append(Sensitivity(parameter, present.wall_time_ns, _slope((below, above), walls), samples))
    return answers


def neighbours(parameter: Parameter) -> tuple[float, float]:
    """The values of the central difference: 1 % away; of an integer at least 1 away, and above 0."""
    value = parameter.value
    if not parameter.is_integer:
        return value * (1 - STEP), value * (1 + STEP)
    away = max(1, round(value * STEP))
    return max(1, value - away), value + away


def optima(candidates: Candidates, parameter: Parameter, factors: Sequence[float] = FACTORS) -> list[Optimum]:
    """Return which strategy wins at each factor.

    Raises:
        InputError: as `sensitivity`.
    """
    _check(factors)
    found = []
    for factor in factors:
        value = parameter.scaled(factor)
        row = candidates.winner_at(parameter, value)
        strategy = None if row is None else strategy_of_row(row)
        found.append(Optimum(factor, value, strategy, None if row is None else row.wall_time_ns))
    return found


def _check(factors: Sequence[float]) -> None:
    for factor in factors:
        if not (math.isfinite(factor) and factor > 0):
            raise InputError(f"factor {factor} is not a positive number; write some such as 0.5, 1.25, 2")


def _wall_time(
    point: DesignPoint, parameter: Parameter, value: float, known: dict[float, StudyRow]
) -> int | None:
    if value not in known:
        known[value] = evaluate(DesignPoint(parameter.applied_to(point.scenario, value), point.strategy))
    return known[value].wall_time_ns


def _slope(values: tuple[float, float], walls: Sequence[int | None]) -> float | None:
    below, above = walls
    if not below or not above:
        return None
    return (math.log(above) - math.log(below)) / (math.log(values[1]) - math.log(values[0]))
