"""Rows that answer one question: one model on one system of one size; and which other inputs vary in them."""

from __future__ import annotations

import functools
import json
import marshal
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.answers.fidelities import fidelity_of_rows, hints_of_rows
from dse.answers.selection import SELECTION_COLUMNS
from dse.answers.texts import combined, texts_of
from dse.base.errors import InputError
from dse.base.lazy import np, pa, pc
from dse.base.records import converted
from dse.base.texts import counted, printable, shared_json
from dse.inputs.models import CHOICES, ModelSpec
from dse.inputs.systems.values import label_of_spec, own_fields, shown
from dse.studies.store.schema import StudyRow

ANSWER_COLUMNS = (*SELECTION_COLUMNS, "npus", "model_spec", "system_spec", "options", "reason")
"""What it takes to answer by groups: to split rows, to select among them, to describe variants and losses."""

DIGEST_DIGITS = 8
"""How many digits of the digest of a file people see."""

_DIGEST = "_sha256"


@dataclass(frozen=True)
class Group:
    """The rows of one model (one shape of it) on the systems of one name and size; `title` names them."""

    title: str
    table: pa.Table

    @functools.cached_property
    def fidelity(self) -> str:
        """How the rows were computed, in words; empty if there are none."""
        return fidelity_of_rows(self.table)

    @property
    def heading(self) -> str:
        """The lines above an answer: the title, how the rows were computed, and what is easily mistaken."""
        return "\n".join([", ".join(filter(None, [self.title, self.fidelity])), *hints_of_rows(self.table)])


def groups(table: pa.Table) -> list[Group]:
    """Split a study into its questions: by model, by what varies among its shapes, by system, by NPUs.

    Wall times of one model on variants of a system compare, and so do ways to run it (`CHOICES`: its
    micro-batches, for example); those of another batch or sequence, or of more NPUs, do not.
    """
    codes, entries = _questions(table)
    if len(entries) <= 1:
        return [Group(_title(*entry, {}), table) for entry in entries] or [Group("no point", table)]
    shapes = _variants(list(dict.fromkeys(map(question_of, texts_of(table["model_spec"])))), "model", _name)
    found = []
    for code, (model, system, npus) in enumerate(entries):
        rows = table.filter(pc.equal(codes, code))
        text = rows["model_spec"][0].as_py()
        shape = shapes.get("" if text is None else question_of(text), {})
        order = [(str(type(value)), sortable(value)) for value in shape.values()]
        found.append(((model, order, system, npus), Group(_title(model, system, npus, shape), rows)))
    found.sort(key=lambda entry: entry[0])
    return [group for _, group in found]


@functools.lru_cache(maxsize=4096)
def question_of(model_spec: str) -> str:
    """A model's JSON without the fields that say how it is run: shapes of a model differ, ways do not."""
    values = json.loads(model_spec)
    for name in CHOICES:
        *path, last = name.split(".")
        inner = functools.reduce(lambda part, key: part.get(key) or {}, path, values)
        inner.pop(last, None)
    return json.dumps(values)


