"""Columns of a study by name: those of the schema, and any field of a model or system by its dotted name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from dse.base.errors import InputError, did_you_mean
from dse.base.expressions import ColumnExpression
from dse.base.lazy import pa
from dse.inputs.systems.values import shown
from dse.studies.store.schema import study_schema

_SPEC_OF_PREFIX = {"model": "model_spec", "system": "system_spec", "options": "options"}


def stored_columns(names: Iterable[str]) -> list[str]:
    """Return the columns of the schema that have to be read for these names.

    Raises:
        InputError: a name is neither a column nor the dotted name of a field.
    """
    return list(dict.fromkeys(_stored(name) for name in names))


def column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return the values of a column, or of a field such as `system.peak_tflops`; null where it is not there.

    Raises:
        InputError: no row has such a field, or its values are no numbers, texts or flags of one type.
    """
    if _stored(name) == name:
        is_text = study_schema().field(name).type == pa.string()
        return table[name].cast(pa.string()) if is_text else table[name]
    found = _values(table, name)
    try:
        values = pa.array([float(v) if type(v) is int else v for v in found])
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise InputError(f"{name} is not a number, a text or a flag in every point") from None
    if pa.types.is_nested(values.type):
        raise InputError(f"{name} is a list or a group; name one of its fields")
    return _spread(table, name, values)


def grouping_column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return the same as texts if its values are lists or groups, such as `system.faults`.

    Raises:
        InputError: no row has such a field.
    """
    if _stored(name) == name:
        return table[name]
    found = _values(table, name)
    if len({type(value) for value in found} - {int, float}) <= 1 and not _is_nested(found):
        return column(table, name)
    return _spread(table, name, pa.array(["null" if value is None else shown(value) for value in found]))


def _is_nested(values: list[Any]) -> bool:
    return any(isinstance(value, list | dict) for value in values)


def _values(table: pa.Table, name: str) -> list[Any]:
    """The value of a field in each text of the dictionary of its column."""
    stored = _stored(name)
    specs = table[stored].unify_dictionaries()
    dictionary = specs.chunk(0).dictionary.to_pylist() if specs.num_chunks else []
    path = name.split(".")[1:]
    found = [_field(json.loads(text), path) for text in dictionary]
    if table.num_rows and all(value is None for value in found):
        raise InputError(f"no point of the study has the field {name}: see the column {stored}")
    return found


def _spread(table: pa.Table, name: str, values: pa.Array) -> pa.ChunkedArray:
    """The value of each row, from those of the texts of the dictionary."""
    specs = table[_stored(name)].unify_dictionaries()
    return pa.chunked_array([values.take(chunk.indices) for chunk in specs.chunks], values.type)


def _stored(name: str) -> str:
    columns = study_schema().names
    if name in columns:
        return name
    prefix, dot, _ = name.partition(".")
    if dot and prefix in _SPEC_OF_PREFIX:
        return _SPEC_OF_PREFIX[prefix]
    raise InputError(
        f"unknown column {name!r}: a study has {', '.join(columns)}, and model.<field>, system.<field>"
        f"{did_you_mean(name, columns)}"
    )


def _field(value: Any, path: list[str]) -> Any:
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


class RowExpression(ColumnExpression):
    """An expression over columns of a study and dotted fields of its models and systems."""

    def __init__(self, text: str, key: str) -> None:
        """Parse the text; `key` is how messages call it, such as `where`.

        Raises:
            InputError: anything outside the language.
        """
        super().__init__(text, key, column)
