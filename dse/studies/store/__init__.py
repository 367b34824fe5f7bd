"""Studies: types of records, and the Parquet store that keeps them."""

from __future__ import annotations

from dse.studies.store.columns import RowExpression, column, stored_columns
from dse.studies.store.records import RecordType
from dse.studies.store.schema import (
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
from dse.studies.store.snapshot import Snapshot
from dse.studies.store.store import StudyStore

__all__ = [
    "POINTS",
    "STATUSES",
    "TRANSIENT_STATUSES",
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