def _questions(table: pa.Table) -> tuple[pa.Array, list[tuple[str, str, int]]]:
    """For each row the number of its question, and model, system and NPUs of each question.

    The names are part of the texts, so that looking at the (few) distinct texts is enough; rows of schema
    version 1 have no texts. Their names distinguish them.
    """
    model_rows, models, model_labels = _named(table, "model", "model_spec", question_of, _name)
    system_rows, systems, system_labels = _named(table, "system", "system_spec", _system, _system)
    sizes = pc.dictionary_encode(table["npus"]).unify_dictionaries().combine_chunks()
    if isinstance(sizes, pa.ChunkedArray):  # no chunk at all
        return pa.array([], pa.int64()), []
    counts = sizes.dictionary.to_pylist()
    count = table.num_rows
    if count and len(model_labels) == len(system_labels) == len(counts) == 1:
        return pa.array(np.zeros(count, np.int64)), [(model_labels[0], system_labels[0], counts[0])]
    models, systems = models[model_rows], systems[system_rows]
    codes = models * (len(system_labels) + 1) + systems
    codes = codes * (len(counts) + 1) + sizes.indices.to_numpy()
    firsts = np.full((len(model_labels) + 1) * (len(system_labels) + 1) * (len(counts) + 1), count)
    firsts[codes[::-1]] = np.arange(count)[::-1]  # of several assignments the last one stays: the first row
    order = np.argsort(firsts, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    entries = [
        (model_labels[models[row]], system_labels[systems[row]], table["npus"][int(row)].as_py())
        for row in firsts[order]
        if row < count
    ]
    return pa.array(rank[codes]), entries


def _named(
    table: pa.Table, column: str, spec: str, same: Callable[[str], str], label: Callable[[str], str]
) -> tuple[Any, Any, list[str]]:
    """For each row its text, the code of each text, and the `label` of each code.

    Texts for which `same` is equal have one code.
    """
    texts = combined(table[spec])
    if texts.null_count:
        encoded = pc.dictionary_encode(table[column]).unify_dictionaries().combine_chunks()
        return encoded.indices.to_numpy(), np.arange(len(encoded.dictionary)), encoded.dictionary.to_pylist()
    all_texts = texts.dictionary.to_pylist()
    kinds: dict[str, int] = {}
    codes = np.array([kinds.setdefault(same(text), len(kinds)) for text in all_texts], np.int64)
    names = {codes[index]: label(text) for index, text in enumerate(all_texts)}
    labels = [names[code] for code in range(len(kinds))]
    return texts.indices.to_numpy(), codes, labels


def describe_variants(table: pa.Table, *, mixed: bool = False) -> Mapping[str, str]:
    """For each text of `model_spec`, `system_spec` and `options`: the inputs in which it differs from others.

    Systems are compared with those of the same name, models with those of the same shape; if they are
    `mixed`, with those of the same name too.
    """
    return {
        text: " ".join(shown_field(name, value) for name, value in values.items())
        for text, values in variant_fields(table, mixed=mixed).items()
    }


def variant_fields(table: pa.Table, *, mixed: bool = False) -> dict[str, dict[str, Any]]:
    """The same as values by dotted names."""
    models = _variants(texts_of(table["model_spec"]), "model", _name if mixed else question_of)
    systems = _variants(texts_of(table["system_spec"]), "system", _name if mixed else _system)
    return {**models, **own_fields(systems), **varying(texts_of(table["options"]), "options")}


def variant_of(row: StudyRow, described: Mapping[str, str]) -> str:
    """The inputs of a row that vary within its group, such as `system.peak_tflops=450`.

    Choices without effect on the row, such as how to recompute where nothing is recomputed, are left out.
    """
    model = described.get(row.model_spec or "", "")
    spec = stored_model(row.model_spec) if model and row.model_spec else None
    if spec is not None:
        choices = spec.choices_under(row.dp, row.pp, activation_recompute=row.activation_recompute)
        for name in (name for name, value in choices.items() if value is None):
            model = re.sub(rf"(^| )model\.{re.escape(name)}=\S+", "", model).strip()
    texts = [model, *(described.get(text or "", "") for text in (row.system_spec, row.options))]
    return " ".join(text for text in texts if text)


@functools.lru_cache(maxsize=4096)
def stored_model(model_spec: str) -> ModelSpec | None:
    """The model of a JSON text; None if it is one of another version."""
    values = json.loads(model_spec)
    try:
        model: ModelSpec = converted({**values, "repairs": values.get("repairs") or {}}, ModelSpec, "model")
    except InputError:
        return None
    return model


def varying(texts: Sequence[str], prefix: str) -> dict[str, dict[str, Any]]:
    """For each JSON text the fields (as dotted names below `prefix`) whose values differ among the texts.

    A list of one length in all texts differs by its entries, one of several lengths is one value.
    """
    return _varying(tuple(texts), prefix)


@functools.lru_cache(maxsize=16)
def _varying(texts: tuple[str, ...], prefix: str) -> dict[str, dict[str, Any]]:
    """The same, once for all parts of an answer that describe these variants, thousands at times."""
    parsed = dict(zip(texts, _without_common([shared_json(text) for text in texts]), strict=True))
    lengths: dict[str, set[int]] = {}
    flat: dict[str, dict[str, Any]] = {}
    for text, value in parsed.items():
        _flatten(value, prefix, flat.setdefault(text, {}), lengths=lengths)
    whole = {name for name, found in lengths.items() if len(found) > 1}
    if whole:
        for text, value in parsed.items():
            flat[text] = {}
            _flatten(value, prefix, flat[text], whole)
    names = list(dict.fromkeys(name for values in flat.values() for name in values))
    named = names_alone(flat.values())
    differing = [
        name
        for name in names
        if name not in named
        and len({repr(values.get(name)) for values in flat.values()}) > 1  # 1, 1.0 and true differ
    ]
    return {
        text: {name: values[name] for name in differing if values.get(name) is not None}
        for text, values in flat.items()
    }


def _without_common(values: Sequence[Any]) -> Sequence[Any]:
    """Leave out the keys of objects whose values are the same in all of them; 1, 1.0 and true differ."""
    if not all(isinstance(value, dict) for value in values):
        return values
    names = {name for value in values for name in value}
    common = {name for name in names if _are_alike([value.get(name) for value in values])}
    return [{name: entry for name, entry in value.items() if name not in common} for value in values]


def _are_alike(values: Sequence[Any]) -> bool:
    """Whether all values are the same."""
    first = values[0]
    kind = type(first)
    if kind in (str, int, bool):
        return all(type(value) is kind and value == first for value in values)
    frozen = _frozen(first)
    return all(value is first or _frozen(value) == frozen for value in values)


def _frozen(value: Any) -> bytes:
    return marshal.dumps(value, 2)  # later versions tell apart how equal texts are kept


def names_alone(texts: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the fields of texts (as dotted names) that tell nothing apart: names, and digests of files.

    The digest of a file counts where the file has one name and several contents, and where it has no name.
    """
    left_out: set[str] = set()
    digests: dict[str, dict[Any, set[Any]]] = {}
    for fields in texts:
        for name, value in fields.items():
            if name.endswith(".name"):
                left_out.add(name)
            elif name.endswith(_DIGEST):
                file = fields.get(name.removesuffix(_DIGEST))
                digests.setdefault(name, {}).setdefault(file, set()).add(value)
    return left_out | {
        name
        for name, contents in digests.items()
        if None not in contents and all(len(found) == 1 for found in contents.values())
    }


def shown_value(name: str, value: Any) -> str:
    """Return the value of a field as people read it; of the digest of a file its first digits."""
    return value[:DIGEST_DIGITS] if name.endswith(_DIGEST) and isinstance(value, str) else shown(value)


def shown_field(name: str, value: Any) -> str:
    """Return a field as people read it, such as `system.peak_tflops=450`."""
    return f"{name}={shown_value(name, value)}"


def flat_texts(texts: Iterable[str], prefix: str) -> list[dict[str, Any]]:
    """JSON texts, each as its fields by dotted names below `prefix`."""
    fields: list[dict[str, Any]] = []
    for text in texts:
        fields.append({})
        _flatten(shared_json(text), prefix, fields[-1])
    return fields


def _flatten(
    value: Any,
    name: str,
    into: dict[str, Any],
    whole: frozenset[str] | set[str] = frozenset(),
    lengths: dict[str, set[int]] | None = None,
) -> None:
    """Add the fields of a value by their dotted names; thousands of variants are common, so no generators."""
    if isinstance(value, list) and lengths is not None:
        lengths.setdefault(name, set()).add(len(value))
    if isinstance(value, dict):
        for key, entry in value.items():
            _flatten(entry, f"{name}.{key}", into, whole, lengths)
    elif isinstance(value, list) and value and name not in whole:
        for index, entry in enumerate(value):
            _flatten(entry, f"{name}.{index}", into, whole, lengths)
    else:
        into[name] = value


def _variants(texts: Sequence[str], prefix: str, same: Callable[[str], str]) -> dict[str, dict[str, Any]]:
    """For each text the fields that vary among the texts for which `same` is equal."""
    alike: dict[str, list[str]] = {}
    for text in texts:
        alike.setdefault(same(text), []).append(text)
    return {text: fields for some in alike.values() for text, fields in varying(some, prefix).items()}


@functools.lru_cache(maxsize=4096)
def _system(text: str) -> str:
    return label_of_spec(shared_json(text))


def _name(text: str) -> str:
    return str(shared_json(text).get("name", ""))


def _title(model: str, system: str, npus: int, shape: Mapping[str, Any]) -> str:
    fields = " ".join(shown_field(name, value) for name, value in shape.items())
    title = f"{model}{f' ({fields})' if fields else ''} on {system}, {counted(npus, 'NPU')}"
    return printable(title)  # a study may be anyone's


def sortable(value: Any) -> Any:
    """Return a value of a field so that values of one type have an order."""
    return shown(value) if isinstance(value, dict | list) else value
