"""Checks of single settings: errors in one line that name the key, what was got and what is allowed."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, did_you_mean, excerpt


def check_choice(key: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse what is not among the allowed values."""
    if value not in allowed:
        hint = did_you_mean(value, allowed)
        raise InputError(f"{key} is '{excerpt(value)}'; allowed are {', '.join(allowed)}{hint}")


def check_whole(name: str, value: Any, least: int, most: int) -> int:
    """Return a value of JSON that must be a whole number in a range.

    Raises:
        InputError: it is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{name} is {excerpt(value)}; it must be a whole number from {least} to {most}")
    return value


def check_type(name: str, value: object, types: type | tuple[type, ...], allowed: str) -> None:
    """Refuse an argument of another type; `name` is that of the function and the argument: `select: rows`."""
    if not isinstance(value, types):
        raise InputError(f"{name} is {described(value)}; it must be {allowed}")


def described(value: object) -> str:
    """Return the value and its type for a message: `3.5 (float)`."""
    return f"{excerpt(repr(value))} ({type(value).__name__})"


def refuse_foreign(group: str, values: Any, choice: str, keys: Sequence[str]) -> None:
    """Refuse keys that the choice of the group does not know: they belong to the choice `choice`."""
    for key in keys:
        value = getattr(values, key)
        if value is not None and value != []:
            raise InputError(
                f"{group}.{key} is '{value}', but {group} is {values.name}; write {group}={choice} too"
            )


def checked_folder(name: str, value: str | os.PathLike[str]) -> Path:
    """Return the path of an argument of a function; `name` is as in `check_type`."""
    check_type(name, value, (str, os.PathLike), "a text or a path")
    try:
        path = os.fsencode(value)
    except UnicodeEncodeError:
        path = b"\0"
    if b"\0" in path:
        raise InputError(f"{name} is {described(value)}; a path has no such characters")
    return Path(os.fsdecode(path))


def checked_path(key: str, value: str | None) -> Path | None:
    """Return a path, or None."""
    return None if value is None else Path(checked_text(key, value, "be a path, or null"))


def checked_text(key: str, value: str | None, expected: str) -> str:
    """Return a text that is not empty; `expected` is what it must do."""
    if not value:
        raise InputError(f"{key} is {'null' if value is None else 'empty'}; it must {expected}")
    return value


def checked_seconds(key: str, value: float | None) -> float:
    """Return a number above 0."""
    if value is None or not 0 < value < math.inf:
        raise InputError(f"{key} is {'null' if value is None else value}; it must be a number above 0")
    return value
