"""Fields of dataclasses by path, such as `network.0.bandwidth_gbps`: their types, reading, replacing."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Iterable
from typing import Any, TypeVar

from dse.errors import InputError
from dse.suggestions import did_you_mean

Path = tuple[str, ...]

_WORDS = {int: "an integer", float: "a number", bool: "true or false", str: "a text"}

_Spec = TypeVar("_Spec")


def field_type(spec: type, path: Path, key: str = "") -> Any:
    """Return the type that a field of a dataclass declares; whether an index exists is not known here.

    Args:
        spec: the dataclass.
        path: names of fields, and indices of entries of tuples.
        key: how messages call the whole path; by default its parts, joined by dots.

    Raises:
        InputError: there is no such field; names the part, what is known there and the nearest name.
    """
    hint: Any = spec
    for depth, part in enumerate(path):
        hint = _without_none(hint)
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            known = _hints(typing.cast(Any, hint))
            if part not in known:
                raise InputError(_unknown_field(_name(path, depth + 1, key), part, known))
            hint = known[part]
        elif typing.get_origin(hint) is tuple:
            if not (part.isascii() and part.isdigit()):
                raise InputError(f"{_name(path, depth + 1, key)}: '{part}' is not an index; write 0, 1, …")
            hint = typing.get_args(hint)[0]
        else:
            raise InputError(f"{_name(path, depth, key)} is {_expected(hint)}, so it has no '{part}'")
    return hint


def converted(value: object, hint: Any, key: str) -> Any:
    """Return a value of a configuration as the type `hint`: lists as tuples, groups as dataclasses.

    Raises:
        InputError: it is of another type; names the key below `key`, what was got and what is needed.
    """
    optional, hint = hint, _without_none(hint)
    if value is None and optional is not hint:
        return None
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return value if isinstance(value, hint) else _built(value, hint, key)
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            raise InputError(f"{key} is {_shown(value)}; it must be {_expected(hint)}")
        entry = typing.get_args(hint)[0]
        return tuple([converted(item, entry, f"{key}.{index}") for index, item in enumerate(value)])
    if hint is float and type(value) is int:
        return float(value)
    if hint in _WORDS and type(value) is not hint:
        optionally = "" if optional is hint else " or null"
        raise InputError(f"{key} is {_shown(value)}; it must be {_WORDS[hint]}{optionally}")
    return value


def replace_field(spec: _Spec, path: Path, value: object, key: str = "") -> _Spec:
    """Return a frozen dataclass with another value of one field, converted to the type of the field.

    Raises:
        InputError: as `field_type` and `converted`; an entry that does not exist; or whatever the dataclass
            refuses.
    """
    name = key or ".".join(path)
    above = name.removesuffix("." + ".".join(path)) if name != ".".join(path) else ""
    return replace_fields(
        spec, [(path, converted(value, _cached_type(typing.cast(Any, type(spec)), path, name), name))], above
    )


def replace_fields(spec: _Spec, changes: Iterable[tuple[Path, object]], key: str = "") -> _Spec:
    """Return a frozen dataclass with other values of several fields, checked once all of them are in place.

    `key` is how messages call the dataclass. Values must have the types of their fields. A change of a whole
    applies before one of a part of it.

    Raises:
        InputError: an entry that does not exist (names it below `key`), or whatever the dataclass refuses.
    """
    ordered = sorted(changes, key=lambda change: len(change[0]))
    return typing.cast(_Spec, _replaced(spec, ordered, 0, key))


def read_field(spec: object, path: Path, key: str = "") -> Any:
    """Return the value of a field.

    Raises:
        InputError: there is no such field or entry.
    """
    value: Any = spec
    for depth, part in enumerate(path):
        if isinstance(value, tuple):
            value = value[_index(value, part, _name(path, depth, key))]
        elif dataclasses.is_dataclass(value) and part in _hints(typing.cast(Any, type(value))):
            value = getattr(value, part)
        else:
            field_type(type(spec), path, key)  # says what is wrong
            raise InputError(f"{_name(path, depth, key)} is {_shown(value)}, so it has no '{part}'")
    return value


def _replaced(value: Any, changes: list[tuple[Path, object]], depth: int, key: str) -> Any:
    """Apply changes, shortest path first, of which `depth` parts lead to `value`, which is called `key`."""
    if len(changes[0][0]) == depth:
        value = changes[0][1]
        return _replaced(value, changes[1:], depth, key) if len(changes) > 1 else value
    parts: dict[str, list[tuple[Path, object]]] = {}
    for change in changes:
        parts.setdefault(change[0][depth], []).append(change)
    if value is None:
        raise InputError(f"{key} is null, so it has no '{next(iter(parts))}'")
    if isinstance(value, tuple):
        entries = list(value)
        for part, below in parts.items():
            index = _index(value, part, key)
            entries[index] = _replaced(entries[index], below, depth + 1, f"{key}.{part}")
        return tuple(entries)
    fields = {
        part: _replaced(getattr(value, part), below, depth + 1, f"{key}.{part}" if key else part)
        for part, below in parts.items()
    }
    return dataclasses.replace(value, **fields)


def _built(value: object, spec: type, key: str) -> Any:
    hints = _hints(spec)
    if not isinstance(value, dict):
        raise InputError(f"{key} is {_shown(value)}; it must be {_expected(spec)}")
    fields = {}
    for name, entry in value.items():
        if name not in hints:
            raise InputError(_unknown_field(f"{key}.{name}", str(name), hints))
        fields[name] = converted(entry, hints[name], f"{key}.{name}")
    for field in dataclasses.fields(spec):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and field.name not in fields:
            raise InputError(f"{key}.{field.name} has no value; it must be {_expected(hints[field.name])}")
    return spec(**fields)


def _index(entries: tuple[object, ...], part: str, key: str) -> int:
    index = int(part)
    if index >= len(entries):
        have = f"has {len(entries)} entries, 0 to {len(entries) - 1}" if entries else "has no entries"
        raise InputError(f"{key}.{part} does not exist: {key} {have}")
    return index


def _unknown_field(key: str, part: str, known: Iterable[str]) -> str:
    parent = key.rpartition(".")[0]
    where = f"keys of {parent}" if parent else "known keys"
    return f"unknown key {key}; {where} are {', '.join(known)}{did_you_mean(part, known)}"


def _name(path: Path, depth: int, key: str) -> str:
    """Return the first `depth` parts of a path as the user writes them; `key` is the name of all of it."""
    whole = key or ".".join(path)
    return whole.removesuffix("." + ".".join(path[depth:])) if depth < len(path) else whole


def _without_none(hint: Any) -> Any:
    if isinstance(hint, types.UnionType):
        return next(part for part in typing.get_args(hint) if part is not type(None))
    return hint


def _expected(hint: Any) -> str:
    hint = _without_none(hint)
    if typing.get_origin(hint) is tuple:
        return "a list"
    if dataclasses.is_dataclass(hint):
        return f"a group with the keys {', '.join(field.name for field in dataclasses.fields(hint))}"
    return _WORDS.get(hint, "another value")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


@functools.cache
def _hints(spec: Any) -> dict[str, Any]:
    return typing.get_type_hints(spec)


@functools.lru_cache(maxsize=1024)
def _cached_type(spec: Any, path: Path, key: str) -> Any:
    return field_type(spec, path, key)
