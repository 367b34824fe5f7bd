"""Studies: types of records, and the Parquet store that keeps them."""

from __future__ import annotations

from dse.studies.columns import column, stored_columns
from dse.studies.conditions import RowExpression
from dse.studies.records import Column, RecordType
from dse.studies.schema import (
    POINTS,
    STATUSES,
    TRANSIENT_STATUSES,
    Rows,
    Status,
    StudyRow,
    as_rows,
    as_table,
    study_schema,
)
from dse.studies.snapshot import Snapshot
from dse.studies.store import StudyStore

__all__ = [
    "POINTS",
    "STATUSES",
    "TRANSIENT_STATUSES",
    "Column",
    "RecordType",
    "RowExpression",
    "Rows",
    "Snapshot",
    "Status",
    "StudyRow",
    "StudyStore",
    "as_rows",
    "as_table",
    "column",
    "stored_columns",
    "study_schema",
]
