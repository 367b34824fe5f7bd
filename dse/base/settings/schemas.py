"""Schemas of groups of keys, made from the frozen records that the keys fill in."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any

from dse.base.records import hints_of, is_record, without_none
from dse.base.settings.keys import MISSING, group, key


def stated(meaning: str, *, in_files: bool = False, astrasim: str = "", **marks: bool) -> dict[str, Any]:
    """The metadata of a field that is a key, too, with the meaning and the name that `key` gives it.

    The field states its default itself, so that mypy knows which arguments of its record are needed.
    `in_files` says that files must have the key although the record has a default. `marks` are further
    metadata of the field.
    """
    return {"meaning": meaning, "astrasim": astrasim, "in_files": in_files, **marks}


def schema_of(record: Any, *, is_optional: bool = False) -> Any:
    """Return the schema of the `stated` fields of a record, and of the records in it that have some.

    Lists stand for tuples, and texts for records that are known by name (`dse.base.records.converted`).
    The keys of a record that may be absent are null unless they are given.
    """
    made = []
    for each in dataclasses.fields(record):
        hint = hints_of(record)[each.name]
        inner = without_none(hint)
        if is_record(inner) and not hasattr(inner, "named"):
            schema = schema_of(inner, is_optional=inner is not hint)
            if dataclasses.fields(schema):
                made.append((each.name, schema, group(schema)))
        elif "meaning" in each.metadata:
            may_be_null = is_optional or inner is not hint
            kind, default = _kind(inner), None if is_optional else _default(each)
            made.append((each.name, kind | None if may_be_null else kind, _key(each.metadata, default)))
    return dataclasses.make_dataclass(f"{record.__name__}Schema", made)


def _kind(hint: Any) -> Any:
    """The type of a key for a field of this type."""
    if is_record(hint):
        return str
    if typing.get_origin(hint) is not tuple:
        return hint
    entry = typing.get_args(hint)[0]
    return types.GenericAlias(list, schema_of(entry) if is_record(entry) else entry)


def _default(field: Any) -> Any:
    if field.metadata["in_files"] or field.default is dataclasses.MISSING:
        return MISSING
    return field.default


def _key(metadata: Any, default: Any) -> Any:
    if default == ():
        return key(metadata["meaning"], factory=list, astrasim=metadata["astrasim"])
    return key(metadata["meaning"], default, astrasim=metadata["astrasim"])
