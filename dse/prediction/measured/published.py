"""The published measurements that the package brings, as facts with their sources."""

from __future__ import annotations

from pathlib import Path

from dse.prediction.measured.rows import MeasuredRow, read_rows, read_tables

DATA = Path(__file__).parent / "data"
FITTED = DATA / "published.csv"
NEVER_FITTED = DATA / "report_only.csv"


def published_rows() -> list[MeasuredRow]:
    """Return all of them: those that constants are fitted to, then those that are only shown."""
    return read_tables([FITTED, NEVER_FITTED])


def fitted_rows() -> list[MeasuredRow]:
    """Return those that the constants of the shipped accelerators are fitted to."""
    return read_rows(FITTED)


def never_fitted() -> set[str]:
    """Return the ids of those that are only shown."""
    return {row.id for row in read_rows(NEVER_FITTED)}
