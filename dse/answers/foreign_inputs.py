"""Whether a study has points of other inputs than those of a sweep that is about to add to it."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

from dse.answers.differences import InputChange, changed_fields
from dse.answers.groups import flat_texts
from dse.answers.texts import combined
from dse.base.lazy import np
from dse.studies.points import scenario_of
from dse.studies.store import StudyStore

if TYPE_CHECKING:
    from dse.studies.config import Config

_COLUMNS = {"model_spec": "model", "system_spec": "system", "options": "options"}
_LOOKED_AT = 256  # combinations of model and system of the sweep
_SHOWN_INPUTS = 4
_SHOWN_VALUES = 3


def foreign_inputs(config: Config, store: StudyStore) -> str:
    """Return what differs between all stored points and all those of a sweep, as one line; "" if some agree.

    Raises:
        InputError: the study cannot be read, or the space is empty.
    """
    stored = _stored(store)
    planned = set()
    base = scenario_of(config)
    pairs = config.space.scenarios(config.models, config.systems)
    for model, system, _ in itertools.islice(pairs, _LOOKED_AT):
        scenario = dataclasses.replace(base, model=model, system=system)
        planned.add((scenario.model_spec, scenario.system_spec, scenario.options))
    if stored & planned:
        return ""
    changes: list[InputChange] = []
    for index, prefix in enumerate(_COLUMNS.values()):
        before, after = (
            flat_texts(sorted({row[index] for row in rows}), prefix) for rows in (stored, planned)
        )
        changes += _renamed(before, after, f"{prefix}.name") or changed_fields(before, after)
    if not changes:
        return ""
    changes = [change for change in changes if not set(change.first) & set(change.second)] or changes
    shown = [f"{change.name} {_values(change.first)} -> {_values(change.second)}" for change in changes]
    more = f" and {len(shown) - _SHOWN_INPUTS} more" if len(shown) > _SHOWN_INPUTS else ""
    return (
        f"study {store.folder.name} holds points of other inputs: {', '.join(shown[:_SHOWN_INPUTS])}{more}; "
        "write study=NAME to keep them apart"
    )


def _stored(store: StudyStore) -> set[tuple[str, ...]]:
    """The combinations of inputs that the study has; rows of schema version 1 have none."""
    table = store.read_table(list(_COLUMNS))
    columns = [combined(table[name]) for name in _COLUMNS]
    if any(column.null_count for column in columns):
        return set()
    rows = np.unique(np.stack([column.indices.to_numpy() for column in columns], axis=1), axis=0).tolist()
    return {
        tuple(column.dictionary[index].as_py() for column, index in zip(columns, row, strict=True))
        for row in rows
    }


def _renamed(before: list[dict[str, Any]], after: list[dict[str, Any]], name: str) -> list[InputChange]:
    """The names, if all of them differ: then they say more than the fields."""
    one, other = (tuple(sorted({str(fields.get(name)) for fields in some})) for some in (before, after))
    return [] if set(one) & set(other) else [InputChange(name, one, other)]


def _values(texts: tuple[str, ...]) -> str:
    more = "|…" if len(texts) > _SHOWN_VALUES else ""
    return "|".join(texts[:_SHOWN_VALUES]) + more if texts else "none"
