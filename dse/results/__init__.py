"""Studies: the schema of a row, the Parquet store, which point wins, and how that is printed."""

from __future__ import annotations

from dse.results.schema import (
    SCHEMA_VERSION,
    STATUSES,
    Rows,
    Status,
    StudyRow,
    as_rows,
    as_table,
    study_schema,
)
from dse.results.selection import Selection, best, counts_by_status, ranking, runner_up, select
from dse.results.store import StudyStore
from dse.results.summary import render, to_json

__all__ = [
    "SCHEMA_VERSION",
    "STATUSES",
    "Rows",
    "Selection",
    "Status",
    "StudyRow",
    "StudyStore",
    "as_rows",
    "as_table",
    "best",
    "counts_by_status",
    "ranking",
    "render",
    "runner_up",
    "select",
    "study_schema",
    "to_json",
]
