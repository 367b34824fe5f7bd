"""Values of keys, from their texts: whole numbers, numbers, flags, choices, lists and files."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from dse.base.errors import InputError, excerpt
from dse.base.settings.checks import check_choice

Values: TypeAlias = Mapping[str, str]
_Default = TypeVar("_Default")

MOST_WHOLE = 2**63 - 1
"""An integer of the engine."""

_NUMBER = re.compile(r"\+?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})(e[-+]?[0-9]{1,3})?", re.IGNORECASE)


def whole(
    values: Values,
    key: str,
    default: _Default,
    *,
    least: int = 0,
    most: int | None = MOST_WHOLE,
    why: str = "",
) -> int | _Default:
    """Return the whole number of a key, or the default without the key; `why` explains the range.

    With `most` None every number is allowed: one that the engine does not see.

    Raises:
        InputError: it is none, or not from `least` to `most`.
    """
    text = values.get(key)
    if text is None:
        return default
    value = int(text) if re.fullmatch(r"[0-9]{1,300}", text.strip()) else -1
    if value < least or (most is not None and value > most):
        reason = f", as {why}" if why else ""
        is_low = most in (None, MOST_WHOLE) and value < least
        allowed = f" of at least {least}" if is_low else f", {least} to {most}"
        raise InputError(f"{key} is '{excerpt(text)}'; it must be a whole number{allowed}{reason}")
    return value


def number(
    values: Values,
    key: str,
    default: _Default,
    *,
    above: float | None = None,
    least: float = 0.0,
    most: float = math.inf,
    below: float = math.inf,
) -> float | _Default:
    """Return the number of a key, or the default without the key.

    Raises:
        InputError: it is none, or outside the bounds.
    """
    text = values.get(key)
    if text is None:
        return default
    value = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    is_low = not value >= least or (above is not None and value <= above)
    if is_low or value > most or value >= below:
        raise InputError(
            f"{key} is '{excerpt(text)}'; it must be a number {_range(above, least, most, below)}"
        )
    return value


def _range(above: float | None, least: float, most: float, below: float) -> str:
    if above is None and most < math.inf:
        return f"from {least:g} to {most:g}"
    lower = f"of at least {least:g}" if above is None else f"above {above:g}"
    upper = f" and at most {most:g}" if most < math.inf else ""
    return lower + upper + (f" and below {below:g}" if below < math.inf else "")


def flag(values: Values, key: str, default: bool = False) -> bool:
    """Return whether a key is true.

    Raises:
        InputError: it is neither true nor false.
    """
    text = values.get(key, str(default).lower())
    check_choice(key, text, ("true", "false"))
    return text == "true"


def one_of(values: Values, key: str, allowed: Sequence[str]) -> str:
    """Return which of the allowed words a key names; the first is the default.

    Raises:
        InputError: another word.
    """
    text = values.get(key, allowed[0])
    check_choice(key, text, allowed)
    return text


def file(values: Values, key: str) -> Path | None:
    """Return the path that a key names, None without the key."""
    return Path(values[key]).expanduser() if key in values else None


def entries(key: str, text: str) -> list[str]:
    """Return what `[a,b]`, `a,b` or `a` lists; commas in brackets of an entry do not end it.

    Raises:
        InputError: a bracket is missing, or an entry is empty.
    """
    if text.startswith("[") != text.endswith("]") and text.count("[") != text.count("]"):
        raise InputError(f"{key} is '{excerpt(text)}', which lacks a bracket; write {key}=[a,b]")
    whole_list = text.startswith("[") and text.endswith("]")
    found, depth = [""], 0
    for letter in text[1:-1] if whole_list else text:
        depth += (letter in "[{") - (letter in "]}")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    found = [entry.strip() for entry in found]
    if not all(found):
        raise InputError(f"{key} is '{excerpt(text)}'; a list has entries, as in {key}=[a,b], none empty")
    return found


def assignments(values: Values, key: str) -> dict[str, str]:
    """Return the names and values of `NAME=VALUE,NAME=VALUE`; none without the key.

    Raises:
        InputError: an entry is none, or its name is none of a variable.
    """
    found = {}
    for entry in values[key].split(",") if key in values else []:
        name, equals, value = entry.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(
                f"{key} has '{excerpt(entry)}'; it must be NAME=VALUE, several with commas between them"
            )
        found[name] = value
    return found


def listed(key: str, text: str) -> list[str]:
    """Return what `[a,b]`, `a,b` or `a` lists, each entry once.

    Raises:
        InputError: as `entries`, or an entry twice.
    """
    found = entries(key, text)
    if len(set(found)) < len(found):
        raise InputError(
            f"{key} is '{excerpt(text)}'; a list has different entries, as in {key}=[a,b], none empty"
        )
    return found
