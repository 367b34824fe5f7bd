"""Numbers in JSON files of clusters and profiles, with errors that name file and key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dse.errors import InputError
from dse.files import excerpt


def number_in(record: Mapping[str, Any], key: str, where: str, positive: bool = False) -> float:
    """Return a finite number of a record that is not negative, or, if `positive`, above 0.

    Raises:
        InputError: no such key, or its value is something else.
    """
    if key not in record:
        raise InputError(f"{where}: has no {key}")
    return _checked(record[key], f"{where}: {key}", positive)


def numbers_in(record: Mapping[str, Any], key: str, where: str) -> tuple[float, ...]:
    """Return a list of finite numbers of a record, none of them negative.

    Raises:
        InputError: no such key, or its value is something else.
    """
    values = record.get(key)
    if not isinstance(values, list) or not values:
        what = f"has no {key}" if values is None else f"{key}={excerpt(values)}"
        raise InputError(f"{where}: {what}; it must be a list with a number a layer")
    return tuple(_checked(value, f"{where}: {key}[{i}]", False) for i, value in enumerate(values))


def _checked(value: Any, where: str, positive: bool) -> float:
    allowed = "a positive number" if positive else "a number, at least 0"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{where}={excerpt(value)}: must be {allowed}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < 0 or (positive and number == 0):
        raise InputError(f"{where}={excerpt(value)}: must be {allowed}")
    return number
