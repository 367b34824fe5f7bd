"""Whole spaces as rows, evaluated here, and the brute force that the shortcuts are compared with."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from dse.answers.selection import best
from dse.answers.whatif import Candidates, Parameter
from dse.inputs.strategies import Strategy
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, Scenario, evaluate, scenario_of, strategy_of_row
from dse.studies.store import StudyRow

TINY = ("system=torus_4x4", "model=tiny")
LLAMA4 = ("system=system1", "model=llama70b", "model.num_layers=4")


@functools.cache
def scenario(*overrides: str) -> Scenario:
    return scenario_of(compose_config(list(overrides)))


@functools.cache
def rows(*overrides: str) -> tuple[StudyRow, ...]:
    """Every split into data, tensor and sequence parallelism, with and without recompute."""
    on = scenario(*overrides)
    degrees = [2**exponent for exponent in range(7)]
    splits = itertools.product(degrees, repeat=3)
    return tuple(
        evaluate(DesignPoint(on, Strategy(dp, tp, sp, activation_recompute=recompute)))
        for dp, tp, sp in splits
        if dp * tp * sp == on.system.npus
        for recompute in (False, True)
    )


def brute_force(
    parameter: Parameter, value: float, some: Sequence[StudyRow], on: Scenario, cap: int | None
) -> Strategy | None:
    """The winner at a value, every strategy evaluated."""
    there = parameter.applied_to(on, value)
    found = best([evaluate(DesignPoint(there, strategy_of_row(row))) for row in some], memory_cap_bytes=cap)
    return None if found is None else strategy_of_row(found)


def candidates(*overrides: str, cap: int | None = None) -> Candidates:
    all_rows = rows(*overrides)
    first = best(all_rows, memory_cap_bytes=cap)
    assert first is not None
    return Candidates(all_rows, first, cap)
