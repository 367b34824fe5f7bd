"""The names that a constraint may use, and their values for a model, a system and a strategy."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Collection, Iterator

from dse.base.errors import InputError, did_you_mean
from dse.inputs.models import MODEL_DIMENSIONS, ModelSpec
from dse.inputs.strategies import AXES, STRATEGY_FIELDS, Strategy, StrategyAxis
from dse.inputs.systems import SystemSpec
from dse.studies.space.fields import field_type, read_field

SPECS: dict[str, type] = {"strategy": Strategy, "model": ModelSpec, "system": SystemSpec}
SHORT_NAMES = (*STRATEGY_FIELDS, "npus", *MODEL_DIMENSIONS)
_NUMBERS = (int, float, bool, int | None, float | None)


class _AxisTexts(Collection[str]):
    """The texts that an axis may be; those of installed packages are looked for only where needed."""

    def __init__(self, axis: StrategyAxis) -> None:
        self._axis = axis

    def __contains__(self, text: object) -> bool:
        return self._axis.accepts(text)

    def __iter__(self) -> Iterator[str]:
        return iter(self._axis.names)

    def __len__(self) -> int:
        return len(self._axis.names)


TEXTS = {
    f"{prefix}{axis.name}": _AxisTexts(axis)
    for axis in AXES
    if axis.kind == "choice"
    for prefix in ("", "strategy.")
}
"""The names that stand for texts, with those that they may be."""

Reader = Callable[[ModelSpec, SystemSpec], float]


class FieldNames(Collection[str]):
    """The short names, and the path of every numeric field, such as `system.network.0.bandwidth_gbps`.

    Iteration yields the short names only: there is a path for every index.
    """

    def __contains__(self, name: object) -> bool:
        """Return whether a constraint may use the name."""
        return isinstance(name, str) and (name in SHORT_NAMES or not problem_of_path(name))

    def __iter__(self) -> Iterator[str]:
        """Iterate over the short names."""
        return iter(SHORT_NAMES)

    def __len__(self) -> int:
        """Return the number of short names."""
        return len(SHORT_NAMES)


def explain(name: str) -> str:
    """Return what a message adds for an unknown name: what is known where it goes wrong."""
    if "." in name or name in SPECS:
        return problem_of_path(name)
    known = f"known names: {', '.join(SHORT_NAMES)}, and paths such as system.network.0.bandwidth_gbps"
    return known + did_you_mean(name, SHORT_NAMES)


@functools.lru_cache(maxsize=1024)
def problem_of_path(name: str) -> str:
    """Return why `name` is no path of a numeric field, or an empty text."""
    first, *path = name.split(".")
    if name in TEXTS:
        return ""
    if first not in SPECS:
        return f"a path starts with {', '.join(SPECS)}{did_you_mean(first, SPECS)}"
    if not path:
        return f"it needs a field, such as {first}.{'peak_tflops' if first == 'system' else 'seq_len'}"
    try:
        kind = field_type(SPECS[first], tuple(path), name)
    except InputError as error:
        return str(error)
    return "" if kind in _NUMBERS else f"{name} is not a number"


def strategy_field(name: str) -> str | None:
    """Return the field of the strategy that a name stands for, or None if it is of model or system."""
    field = name.removeprefix("strategy.")
    return field if field in STRATEGY_FIELDS else None


def path_of(name: str) -> str:
    """Return the one name of what several names stand for: an axis, npus, or a path below model or system."""
    return f"model.{name}" if name in MODEL_DIMENSIONS else strategy_field(name) or name


def reader(name: str, key: str) -> Reader:
    """Return what reads the value of a name that is not of the strategy.

    The reader raises InputError where an index does not exist, or where the field is null; `key` is how its
    messages call the constraint.
    """
    if name == "npus":
        return lambda _, system: system.npus
    first, *parts = path_of(name).split(".")
    path = tuple(parts)

    def read(model: ModelSpec, system: SystemSpec) -> float:
        spec = model if first == "model" else system
        try:
            value = read_field(spec, path, name)
        except InputError as error:
            raise InputError(f"{key}: {error}, in {spec.name}") from None
        if value is None:
            raise InputError(f"{key}: {name} of {spec.name} is null, which is no number")
        return typing.cast(float, value)

    return read
