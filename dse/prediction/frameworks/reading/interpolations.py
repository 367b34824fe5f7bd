"""Values of YAML that name others: ${a.b}, ${.b}, ${NAME:DEFAULT}, and NeMo's ${multiply:4,${.b}}."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from dse.base.errors import excerpt
from dse.prediction.frameworks.reading.values import scalar

_MOST_DEPTH = 5
_MOST_CHARACTERS = 500
_WHOLE = re.compile(r"\$\{\s*(.*?)\s*\}", re.DOTALL)
_INNER = re.compile(r"\$\{[^${}]*\}")
_VARIABLE = re.compile(r"(?:oc\.env:\s*([A-Za-z_]\w*)\s*,|([A-Z_][A-Z0-9_]*):)\s*(.*)", re.ASCII | re.DOTALL)
_PRODUCT = re.compile(r"multiply:([^,]*),([^,]*)")
_KEY = re.compile(r"\.*[A-Za-z_][\w.]*", re.ASCII)


def resolved(settings: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return settings with the values that such texts stand for; a variable has its default, with a note.

    What names no setting stays as it is.
    """
    return {
        key: _value(key, value, settings, notes, 0)
        if isinstance(value, str) and "${" in value and len(value) <= _MOST_CHARACTERS
        else value
        for key, value in settings.items()
    }


def _value(key: str, text: str, settings: Mapping[str, Any], notes: list[str], depth: int) -> Any:
    """The value of a text, innermost names first."""
    while depth < _MOST_DEPTH and (inner := _INNER.search(text)):
        found = _named(key, inner[0], settings, notes, depth)
        if found is None or inner[0] == text:
            return text if found is None else found
        text = f"{text[: inner.start()]}{found}{text[inner.end() :]}"
        depth += 1
    return text


def _named(key: str, text: str, settings: Mapping[str, Any], notes: list[str], depth: int) -> Any:
    whole = _WHOLE.fullmatch(text)
    name = whole[1] if whole else ""
    if variable := _VARIABLE.fullmatch(name):
        default = scalar(variable[3].strip("\"'"))
        note = f"{excerpt(key)} is {excerpt(default)}, unless {variable[1] or variable[2]} says another value"
        notes += [note] if len(notes) < _MOST_DEPTH**3 else []
        return default
    if product := _PRODUCT.fullmatch(name):
        factors = [scalar(factor.strip()) for factor in product.groups()]
        is_number = all(type(factor) in (int, float) and abs(factor) < 2**31 for factor in factors)
        return math.prod(factors) if is_number else None
    if not _KEY.fullmatch(name):
        return None
    found = settings.get(_absolute(key, name))
    if isinstance(found, str) and "${" in found:
        found = (
            _value(_absolute(key, name), found, settings, notes, depth + 1) if depth < _MOST_DEPTH else None
        )
    return found if isinstance(found, bool | int | float | str) else None


def _absolute(key: str, name: str) -> str:
    """A name that begins with points counts from the group of its key."""
    plain = name.lstrip(".")
    levels = len(name) - len(plain)
    groups = key.split(".")[: -levels or None] if levels else []
    return ".".join([*groups, plain])
