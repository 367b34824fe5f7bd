"""The meaning of a key's text: a list, a whole number, a number, a flag."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dse.base.errors import InputError
from dse.base.settings import check_choice

_MOST = 2**20


def listed(key: str, text: str) -> list[str]:
    """Return the entries of `[a,b]`, `a,b` or `a`.

    Raises:
        InputError: none, an empty one, or one twice.
    """
    found = [entry.strip() for entry in text.removeprefix("[").removesuffix("]").split(",")]
    if text.startswith("[") != text.endswith("]"):
        raise InputError(f"{key} is '{text}', which lacks a bracket; write {key}=[a,b]")
    if not all(found) or len(set(found)) < len(found):
        raise InputError(f"{key} is '{text}'; a list has different entries, as in {key}=[a,b], none empty")
    return found


def whole(values: Mapping[str, str], key: str, default: int, least: int = 1) -> int:
    """Return the whole number of a key.

    Raises:
        InputError: it is none, or out of range.
    """
    text = values.get(key)
    if text is None:
        return default
    if not text.isascii() or not text.isdecimal() or not least <= int(text) <= _MOST:
        raise InputError(f"{key} is '{text}'; it must be a whole number from {least} to {_MOST}")
    return int(text)


def number(values: Mapping[str, str], key: str, default: float, below: float) -> float:
    """Return the number of a key, from 0.

    Raises:
        InputError: it is none, or out of range.
    """
    if key not in values:
        return default
    try:
        found = float(values[key])
    except ValueError:
        found = math.nan
    if not 0 <= found < below:
        raise InputError(f"{key} is '{values[key]}'; it must be a number of at least 0 and below {below:g}")
    return found


def flag(values: Mapping[str, str], key: str, default: bool) -> bool:
    """Return whether a key is true.

    Raises:
        InputError: it is neither true nor false.
    """
    text = values.get(key, str(default).lower())
    check_choice(key, text, ("true", "false"))
    return text == "true"
