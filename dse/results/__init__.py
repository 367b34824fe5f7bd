"""Studies: the schema of a row, the Parquet store, which point wins, and how that is printed."""

from __future__ import annotations

from dse.results.columns import column, stored_columns
from dse.results.curves import CapStep, cap_curve, pareto_front
from dse.results.filters import Filter
from dse.results.groups import Group, describe_variants, groups
from dse.results.schema import (
    SCHEMA_VERSION,
    STATUSES,
    TRANSIENT_STATUSES,
    Rows,
    Status,
    StudyRow,
    as_rows,
    as_table,
    study_schema,
)
from dse.results.selection import (
    SELECTION_COLUMNS,
    Selection,
    best,
    counts_by_status,
    ranking,
    runner_up,
    select,
)
from dse.results.snapshot import Snapshot
from dse.results.store import ROW_ORDER, StudyStore
from dse.results.summary import render, render_rows, row_to_json, to_json

__all__ = [
    "ROW_ORDER",
    "SCHEMA_VERSION",
    "SELECTION_COLUMNS",
    "STATUSES",
    "TRANSIENT_STATUSES",
    "CapStep",
    "Filter",
    "Group",
    "Rows",
    "Selection",
    "Snapshot",
    "Status",
    "StudyRow",
    "StudyStore",
    "as_rows",
    "as_table",
    "best",
    "cap_curve",
    "column",
    "counts_by_status",
    "describe_variants",
    "groups",
    "pareto_front",
    "ranking",
    "render",
    "render_rows",
    "row_to_json",
    "runner_up",
    "select",
    "stored_columns",
    "study_schema",
    "to_json",
]
