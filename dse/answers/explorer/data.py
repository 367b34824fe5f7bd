"""The data that a page opens with: scenario, fields, presets, space, and how the terminal says all that."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.answers.conventions import mfu_conventions, mfu_line
from dse.answers.explain import CATEGORIES, PARTS
from dse.answers.explorer.fields import fields_of
from dse.answers.explorer.presets import (
    Preset,
    model_data,
    models_beside,
    system_data,
    systems_beside,
    why_not_live,
)
from dse.answers.fidelities import fidelity_of
from dse.base.errors import InputError
from dse.base.expressions import parse, to_json
from dse.inputs.models import counted_operations
from dse.inputs.strategies import AXES, AXIS
from dse.studies.points import Scenario
from dse.studies.points.inputs import engine_version, result_version
from dse.studies.space import DesignSpace
from dse.studies.space.names import path_of
from dse.studies.store import StudyRow, study_schema

STRATEGY_FIELDS = tuple([axis.name for axis in AXES if axis.since == 1])
"""The axes of a strategy that traces know, and the engine in a page."""

_METRICS = (
    *("wall_time_ns", "gpu_time_ns", "comm_time_ns", "exposed_comm_ns"),
    *("compute_bound_pct", "compute_utilization_pct", "memory_utilization_pct", "operation_intensity"),
    *("peak_memory_bytes", "rank0_wall_time_ns", "rank0_peak_memory_bytes", "last_rank", "rank_classes"),
    *("mfu_pct", "tokens_per_s"),
)

_PARQUET_TYPES = {
    "bool": "BOOLEAN",
    "int32": "INT32",
    "int64": "INT64",
    "double": "DOUBLE",
    "string": "STRING",
    "dictionary<values=string, indices=int32, ordered=0>": "STRING",
}


@dataclass(frozen=True)
class Words:
    """The words of a command line that lead to a scenario; those of `space` belong to sweeps only."""

    scenario: tuple[str, ...]
    space: tuple[str, ...] = ()

    def point(self) -> str:
        """Return the command that evaluates one strategy, up to the strategy."""
        return shlex.join(["dse", "point", *self.scenario])

    def sweep(self) -> str:
        """Return the command that sweeps the space."""
        return shlex.join(["dse", "sweep", *self.scenario, *self.space])


@dataclass(frozen=True)
class Subject:
    """The subject of a page.

    `rows` are those of a study, in the order of its answers; `models` and `systems` presets besides those of
    conf/. `reason` says why the page is static although its scenario could be live; empty: it is not.
    """

    scenario: Scenario
    choices: Mapping[str, Sequence[Any] | None]
    constraints: Sequence[str]
    words: Words
    memory_cap_bytes: int | None
    title: str = ""
    study: str | None = None
    rows: Sequence[StudyRow] = ()
    models: Sequence[Preset] = ()
    systems: Sequence[Preset] = ()
    reason: str = ""


def page_data(subject: Subject) -> dict[str, Any]:
    """Return the data of a page as plain JSON (docs/explorer.md#data)."""
    on = subject.scenario
    why_static = why_not_live(on) or subject.reason
    return {
        "version": engine_version(),
        "result_version": result_version(),
        "title": subject.title or f"{on.model.name} on {on.system.name}",
        "fidelity": fidelity_of(on.model_spec, on.options),
        "study": subject.study,
        "live": not why_static,
        "why_static": why_static,
        "scenario": scenario_data(on),
        "command": subject.words.sweep(),
        "point_command": subject.words.point(),
        "fields": [] if why_static else [each.to_json() for each in fields_of(on)],
        "presets": {"models": [], "systems": []} if why_static else _presets(subject),
        "space": {
            "choices": {
                name: None if values is None else list(values)
                for name, values in subject.choices.items()
                if name in STRATEGY_FIELDS
            },
            "constraints": list(map(constraint_data, subject.constraints)),
        },
        "strategy_fields": _strategy_fields(subject.rows),
        "memory_cap_bytes": subject.memory_cap_bytes,
        "mfu_notes": {
            "multiply_add_as_one": mfu_line(counted_operations(multiply_add_as_two=False)),
            "multiply_add_as_two": mfu_line(counted_operations(multiply_add_as_two=True)),
            "stored": mfu_conventions(subject.rows),
        },
        "columns": download_columns(),
        "parts": PARTS,
        "categories": CATEGORIES,
        "rows": [row_data(row) for row in subject.rows],
    }


def scenario_data(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as the engine in the page takes it: as a study stores it."""
    return {
        "model": json.loads(scenario.model_spec),
        "system": json.loads(scenario.system_spec),
        "divisibility": scenario.resolved_divisibility,
    }


def download_columns() -> list[tuple[str, str]]:
    """Return the columns of a study that a page hands out, with their types in Parquet."""
    schema = study_schema()
    doubts = ("understated_comm", "impossible_split")
    named = ("model", "system", "status", "reason", "fractional", "npus")
    names = (*STRATEGY_FIELDS, *named, *_METRICS, "tokens_per_s_per_npu", *doubts)
    return [(name, _PARQUET_TYPES[str(schema.field(name).type)]) for name in names]


def constraint_data(text: str) -> dict[str, Any]:
    """Return a constraint as a page evaluates it: its text with blanks folded, and its tree of full names."""
    folded = " ".join(text.split())
    return {"text": folded, "tree": to_json(parse(folded, "space.constraints"), path_of)}


def row_data(row: StudyRow) -> dict[str, Any]:
    """Return a row as the engine in the page gives it; null where a figure does not exist."""
    names = [axis.name for axis in AXES if axis.since == 1 or getattr(row, axis.name) != axis.default]
    return {
        **{name: getattr(row, name) for name in names},
        "label": row.label(),
        "status": row.status,
        "reason": row.reason,
        **{name: _plain(getattr(row, name)) for name in _METRICS},
        "fractional": row.fractional,
        "understated_comm": row.understated_comm,
        "impossible_split": row.impossible_split,
    }


def figures_of_a_row() -> int:
    """Return how many figures the engine in a page gives of a point: status, metrics, whether it is cut."""
    return len(_METRICS) + 2


def space_choices(space: DesignSpace) -> dict[str, Sequence[Any] | None]:
    """Return the values of the axes that traces know; None means every degree that fills the system.

    Raises:
        InputError: the space has axes over fields of model and system, or others that only predictions know.
    """
    if space.axes:
        key = space.axes[0][0]
        raise InputError(
            f"space.axes.{key} has no effect on dse explore, where every number has a slider; leave it out, "
            "or write python -m dse.sweep"
        )
    for name, values in space.choices.items():
        if name not in STRATEGY_FIELDS and list(values or ()) != [AXIS[name].default]:
            raise InputError(
                f"space.{name} has no effect on dse explore: only predictions know it; leave it out, or "
                "write python -m dse.sweep"
            )
    return {name: space.choices[name] for name in STRATEGY_FIELDS}


def _strategy_fields(rows: Sequence[StudyRow]) -> list[str]:
    """The axes of traces, and those in which the rows of a study are not as by default."""
    return [
        axis.name
        for axis in AXES
        if axis.since == 1 or any(getattr(row, axis.name) != axis.default for row in rows)
    ]


def _presets(subject: Subject) -> dict[str, Any]:
    models = _named_once([*subject.models, *models_beside(subject.scenario)])
    systems = _named_once([*subject.systems, *systems_beside(subject.scenario)])
    return {
        "models": list(map(model_data, models)),
        "systems": [system_data(system, subject.scenario) for system in systems],
    }


def _named_once(presets: Sequence[Preset]) -> list[Preset]:
    """The first of equal names, of which there are some where a study changed what conf/ has."""
    found: dict[str, Preset] = {}
    for each in presets:
        found.setdefault(each.name, each)
    return list(found.values())


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
