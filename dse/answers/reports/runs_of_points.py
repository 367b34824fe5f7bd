"""Figures of training runs in a report: columns of points, and the winners by an objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dse.answers.columns import RUN
from dse.answers.groups import Group
from dse.answers.objectives import COLUMNS, ObjectiveAnswer, objective_answers
from dse.answers.selection import Whole
from dse.base.lazy import pa
from dse.studies.store import StudyRow

RUN_FIGURES: Mapping[str, str] = {
    "run_days": "days of the run",
    "run_effective_pct": "effective %",
    "run_goodput_pct": "goodput %",
    "run_cost": "cost of the run",
    "run_energy_mwh": "energy, MWh",
}
"""Figures of a point on the page, and their titles."""

_DAY_S = 86400.0


def run_figures(table: pa.Table) -> list[str]:
    """Return the figures that points of a study have; none without a run."""
    known = table["run_time_s"].null_count < table.num_rows
    if not known:
        return []
    unknown = {name for name in COLUMNS.values() if table[name].null_count == table.num_rows}
    return [name for name in RUN_FIGURES if name not in unknown]


def run_figure(row: StudyRow, name: str) -> float | None:
    """Return a figure of a point."""
    if name == "run_days":
        return None if row.run_time_s is None else row.run_time_s / _DAY_S
    value: float | None = getattr(row, name)
    return value


def objective_tables(
    found: Sequence[Group], caps: Sequence[int | None], objective: str, whole: Whole
) -> list[dict[str, Any]]:
    """Return the winners by an objective of runs for the page; none where the step decides."""
    if objective not in COLUMNS:
        return []
    return [_table(answer) for answer in objective_answers(found, caps, objective, whole)]


def _table(answer: ObjectiveAnswer) -> dict[str, Any]:
    rows = [*answer.machines, *([answer.plain] if answer.is_changed else [])]
    columns = [column for name, column in RUN.items() if any(getattr(row, name) is not None for row in rows)]
    return {
        "heading": answer.heading,
        "effect": answer.effect,
        "titles": [" ".join(column.heading).replace("- ", "") for column in columns],
        "rows": [
            {
                "name": f"{row.system}{' (without failures)' if place == len(answer.machines) else ''}",
                "npus": row.npus,
                "label": row.label(),
                "wall_time_ns": row.wall_time_ns,
                "cells": [column.cell(row) for column in columns],
            }
            for place, row in enumerate(rows)
        ],
    }
