"""Points that are no better than another one: printed alike, the same plan, or too near to tell apart."""

from __future__ import annotations

import math
from typing import Any

from dse.base.lazy import np, pa, pc
from dse.base.texts import counted
from dse.base.units import format_bytes, format_duration_ns
from dse.inputs.strategies import DEGREES
from dse.prediction.intervals.ties import tie_gap
from dse.studies.points import PREDICTION, method_of_options
from dse.studies.store.schema import StudyRow

PLAN = (*DEGREES, "weight_sharded", "schedule", "chunks")
"""The axes that make a plan: two points with the same values of these are twins."""

_PRINTED = ("wall_time_ns", "peak_memory_bytes")

_NEAR = 1.002  # more than the four digits of a duration tell apart


def tied_points(table: pa.Table, best: StudyRow) -> Any:
    """Return for each row of a table whether it is printed as the best of them, as an array of booleans."""
    wall_time_ns = best.wall_time_ns or 0
    near = pc.less_equal(table["wall_time_ns"], math.ceil(wall_time_ns * _NEAR)).to_numpy()
    tied = np.zeros(table.num_rows, bool)
    (candidates,) = np.nonzero(near)
    pairs = table.select([*_PRINTED]).take(candidates).to_pydict()
    printed = _printed(wall_time_ns, best.peak_memory_bytes)
    tied[candidates] = [_printed(*pair) == printed for pair in zip(*pairs.values(), strict=True)]
    return tied


def is_predicted(row: StudyRow) -> bool:
    """Return whether a point is predicted, so that its time has an error."""
    return method_of_options(row.options).name == PREDICTION.name


def tie_columns(best: StudyRow) -> tuple[str, ...]:
    """Return the columns that tell which points are no better than the best one."""
    return (*_PRINTED, *PLAN) if is_predicted(best) else _PRINTED


def alike_points(table: pa.Table, best: StudyRow) -> Any:
    """Return which rows are no runner-up of the best one: printed alike or, of predictions, its twins."""
    alike = tied_points(table, best)
    return alike | _twins(table, best) if is_predicted(best) else alike


def indistinct_points(table: pa.Table, best: StudyRow) -> Any:
    """Return which rows are so near to the best, a prediction, that the order of the plans is not known."""
    most = (best.wall_time_ns or 0) * (1 + tie_gap())
    return table["wall_time_ns"].to_numpy() <= most


def plans_in(table: pa.Table) -> int:
    """Return how many plans the rows of a table have."""
    return int(table.group_by(list(PLAN)).aggregate([]).num_rows)


def tie_words(best: StudyRow, others: int, roomiest: StudyRow) -> str:
    """Say how many plans predictions cannot tell from the best, and which of all these needs least memory."""
    size = "" if roomiest.peak_memory_bytes is None else f", {format_bytes(roomiest.peak_memory_bytes)}"
    plans = counted(others, "other plan")
    return f"tied with {best.label()}: {plans}, of all these {roomiest.label()} has most room{size}"


def _twins(table: pa.Table, best: StudyRow) -> Any:
    """Mark the rows that have the plan of the best one."""
    twins = np.ones(table.num_rows, bool)
    for name in PLAN:
        twins &= pc.equal(table[name], getattr(best, name)).to_numpy()
    return twins


def _printed(wall_time_ns: int, peak_memory_bytes: int | None) -> tuple[str, str]:
    peak = "-" if peak_memory_bytes is None else format_bytes(peak_memory_bytes)
    return format_duration_ns(wall_time_ns), peak
