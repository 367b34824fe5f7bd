"""Settings of a design space: keys, types, meanings; and the space that they describe."""

from __future__ import annotations

import types
from dataclasses import asdict, dataclass, make_dataclass
from typing import Any

from dse.base.settings import check_choice, key, mapping
from dse.inputs.strategies import AXES, STRATEGY_FIELDS, StrategyAxis
from dse.inputs.strategies.settings import axis_key
from dse.studies.space.space import DesignSpace

_AS_STRATEGY = "which evaluates one strategy; write strategy.{name}=…"


def _choices_field(axis: StrategyAxis) -> tuple[str, Any, Any]:
    every = "; null: all with which a strategy fills the NPUs of the system" if axis.is_degree else ""
    listed: Any = types.GenericAlias(list, axis.type)
    return (
        axis.name,
        listed | None if axis.is_degree else listed,
        axis_key(axis, f"values to try: {axis.meaning}{every}", [axis.default], _AS_STRATEGY),
    )


_Choices = make_dataclass("_Choices", map(_choices_field, AXES))


@dataclass
class _Named:
    name: str = key("text")


@dataclass
class SpaceSchema(_Choices, _Named):  # type: ignore[misc, valid-type]  # mypy does not see what is made
    """conf/space/*.yaml: see `dse.studies.space.DesignSpace`."""

    constraints: list[str] = key("what a point must satisfy, see [Constraints](configuration.md#constraints)")
    axes: dict[str, list[Any]] = key(
        "further axes: values by field of model, system or strategy, see [Axes](configuration.md#axes)",
        factory=mapping(list[Any]),
        instead="which evaluates one point; write the fields, such as system.peak_tflops=900",
    )
    launchable: str | None = key(
        "only strategies that a framework can run: megatron-lm, torchtitan, ...; null: all",
        None,
        instead="which evaluates one point; dse launch says whether a framework runs it",
    )


def design_space(values: SpaceSchema) -> DesignSpace:
    """Return the space.

    Raises:
        InputError: an axis or a constraint is wrong; names the key, what was got and what is allowed.
    """
    fields: dict[str, Any] = {name: _frozen(value) for name, value in asdict(values).items()}
    fields["axes"] = tuple((name, _frozen(listed)) for name, listed in values.axes.items())
    fields["launchable"] = fields["launchable"] or ""
    framework_that_runs(fields["launchable"])
    return DesignSpace(choices={axis: fields.pop(axis) for axis in STRATEGY_FIELDS}, **fields)


def framework_that_runs(launchable: str | None) -> str:
    """Return the file of conf/framework for plans that a framework must be able to run; "" without one.

    Raises:
        InputError: there is no such framework.
    """
    if not launchable:
        return ""
    from dse.prediction.frameworks.dialect import FRAMEWORKS, dialect_named

    check_choice("space.launchable", launchable, FRAMEWORKS.listed())
    return next(iter(dialect_named(launchable).constants), "")


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
