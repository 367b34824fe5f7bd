"""Fields of dataclasses by path, such as `network.0.bandwidth_gbps`: their types, reading, replacing."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from dse.base.errors import InputError
from dse.base.records import converted, expected, hints_of, shown, unknown_field, without_none

Path = tuple[str, ...]

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
        hint = without_none(hint)
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            known = hints_of(typing.cast(Any, hint))
            if part not in known:
                raise InputError(unknown_field(_name(path, depth + 1, key), part, known))
            hint = known[part]
        elif typing.get_origin(hint) is tuple:
            if not (part.isascii() and part.isdigit()):
                raise InputError(f"{_name(path, depth + 1, key)}: '{part}' is not an index; write 0, 1, …")
            hint = typing.get_args(hint)[0]
        elif typing.get_origin(hint) is Mapping:
            hint = typing.get_args(hint)[1]
        else:
            raise InputError(f"{_name(path, depth, key)} is {expected(hint)}, so it has no '{part}'")
    return hint


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
    applies before one of a part of it. Of a dataclass some of whose fields follow from others, its `SOURCES`,
    these are changed first, and its method `replaced` makes the others follow.

    Raises:
        InputError: an entry that does not exist (names it below `key`), or whatever the dataclass refuses.
    """
    ordered = sorted(changes, key=lambda change: len(change[0]))
    sources = getattr(type(spec), "SOURCES", ())
    for some in (True, False):
        part = [change for change in ordered if bool(change[0] and change[0][0] in sources) is some]
        if part:
            spec = typing.cast(_Spec, _replaced(spec, part, 0, key))
    return spec


def read_field(spec: object, path: Path, key: str = "") -> Any:
    """Return the value of a field.

    Raises:
        InputError: there is no such field or entry.
    """
    value: Any = spec
    for depth, part in enumerate(path):
        if isinstance(value, tuple):
            value = value[_index(value, part, _name(path, depth, key))]
        elif isinstance(value, Mapping):
            value = _entry(value, part, _name(path, depth, key))
        elif dataclasses.is_dataclass(value) and part in hints_of(typing.cast(Any, type(value))):
            value = getattr(value, part)
        else:
            field_type(type(spec), path, key)  # says what is wrong
            raise InputError(f"{_name(path, depth, key)} is {shown(value)}, so it has no '{part}'")
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
    if isinstance(value, Mapping):
        changed = {
            part: _replaced(_entry(value, part, key), below, depth + 1, f"{key}.{part}")
            for part, below in parts.items()
        }
        return {**value, **changed}
    fields = {
        part: _replaced(getattr(value, part), below, depth + 1, f"{key}.{part}" if key else part)
        for part, below in parts.items()
    }
    return value.replaced(**fields) if hasattr(value, "replaced") else dataclasses.replace(value, **fields)


def _entry(entries: Mapping[str, object], part: str, key: str) -> object:
    if part not in entries:
        raise InputError(unknown_field(f"{key}.{part}", part, entries))
    return entries[part]


def _index(entries: tuple[object, ...], part: str, key: str) -> int:
    index = int(part)
    if index >= len(entries):
        have = f"has {len(entries)} entries, 0 to {len(entries) - 1}" if entries else "has no entries"
        raise InputError(f"{key}.{part} does not exist: {key} {have}")
    return index


def _name(path: Path, depth: int, key: str) -> str:
    """Return the first `depth` parts of a path as the user writes them; `key` is the name of all of it."""
    whole = key or ".".join(path)
    return whole.removesuffix("." + ".".join(path[depth:])) if depth < len(path) else whole


@functools.lru_cache(maxsize=1024)
def _cached_type(spec: Any, path: Path, key: str) -> Any:
    return field_type(spec, path, key)
