"""Axes of a space: their keys and values, checked and converted; models and systems that they yield."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from dse.base.errors import InputError, did_you_mean
from dse.base.records import converted
from dse.inputs.models import ModelSpec
from dse.inputs.models.settings import check_head_width
from dse.inputs.strategies import AXIS, STRATEGY_FIELDS
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.clusters import DERIVED
from dse.inputs.systems.fields import FOLLOWING
from dse.studies.space.fields import Path, field_type, replace_fields

Axis = tuple[str, tuple[object, ...]]

_Spec = TypeVar("_Spec")
_SPECS: dict[str, type] = {"model": ModelSpec, "system": SystemSpec}
_FIRST_PARTS = ("strategy", "model", "system")
_ALLOWED = (
    "axes are strategy.<field>, model.<field>, system.<field>, model and system, "
    "in braces such as {strategy.tp:[1,2]}"
)
# A name is a label, and the other two only make files survive a round trip.
_NO_INPUTS = ("name", "inert", "omitted_keys")
_SIZES = ("system.network", "system.nodes", "system.npus_per_node")
_NO_SIZE = (".bandwidth_gbps", ".latency_ns", "_model")  # fields of a network that leave its size alone


def strategy_of_key(key: str) -> str | None:
    """Return the field of a key `strategy.<field>`; None for keys of models and systems.

    Raises:
        InputError: no such field of a strategy.
    """
    first, _, field = key.partition(".")
    if first != "strategy":
        return None
    if not field:
        raise InputError(f"space.axes.{key} is no axis; {_ALLOWED}")
    if field not in STRATEGY_FIELDS:
        hint = did_you_mean(field, STRATEGY_FIELDS)
        known = ", ".join(STRATEGY_FIELDS)
        raise InputError(f"unknown key space.axes.{key}; keys of strategy are {known}{hint}")
    return field


def check_strategy_axis(axis: str, values: object, key: str) -> tuple[Any, ...]:
    """Check and return the values of an axis of strategies; `key` is how messages call it.

    Raises:
        InputError: no value, a value that the axis cannot have, or one listed twice.
    """
    listed, about = _checked_list(values, key), AXIS[axis]
    for value in listed:
        if not about.accepts(value):
            hint = did_you_mean(str(value), about.names)
            raise InputError(f"{key} lists {value!r}; its values must be {about.allowed(plural=True)}{hint}")
    _check_distinct(listed, listed, key)
    return listed


def spec_axis(key: str, values: Sequence[object]) -> Axis:
    """Return an axis over a field of model or system, with values of the type of the field.

    Raises:
        InputError: an unknown field, one that is no input, no value, a value of another type or twice.
    """
    name = f"space.axes.{key}"
    _checked_list(values, name)
    first, *path = key.split(".")
    if first not in _SPECS or not path:
        raise InputError(f"{name} is no axis; {_ALLOWED}{did_you_mean(first, _FIRST_PARTS)}")
    hint = field_type(_SPECS[first], tuple(path), name)
    if path[0] in _NO_INPUTS:
        raise InputError(f"{name} cannot be an axis: it changes no result")
    typed = tuple([converted(value, hint, f"{name}.{index}") for index, value in enumerate(values)])
    _check_distinct(typed, values, name)
    return key, typed


def variants(
    model: ModelSpec, system: SystemSpec, axes: Sequence[Axis]
) -> Iterator[tuple[ModelSpec, SystemSpec]]:
    """Iterate over the models and systems that axes yield, the first axis slowest.

    Raises:
        InputError: a combination is no valid model or system; names the combination.
    """
    if not axes:
        yield model, system
        return
    paths: list[tuple[str, Path]] = [(key.partition(".")[0], tuple(key.split(".")[1:])) for key, _ in axes]
    for values in itertools.product(*(axis for _, axis in axes)):
        _refuse_derived(system, paths)
        changes: dict[str, list[tuple[Path, Any]]] = {}
        for (first, path), value in zip(paths, values, strict=True):
            changes.setdefault(first, []).append((path, value))
        try:
            changed = _changed(model, changes.get("model"), "space.axes.model")
            check_head_width(changed)
            yield changed, _changed(system, changes.get("system"), "space.axes.system")
        except InputError as error:
            pairs = zip(axes, values, strict=True)
            combination = ", ".join([f"{key}={_text(value)}" for (key, _), value in pairs])
            raise InputError(f"{error} (with {combination}, of {model.name} on {system.name})") from None


def sizes_of(system: SystemSpec, axes: Sequence[Axis], model: ModelSpec) -> Iterator[SystemSpec]:
    """Iterate over variants of a system in what its number of NPUs may depend on, less invalid ones."""
    sizes = [(key, values) for key, values in axes if key.startswith(_SIZES) and not key.endswith(_NO_SIZE)]
    for chosen in itertools.product(*[values for _, values in sizes]):
        fixed = [(key, (value,)) for (key, _), value in zip(sizes, chosen, strict=True)]
        with contextlib.suppress(InputError):
            yield next(variants(model, system, fixed))[1]


def _refuse_derived(system: SystemSpec, paths: Sequence[tuple[str, Path]]) -> None:
    for first, path in paths:
        if first == "system" and system.npu_types and path[0] in FOLLOWING:
            raise InputError(
                f"space.axes.system.{path[0]} cannot be an axis on {system.name}: it follows from "
                "system.npu_types; write an axis over these instead"
            )
        if first == "system" and system.accelerator is not None and path[0] in DERIVED:
            raise InputError(
                f"space.axes.system.{'.'.join(path)} cannot be an axis on {system.name}: it follows from "
                f"{DERIVED[path[0]]}; write an axis over these instead"
            )


def _changed(spec: _Spec, changes: list[tuple[Path, object]] | None, key: str) -> _Spec:
    """Apply changes; messages name the path below `key`."""
    return replace_fields(spec, changes, key) if changes else spec


def _checked_list(values: object, key: str) -> tuple[Any, ...]:
    if not isinstance(values, list | tuple):
        raise InputError(f"{key} is {values}; it must be a list of values")
    if not values:
        raise InputError(f"{key} is empty; it must list at least one value")
    return tuple(values)


def _check_distinct(typed: Sequence[object], values: Sequence[object], key: str) -> None:
    seen: set[object] = set()
    for value, written in zip(typed, values, strict=True):
        if value in seen:
            raise InputError(f"{key} lists {_text(written)} more than once; its values must differ")
        seen.add(value)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
