"""A study with two old rows, new ones, and its rows and files, for the tests of the store."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from study_rows import failed_row, keyed

from dse.studies.store import (
    StudyRow,
    StudyStore,
    as_rows,
)

OLD = keyed(1, 2)
NEW = [*keyed(4, 8), dataclasses.replace(failed_row("infeasible", "no stages"), key="f" * 32)]


def stored_study(folder: Path) -> StudyStore:
    """A study with two old rows."""
    study = StudyStore.create(folder / "results" / "llama70b-system1")
    study.append(OLD)
    return study


def rows_of(study: StudyStore) -> list[StudyRow]:
    return as_rows(study.read_table())


def raising(error: BaseException) -> Any:
    def raise_error(*_: Any, **__: Any) -> Any:
        raise error

    return raise_error


def visible_names(study: StudyStore) -> list[str]:
    return sorted(path.name for path in study.folder.iterdir() if path.name != "_sweeps")
