"""Every key of the configuration, with its type and meaning, from the schemas of the nouns."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Sequence
from typing import Any

_WORDS = {"int": "integer", "float": "number", "str": "text", "bool": "true or false", "NoneType": "null"}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A key of the configuration."""

    name: str
    kind: str
    meaning: str
    astrasim: str
    default: Any


def entries(schema: type, prefix: str = "") -> Iterator[Entry]:
    """Every key of a schema, those of groups and of entries of lists included."""
    hints = typing.get_type_hints(schema)
    for field in dataclasses.fields(schema):
        hint = hints[field.name]
        (inner,) = typing.get_args(hint) if typing.get_origin(hint) is list else (hint,)
        name = f"{prefix}{field.name}"
        if dataclasses.is_dataclass(inner):
            assert isinstance(inner, type)
            yield from entries(inner, f"{name}." if inner is hint else f"{name}.N.")
            continue
        factory = field.default_factory
        default = field.default if factory is dataclasses.MISSING else factory()
        meaning, astrasim = field.metadata["meaning"], field.metadata["astrasim"]
        if not prefix and field.metadata["only"]:
            meaning = f"{commands_text(field.metadata['only'].split())} only: {meaning}"
        yield Entry(name, _kind(hint), meaning, astrasim, default)


def commands_text(commands: Sequence[str]) -> str:
    """Name commands, as "`dse sweep` and `dse explore`"."""
    return " and ".join(f"`dse {command}`" for command in commands)


def _kind(hint: Any) -> str:
    arguments = typing.get_args(hint)
    if isinstance(hint, types.UnionType):
        return ", ".join(_kind(argument) for argument in arguments)
    if typing.get_origin(hint) is list:
        return f"list of {_kind(arguments[0])}".replace("list of integer", "list of integers")
    if typing.get_origin(hint) is dict:
        return "values by name" if arguments[1] is Any else "lists by name"
    return _WORDS[hint.__name__]
