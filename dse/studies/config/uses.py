"""The keys that each command uses, as the schema says; an override without effect is refused."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.base.settings.plain_words import PlainWord
from dse.studies.config.schema import ConfigSchema

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override


def refuse_unused(overrides: Sequence[Override | PlainWord], command: str) -> None:
    """Refuse what the user overrides although the command does not use it; files of conf/ may set anything.

    Raises:
        InputError: names the override, the command, and what to write instead.
    """
    for override in overrides:
        line = str(override.input_line)
        only, instead = use_of(override.key_or_group)
        if only and command not in only:
            name, value = override.key_or_group.rpartition(".")[2], line.partition("=")[2]
            if name == "strategy" or not value:  # a group of keys, or a key that is removed
                name, value = "dp" if name == "strategy" else name, "…"
            raise InputError(
                f"{line} has no effect on dse {command}, {instead.format(name=name, value=value)}"
            )


def use_of(name: str) -> tuple[tuple[str, ...], str]:
    """Return the commands that use a key or group (empty: all do), and what others say instead."""
    only: tuple[str, ...] = ()
    instead = ""
    schema: Any = ConfigSchema
    for part in name.split("."):
        if not dataclasses.is_dataclass(schema):
            break
        found = next((field for field in dataclasses.fields(schema) if field.name == part), None)
        if found is None:
            break
        only = tuple(found.metadata.get("only", "").split()) or only
        instead = found.metadata.get("instead") or instead
        schema = typing.get_type_hints(schema)[part]
    return only, instead
