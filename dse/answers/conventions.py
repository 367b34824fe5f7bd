"""What to say once below answers: what MFU counts, and which points are no better than others for certain."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Sequence
from typing import Any

from dse.models import RELATIVE_ERROR, counted_by
from dse.studies.schema import StudyRow

PREDICTED = (
    "predicted, not measured: a strategy that is a few per cent slower here may be the faster one "
    "(docs/accuracy.md has the errors against measured steps)"
)
"""What to say of points that are predicted."""

MFU_PREDICTED = (
    "a multiply-add is two FLOPs; recompute does not count; the peak is that of dense 16-bit products"
)


def mfu_convention(row: StudyRow) -> str | None:
    """Return what the MFU of a row counts; None where it has none."""
    if row.mfu_pct is None or row.model_spec is None:
        return None
    if row.options and "predictor" in _model(row.options):
        return MFU_PREDICTED
    return counted_by(_model(row.model_spec))


def mfu_conventions(rows: Iterable[StudyRow | None]) -> list[str]:
    """Return a line for each way of counting among the rows."""
    found = dict.fromkeys(mfu_convention(row) for row in rows if row is not None)
    return [mfu_line(text) for text in found if text is not None]


def mfu_line(counted: str) -> str:
    """Return the line that says what an MFU counts."""
    return f"MFU: {counted}"


def model_error(row: StudyRow) -> float | None:
    """Return how far wall times of the fidelity of a row may be off against each other; None: not known."""
    if row.model_spec is None:
        return 0.0  # rows of schema version 1 are of the reference's model
    model = _model(row.model_spec)
    if any(value is not None for value in (model.get("repairs") or {}).values()):
        return None
    return RELATIVE_ERROR[model.get("fidelity", "stage")]


def certainty(best: StudyRow | None, others: Sequence[StudyRow | None]) -> list[str]:
    """Say which of the other points are tied with the best one within the error of the model.

    Nothing where the model has none, or where there is nothing to compare.
    """
    compared = [row for row in others if row is not None]
    if best is None or not compared or best.wall_time_ns is None:
        return []
    if best.options and "predictor" in _model(best.options):
        return [PREDICTED]
    error = model_error(best)
    if error is None:
        return ["times of this fidelity are not calibrated: how small a difference still counts is not known"]
    limit = best.wall_time_ns * (1 + error)
    tied = [row.label() for row in compared if error and (row.wall_time_ns or 0) <= limit]
    return [f"tied with the best within the model's error of {100 * error:g} %: {', '.join(tied)}"] * bool(
        tied
    )


@functools.lru_cache(maxsize=64)
def _model(text: str) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(text)
    return model
