"""Nested data as flat settings: keys joined by dots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.base.errors import InputError

_MOST_KEYS = 100_000
_MOST_CHARACTERS = 2_000_000
_MOST_DEPTH = 100


def flattened(data: Any, where: str) -> dict[str, Any]:
    """Return a nested mapping with dotted keys; empty groups and lists stay values.

    Raises:
        InputError: it is no mapping, holds a key that is no text or occurs twice, or is too large.
    """
    if not isinstance(data, Mapping):
        raise InputError(f"{where}: holds {type(data).__name__}; it must hold keys with values")
    settings: dict[str, Any] = {}
    _add(settings, data, "", where, [0], 0)
    return settings


def _add(
    settings: dict[str, Any], data: Mapping[Any, Any], prefix: str, where: str, size: list[int], depth: int
) -> None:
    if depth > _MOST_DEPTH:
        raise InputError(f"{where}: is nested deeper than {_MOST_DEPTH} levels, the most allowed")
    for name, value in data.items():
        if not isinstance(name, str | int | float | bool):
            raise InputError(f"{where}: a key is of type {type(name).__name__}; it must be a text")
        key = f"{prefix}{name}"
        size[0] += len(key)
        if key in settings:
            raise InputError(f"{where}: {key[:60]} occurs twice; every key is allowed once")
        if isinstance(value, Mapping) and value:
            _add(settings, value, f"{key}.", where, size, depth + 1)
        else:
            settings[key] = _plain(value)
        if len(settings) > _MOST_KEYS or size[0] > _MOST_CHARACTERS:
            raise InputError(f"{where}: holds more than {_MOST_KEYS} keys, the most allowed")


def _plain(value: Any) -> Any:
    """Dates and such of YAML and TOML as texts."""
    if isinstance(value, list | tuple):
        return [_plain(entry) if not isinstance(entry, dict) else entry for entry in value]
    return value if value is None or isinstance(value, bool | int | float | str | dict) else str(value)
