"""What a configuration tells a model-based search: its space as a view, and its goals."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dse.models import ModelSpec
from dse.points import DesignPoint, Scenario
from dse.search.goals import Goals
from dse.search.view import Choice, Parameter, View
from dse.space import DesignSpace
from dse.space.axes import variants
from dse.space.constraints import Filter
from dse.strategies import STRATEGY_FIELDS
from dse.systems import SystemSpec

if TYPE_CHECKING:
    from dse.config import Config

_KEPT = 256  # choices whose points are kept; samplers come back to the same ones


def view_of(
    space: DesignSpace, models: Sequence[ModelSpec], systems: Sequence[SystemSpec], base: Scenario
) -> View:
    """Return a space; its models and systems are built when a search chooses them.

    Numeric axes are sorted, so that neighbours are alike. `base` has what all scenarios share.
    """
    axes = [_sorted(values) for _, values in space.axes]
    selection = Filter({name: getattr(space, name) for name in STRATEGY_FIELDS}, space.constraints)

    @functools.lru_cache(maxsize=_KEPT)
    def points(choice: Choice) -> tuple[DesignPoint, ...]:
        model_index, system_index, *indices = choice
        chosen = [values[index] for values, index in zip(axes, indices, strict=True)]
        fixed = [(key, (value,)) for (key, _), value in zip(space.axes, chosen, strict=True)]
        model, system = next(variants(models[model_index], systems[system_index], fixed))
        scenario = dataclasses.replace(base, model=model, system=system)
        return tuple([DesignPoint(scenario, strategy) for strategy in selection.strategies(model, system)])

    return View(
        parameters=(
            Parameter("model", len(models), False),
            Parameter("system", len(systems), False),
            *[Parameter(key, len(values), _is_numeric(values)) for key, values in space.axes],
        ),
        strategy_axes={name: tuple(sorted(getattr(space, name))) for name in STRATEGY_FIELDS},
        points=points,
    )


def goals_of(config: Config) -> tuple[Goals, list[str]]:
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
    return Goals(search.objectives, budgets, config.memory_cap_bytes), notes


def _sorted(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(values)) if _is_numeric(values) else values


def _is_numeric(values: tuple[object, ...]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
