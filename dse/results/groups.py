"""Rows that answer one question: those of one model on one system; and which other inputs vary among them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.results.schema import StudyRow

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Group:
    """The rows of one model (one shape of it) on the systems of one name; `title` names both."""

    title: str
    table: pa.Table


def groups(table: pa.Table) -> list[Group]:
    """Split a study into its questions: by model, then by what varies among its shapes, then by system.

    Wall times of one model on variants of a system compare; those of another batch or sequence do not.
    """
    import pyarrow.compute as pc

    codes, entries = _questions(table)
    if len(entries) <= 1:
        return [Group(_title(*entry, table, {}), table) for entry in entries] or [Group("no point", table)]
    shapes = _variants(_texts(table["model_spec"]), "model")
    found = []
    for code, (model, system) in enumerate(entries):
        rows = table.filter(pc.equal(codes, code))
        shape = list(shapes.get(rows["model_spec"][0].as_py() or "", {}).values())
        found.append((model, [(str(type(value)), value) for value in shape], system, rows))
    found.sort(key=lambda entry: entry[:3])
    return [Group(_title(model, system, rows, shapes), rows) for model, _, system, rows in found]


def _questions(table: pa.Table) -> tuple[pa.Array, list[tuple[str, str]]]:
    """For each row the number of its question, and the names of model and system of each question.

    The names are part of the texts, so that looking at the (few) distinct texts is enough; rows of schema
    version 1 have no texts, and are told apart by the names.
    """
    import numpy as np
    import pyarrow as pa

    models, model_labels = _named(table, "model", "model_spec")
    systems, system_labels = _named(table, "system", "system_spec")
    count = table.num_rows
    pairs = models.astype(np.int64) * (len(system_labels) + 1) + systems
    firsts = np.full((len(model_labels) + 1) * (len(system_labels) + 1), count)
    firsts[pairs[::-1]] = np.arange(count)[::-1]  # of several assignments the last one stays: the first row
    order = np.argsort(firsts, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    entries = [
        (model_labels[models[row]], system_labels[systems[row]]) for row in firsts[order] if row < count
    ]
    return pa.array(rank[pairs]), entries


def _named(table: pa.Table, column: str, spec: str) -> tuple[Any, list[str]]:
    """A code for each row, and the name of each. Shapes of a model differ, variants of a system do not."""
    import numpy as np
    import pyarrow.compute as pc

    texts = _combined(table[spec])
    if texts.null_count:
        encoded = pc.dictionary_encode(table[column]).unify_dictionaries().combine_chunks()
        return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
    labels = [json.loads(text)["name"] for text in texts.dictionary.to_pylist()]
    if spec == "model_spec":
        return texts.indices.to_numpy(), labels
    distinct = list(dict.fromkeys(labels))
    codes = np.array([distinct.index(label) for label in labels], np.int64)
    return codes[texts.indices.to_numpy()] if len(codes) else np.zeros(0, np.int64), distinct


def describe_variants(table: pa.Table) -> Mapping[str, str]:
    """For each text of `system_spec` and `options` of a table: the inputs in which it differs from others.

    Systems are compared with those of the same name.
    """
    described = {}
    variants = _variants(_texts(table["system_spec"]), "system")
    for found in (variants, varying(_texts(table["options"]), "options")):
        for text, values in found.items():
            described[text] = " ".join(f"{name}={_shown(value)}" for name, value in values.items())
    return described


def variant_of(row: StudyRow, described: Mapping[str, str]) -> str:
    """The inputs of a row that vary within its group, such as `system.peak_tflops=450`."""
    texts = [described.get(text or "", "") for text in (row.system_spec, row.options)]
    return " ".join(text for text in texts if text)


def varying(texts: Sequence[str], prefix: str) -> dict[str, dict[str, Any]]:
    """For each JSON text the fields (as dotted names below `prefix`) whose values differ among the texts."""
    flat: dict[str, dict[str, Any]] = {}
    for text in texts:
        _flatten(json.loads(text), prefix, flat.setdefault(text, {}))
    names = list(dict.fromkeys(name for values in flat.values() for name in values))
    differing = [
        name
        for name in names
        if len({repr(values.get(name)) for values in flat.values()}) > 1  # 1, 1.0 and true differ
        and not name.endswith((".name", "_sha256"))
    ]
    return {
        text: {name: values[name] for name in differing if values.get(name) is not None}
        for text, values in flat.items()
    }


def flat_texts(column: pa.ChunkedArray, prefix: str) -> list[dict[str, Any]]:
    """The distinct JSON texts of a column, each as its fields by dotted names below `prefix`."""
    fields: list[dict[str, Any]] = []
    for text in _texts(column):
        fields.append({})
        _flatten(json.loads(text), prefix, fields[-1])
    return fields


def _flatten(value: Any, name: str, into: dict[str, Any]) -> None:
    """Add the fields of a value by their dotted names; thousands of variants are common, so no generators."""
    if isinstance(value, dict):
        for key, entry in value.items():
            _flatten(entry, f"{name}.{key}", into)
    elif isinstance(value, list) and value:
        for index, entry in enumerate(value):
            _flatten(entry, f"{name}.{index}", into)
    else:
        into[name] = value


def _variants(texts: Sequence[str], prefix: str) -> dict[str, dict[str, Any]]:
    """For each text the fields that vary among the texts of the same name."""
    of_name: dict[str, list[str]] = {}
    for text in texts:
        of_name.setdefault(json.loads(text).get("name", ""), []).append(text)
    return {text: fields for same in of_name.values() for text, fields in varying(same, prefix).items()}


def _title(model: str, system: str, rows: pa.Table, shapes: Mapping[str, Mapping[str, Any]]) -> str:
    text = rows["model_spec"][0].as_py() if rows.num_rows else None
    shape = " ".join(f"{name}={_shown(value)}" for name, value in shapes.get(text or "", {}).items())
    npus = rows["npus"].unique().to_pylist()
    return f"{model}{f' ({shape})' if shape else ''} on {system}, {', '.join(map(str, npus))} NPUs"


def _shown(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value) if not isinstance(value, str) else value


def _texts(column: pa.ChunkedArray) -> list[str]:
    """The distinct texts of a column, nulls left out."""
    import pyarrow.compute as pc

    array = _combined(column)
    used = pc.unique(array.indices).drop_null()
    return [str(text) for text in array.dictionary.take(used).to_pylist()]


def _combined(column: pa.ChunkedArray) -> pa.DictionaryArray:
    import pyarrow as pa

    array = column.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # no chunk at all
        return pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
    return array
