"""The type of a study's rows, for annotations: design points where a store or reader does not say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from dse.studies.store.schema import StudyRow

if TYPE_CHECKING:
    import typing_extensions

    Row = typing_extensions.TypeVar("Row", default=StudyRow)
else:
    Row = TypeVar("Row")


def row_count(rows: Any) -> int:
    """Return how many rows a row or a table of rows is."""
    return getattr(rows, "num_rows", 1)
