"""Plain data and frozen dataclasses: one to the other, by the types that the fields declare."""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import operator
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from dse.base.errors import InputError, excerpt, unknown

_Record = TypeVar("_Record")
_WORDS = {int: "an integer", float: "a number", bool: "true or false", str: "a text"}
_ABOVE_FLOATS = 2**1023
_GROUPS = {float: "a group of numbers, such as {name: 1.5}", str: "a group of texts, such as {name: text}"}


class MisfitError(InputError):
    """Plain data that is not of the type that is wanted."""


def converted(value: object, hint: Any, key: str) -> Any:
    """Return plain data as the type `hint`: lists as tuples, groups as dataclasses.

    A dataclass with a class method `named` may be given by its name.

    Raises:
        MisfitError: it is of another type; names the key below `key`, what was got and what is needed.
        InputError: whatever a dataclass refuses.
    """
    optional, hint = hint, without_none(hint)
    if value is None and optional is not hint:
        return None
    if is_record(hint):
        if isinstance(value, str) and hasattr(hint, "named"):  # a record that is known by its name
            return hint.named(value, key)
        return value if isinstance(value, hint) else _built(value, hint, key)
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, list | tuple):
            raise MisfitError(f"{key} is {shown(value)}; it must be {expected(hint)}")
        entries = _entry_hints(hint, len(value))
        return tuple(
            [
                converted(item, entry, f"{key}.{index}")
                for index, (item, entry) in enumerate(zip(value, entries, strict=True))
            ]
        )
    if typing.get_origin(hint) is list:
        if not isinstance(value, list | tuple):
            raise MisfitError(f"{key} is {shown(value)}; it must be {expected(hint)}")
        (entry,) = typing.get_args(hint)
        return [converted(item, entry, f"{key}.{index}") for index, item in enumerate(value)]
    if typing.get_origin(hint) is collections.abc.Mapping:
        return _mapping(value, hint, key)
    if hint is float and type(value) is int and abs(value) < _ABOVE_FLOATS:
        return float(value)
    if hint in _WORDS and type(value) is not hint:
        optionally = "" if optional is hint else " or null"
        raise MisfitError(f"{key} is {shown(value)}; it must be {_WORDS[hint]}{optionally}")
    return value


def plain(value: Any, hint: Any, written: Callable[[Any], Iterable[str]]) -> Any:
    """Return plain data: groups of the fields that `written` names of a dataclass, lists, values.

    Numbers have the type that their field declares, so that 100 and 100.0 are one input.
    """
    record: Any = type(value)
    if is_record(record):
        hints = hints_of(record)
        return {name: plain(getattr(value, name), hints[name], written) for name in written(value)}
    if isinstance(value, tuple | list):
        item, *_ = [*typing.get_args(hint), Any]
        return [plain(entry, item, written) for entry in value]
    if isinstance(value, int) and not isinstance(value, bool) and hint is float:
        return float(value)
    return value


def alike(record: type[_Record], source: object, **given: Any) -> _Record:
    """Return a record whose fields `source` has under the same names, but for those that are `given`."""
    names, values_of = _others(record, tuple(given))  # type: ignore[arg-type]  # classes are hashable
    return record(**dict(zip(names, values_of(source), strict=True)), **given)


@functools.cache
def _others(record: Any, given: tuple[str, ...]) -> tuple[tuple[str, ...], Callable[[object], Iterable[Any]]]:
    """The fields of a record that are not given, and what reads them; records are made by the thousand."""
    names = tuple(name for name in hints_of(record) if name not in given)
    if len(names) > 1:
        return names, operator.attrgetter(*names)
    return names, lambda source: [getattr(source, name) for name in names]


def has_default(value: Any, field: dataclasses.Field[Any]) -> bool:
    """Whether a field of a dataclass has the value that it has where none is given."""
    if field.default_factory is not dataclasses.MISSING:
        return bool(getattr(value, field.name) == field.default_factory())
    if field.default is dataclasses.MISSING:
        return False
    return bool(getattr(value, field.name) == field.default)


def is_record(hint: Any) -> bool:
    """Whether a type is a dataclass."""
    return isinstance(hint, type) and dataclasses.is_dataclass(hint)


@functools.cache
def hints_of(record: Any) -> dict[str, Any]:
    """The types of the fields of a dataclass."""
    return typing.get_type_hints(record)


def without_none(hint: Any) -> Any:
    """Return the type `X` of `X | None`; any other type as it is."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return next(part for part in typing.get_args(hint) if part is not type(None))
    return hint


def unknown_field(key: str, part: str, known: Iterable[str]) -> str:
    """Say that a key is unknown, which ones are there, and the nearest of them."""
    parent = key.rpartition(".")[0]
    where = f"keys of {parent}" if parent else "known keys"
    known = list(known)
    return unknown(f"unknown key {key}", part, known, f"{where} are {', '.join(known)}")


def expected(hint: Any) -> str:
    """Say of what kind a value of this type is."""
    hint = without_none(hint)
    if typing.get_origin(hint) in (tuple, list):
        return "a list"
    if typing.get_origin(hint) is collections.abc.Mapping:
        return _GROUPS.get(typing.get_args(hint)[1], "a group of keys and values")
    if is_record(hint):
        return f"a group with the keys {', '.join(field.name for field in dataclasses.fields(hint))}"
    return _WORDS.get(hint, "another value")


def shown(value: object) -> str:
    """Return a value as messages show it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else f"'{excerpt(value)}'" if isinstance(value, str) else excerpt(value)


def _entry_hints(hint: Any, count: int) -> list[Any]:
    """The types of the entries of a tuple: all alike, or each its own."""
    arguments = typing.get_args(hint)
    if len(arguments) == count and Ellipsis not in arguments:
        return list(arguments)
    return [arguments[0]] * count


def _mapping(value: object, hint: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MisfitError(f"{key} is {shown(value)}; it must be {expected(hint)}")
    entry_hint = typing.get_args(hint)[1]
    found: dict[str, Any] = {}
    for name, entry in value.items():
        if not isinstance(name, str):
            raise MisfitError(f"{key} has the key {shown(name)}; a key must be a text: put it in quotes")
        found[name] = entry if entry_hint is Any else converted(entry, entry_hint, f"{key}.{excerpt(name)}")
    return found


def _built(value: object, record: type, key: str) -> Any:
    hints = hints_of(record)
    if not isinstance(value, dict):
        raise MisfitError(f"{key} is {shown(value)}; it must be {expected(record)}")
    fields = {}
    for name, entry in value.items():
        if name not in hints:
            raise MisfitError(unknown_field(f"{key}.{excerpt(name)}", str(name), hints))
        fields[name] = converted(entry, hints[name], f"{key}.{name}")
    for field in dataclasses.fields(record):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and field.name not in fields:
            raise MisfitError(f"{key}.{field.name} has no value; it must be {expected(hints[field.name])}")
    return record(**fields)
