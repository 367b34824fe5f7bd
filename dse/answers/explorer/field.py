"""A value of a scenario that the page may change, with its bounds and its slider."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from dse.inputs.systems.validation import MAX_SPEED

Kind = Literal["number", "choice", "flag"]
Path = tuple[str | int, ...]

LEAST_POSITIVE = 5e-324
"""Of a number above 0."""

REACH = 64
"""A slider goes from a 64th of the value to 64 times it, as far as `dse sensitivity` looks."""


@dataclass(frozen=True)
class Field:
    """A value of a scenario that the page may change.

    `key` is the override of the terminal, `path` where the value stands in the scenario of the page; both
    name the same. `value` is that of the present scenario; null, where it `is_optional`, stands for what the
    rest implies. Numbers are from `least` to `most`, as the configuration checks them; `allowed` says it as
    its messages do. A slider goes from `slider_least` to `slider_most`, in steps of the logarithm if
    `is_log`. `resource` is the name of the parameter in `dse.answers.whatif`; empty without one. `absent`
    is how an empty field reads.
    """

    key: str
    path: Path
    label: str
    group: str
    unit: str
    value: float | int | str | bool | None
    kind: Kind = "number"
    least: float | None = None
    most: float | None = None
    is_integer: bool = False
    is_log: bool = False
    is_optional: bool = False
    choices: Sequence[str] = ()
    resource: str = ""
    allowed: str = ""
    slider_least: float | None = None
    slider_most: float | None = None
    absent: str = "auto"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "path": list(self.path), "choices": list(self.choices)}


def key_of(path: Path) -> str:
    """Return the override that names a place in the scenario."""
    return ".".join(map(str, path))


def flag_field(path: Path, label: str, group: str, value: bool) -> Field:
    """Return the field of what is true or false."""
    return Field(key_of(path), path, label, group, "", value, "flag", allowed="true or false")


def choice_field(path: Path, label: str, group: str, value: str, choices: Sequence[str]) -> Field:
    """Return the field of one of several words."""
    allowed = f"one of {', '.join(choices)}"
    return Field(key_of(path), path, label, group, "", value, "choice", choices=choices, allowed=allowed)


def integer_field(
    path: Path,
    label: str,
    group: str,
    unit: str,
    value: int | None,
    least: int,
    most: int,
    *,
    is_optional: bool = False,
) -> Field:
    """Return the field of an integer; a slider where it has a value or a least one."""
    low, high = _slider(least if value is None else value, least, most)
    return Field(
        key_of(path),
        path,
        label,
        group,
        unit,
        value,
        least=least,
        most=most,
        is_integer=True,
        is_log=low > 0,
        is_optional=is_optional,
        allowed=f"an integer from {least} to {most}",
        slider_least=math.ceil(low),
        slider_most=math.floor(high),
    )


def positive_field(path: Path, label: str, group: str, unit: str, value: float) -> Field:
    """A number above 0, up to the greatest speed."""
    return number_field(path, label, group, unit, value, LEAST_POSITIVE, MAX_SPEED)


def number_field(
    path: Path, label: str, group: str, unit: str, value: float, least: float, most: float
) -> Field:
    """Return the field of a number."""
    low, high = _slider(value, least, most)
    from_zero = "0 or greater" if least == 0 else "greater than 0"
    return Field(
        key_of(path),
        path,
        label,
        group,
        unit,
        value,
        least=least,
        most=most,
        is_log=low > 0,
        allowed=f"a number {from_zero}, and at most {most:g}",
        slider_least=low,
        slider_most=high,
    )


def _slider(value: float, least: float, most: float) -> tuple[float, float]:
    """Around the value; from 0 where the value is 0."""
    if value == 0:
        return least, min(most, 1000.0)
    return max(least, value / REACH), min(most, value * REACH)
