"""Numbers in JSON files of clusters and profiles, with errors that name file and key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dse.base.errors import InputError
from dse.base.texts import excerpt

MOST = 1e12
"""Above it a number is a slip: 1e12 ms are 31 years, and sums of such times still fit a clock in ns."""

LEAST_POSITIVE = 1e-9


def number_in(record: Mapping[str, Any], key: str, where: str, positive: bool = False) -> float:
    """Return a number of a record from 0, or, if `positive`, from `LEAST_POSITIVE`, to `MOST`.

    Raises:
        InputError: no such key, or its value is something else.
    """
    if key not in record:
        raise InputError(f"{where}: has no {key}")
    return _checked(record[key], f"{where}: {key}", positive)


def numbers_in(record: Mapping[str, Any], key: str, where: str) -> tuple[float, ...]:
    """Return a list of numbers of a record, each from 0 to `MOST`.

    Raises:
        InputError: no such key, or its value is something else.
    """
    values = record.get(key)
    if not isinstance(values, list) or not values:
        what = f"has no {key}" if values is None else f"{key}={excerpt(values)}"
        raise InputError(f"{where}: {what}; it must be a list with a number a layer")
    return tuple(_checked(value, f"{where}: {key}[{i}]", False) for i, value in enumerate(values))


def _checked(value: Any, where: str, positive: bool) -> float:
    least = LEAST_POSITIVE if positive else 0
    allowed = f"a positive number, {least:g} to {MOST:g}" if positive else f"a number, 0 to {MOST:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{where}={excerpt(value)}: must be {allowed}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not least <= number <= MOST:
        raise InputError(f"{where}={excerpt(value)}: must be {allowed}")
    return number
