"""The inputs of a model-based search from a configuration: its space as a view, and its goals."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import STRATEGY_FIELDS
from dse.inputs.strategies.columns import Strategies
from dse.inputs.systems import SystemSpec
from dse.studies.points import DesignPoint, Scenario
from dse.studies.points.blocks import PointBlock
from dse.studies.search.base import SearchInputs
from dse.studies.search.goals import Goals
from dse.studies.search.view import Choice, SearchParameter, View
from dse.studies.space import DesignSpace
from dse.studies.space.axes import sizes_of, variants
from dse.studies.space.constraints import Constraints
from dse.studies.space.degrees import divisors

_KEPT = 256  # choices whose points are kept; samplers come back to the same ones


def view_of(
    space: DesignSpace, models: Sequence[ModelSpec], systems: Sequence[SystemSpec], base: Scenario
) -> View:
    """Return a space; its models and systems are built when a search chooses them.

    Numeric axes are sorted, so that neighbours are alike. `base` has what all scenarios share.
    """
    axes = [_sorted(values) for _, values in space.axes]
    selection = Constraints(space.choices, space.constraints, space.launchable)

    @functools.lru_cache(maxsize=_KEPT)
    def split(choice: Choice) -> tuple[tuple[DesignPoint, ...], int]:
        model_index, system_index, *indices = choice
        chosen = [values[index] for values, index in zip(axes, indices, strict=True)]
        fixed = [(key, (value,)) for (key, _), value in zip(space.axes, chosen, strict=True)]
        model, system = next(variants(models[model_index], systems[system_index], fixed))
        scenario = dataclasses.replace(base, model=model, system=system)
        found = PointBlock(scenario, Strategies.of(selection.strategies(model, system)))
        feasible = tuple(found.take(found.feasible))
        return feasible, len(found) - len(feasible)

    return View(
        parameters=(
            SearchParameter("model", len(models), False),
            SearchParameter("system", len(systems), False),
            *[SearchParameter(key, len(values), _is_numeric(values)) for key, values in space.axes],
        ),
        strategy_axes={name: _axis_of_strategy(space, name, models, systems) for name in STRATEGY_FIELDS},
        points=lambda choice: split(choice)[0],
        infeasible=lambda choice: split(choice)[1],
    )


def _axis_of_strategy(
    space: DesignSpace, name: str, models: Sequence[ModelSpec], systems: Sequence[SystemSpec]
) -> tuple[Any, ...]:
    """Return the values of a field of a strategy, ascending; of an open axis, those of all systems."""
    values = space.choices[name]
    if values is not None:
        return tuple(sorted(values))
    counts = {system.npus for base in systems for system in sizes_of(base, space.axes, models[0])}
    return tuple(sorted({divisor for npus in counts for divisor in divisors(npus)}))


def goals_of(config: SearchInputs) -> tuple[Goals, list[str]]:
    """Return the objectives and budgets of a configuration, and notes for the user.

    Budgets over peak memory are left out where no system tracks it.

    Raises:
        InputError: an expression is wrong.
    """
    search = config.search
    budgets, notes = search.budgets, []
    if not any(system.track_local_memory for system in config.systems):
        budgets = tuple([budget for budget in budgets if "peak_memory_bytes" not in budget])
        if budgets != search.budgets:
            notes.append("system.track_local_memory is off, so budgets over peak_memory_bytes are ignored")
    by_system = config.chosen_cap_bytes is None
    return Goals(search.objectives, budgets, config.memory_cap_bytes, by_system=by_system), notes


def _sorted(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(values)) if _is_numeric(values) else values


def _is_numeric(values: tuple[object, ...]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
