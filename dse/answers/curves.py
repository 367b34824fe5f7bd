"""The optimum for every memory cap at once, and the Pareto front of time, memory and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.answers.selection import Whole, finished_points, ranks_of_texts
from dse.base.errors import InputError
from dse.base.lazy import np, pa
from dse.inputs.strategies import STRATEGY_FIELDS
from dse.studies.store.columns import column
from dse.studies.store.schema import Rows, StudyRow, as_rows, as_table

FRONT_COLUMNS = ("wall_time_ns", "peak_memory_bytes")


@dataclass(frozen=True)
class CapStep:
    """From this cap on, up to that of the next step, this point is the best."""

    memory_cap_bytes: int
    row: StudyRow


def cap_curve(rows: Rows, *, whole: Whole = as_rows) -> list[CapStep]:
    """Return the steps by ascending cap; below the first nothing fits, above the last nothing changes.

    Raises:
        InputError: no point that is ok has a peak memory.
    """
    front = pareto_front(rows, whole=whole)
    steps = [CapStep(row.peak_memory_bytes, row) for row in front if row.peak_memory_bytes is not None]
    return sorted(steps, key=lambda step: step.memory_cap_bytes)


def pareto_front(
    rows: Rows, columns: Sequence[str] = FRONT_COLUMNS, *, costs: Sequence[Any] = (), whole: Whole = as_rows
) -> list[StudyRow]:
    """Return the points that are ok and that no other one equals or beats in all columns, fastest first.

    All columns are minimised, fields by their dotted names too; `costs` are further values, one a row each.
    Of points with the same values the first one of the ranking stays. Points without a value are left out.

    Raises:
        InputError: no point that is ok has a value in every column.
    """
    table = as_table(rows)
    points = finished_points(table)
    chosen = [column(table, name).take(points) for name in columns] + [cost.take(points) for cost in costs]
    valid = np.ones(len(points), bool)
    for values in chosen:
        valid &= np.asarray(values.is_valid())
    if len(points) and not valid.any():
        raise InputError(
            f"no point that is ok has a value in {', '.join(columns)}: without track_local_memory in the "
            "system there are no peak memories"
        )
    points = points.filter(pa.array(valid))
    objectives = [np.asarray(values.filter(pa.array(valid)), np.float64) for values in chosen]
    ties = [
        np.asarray(values if pa.types.is_primitive(values.type) else ranks_of_texts(values))
        for values in (table[name].take(points) for name in STRATEGY_FIELDS)
    ]
    order = np.lexsort([*reversed(ties), *reversed(objectives)])
    kept = order[_first_and_better(np.stack(objectives, axis=1)[order])] if len(order) else order
    return whole(table.take(points.take(pa.array(kept))))


def _first_and_better(values: Any) -> Any:
    """Indices of the rows that no earlier one equals or beats; rows are in lexicographic order."""
    if values.shape[1] == 2:  # the usual case: the second value is below all earlier ones
        least_before = np.concatenate([[np.inf], np.minimum.accumulate(values[:, 1])[:-1]])
        return np.flatnonzero(values[:, 1] < least_before)
    front: list[int] = []
    kept = np.empty((0, values.shape[1]))
    for index, row in enumerate(values):
        if not (kept <= row).all(axis=1).any():
            kept = np.vstack([kept, row])
            front.append(index)
    return front
