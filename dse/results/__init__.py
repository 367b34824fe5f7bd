"""Studies: the schema of a row, the Parquet store, which point wins, and how that is printed."""

from __future__ import annotations

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
from dse.results.summary import render, to_json

__all__ = [
    "ROW_ORDER",
    "SCHEMA_VERSION",
    "SELECTION_COLUMNS",
    "STATUSES",
    "TRANSIENT_STATUSES",
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
    "counts_by_status",
    "describe_variants",
    "groups",
    "ranking",
    "render",
    "runner_up",
    "select",
    "study_schema",
    "to_json",
]
