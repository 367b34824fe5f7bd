"""The best few points of every group of rows, a group being the rows with equal values of some columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dse.results.columns import column
from dse.results.schema import Rows, StudyRow, as_rows, as_table
from dse.results.selection import RANKING_COLUMNS, Whole, finished_points


def tops(
    rows: Rows, by: Sequence[str], count: int, *, whole: Whole = as_rows
) -> list[tuple[tuple[Any, ...], list[StudyRow]]]:
    """Return for each combination of values of `by` the `count` best points that are ok, best first.

    Groups are in the order of their values; `by` may name fields of model and system. Without a column there
    is one group.

    Raises:
        InputError: an unknown column.
    """
    import numpy as np
    import pyarrow as pa

    table = as_table(rows)
    points = finished_points(table)
    if not len(points):
        return []
    count = min(count, len(points))
    keys = [column(table, name).take(points).to_pandas().astype(object) for name in by]
    codes = np.zeros(len(points), np.int64)
    for values in keys:
        ranks = {value: rank for rank, value in enumerate(sorted(set(values), key=_sortable))}
        codes = codes * (len(ranks) + 1) + np.array([ranks[value] for value in values], np.int64)
    ranking = [np.asarray(table[name].take(points).to_pandas()) for name in RANKING_COLUMNS[:8]]
    order = np.lexsort([*reversed(ranking), codes])
    firsts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    found = []
    for first, last in zip(firsts, [*firsts[1:], len(order)], strict=True):
        chosen = order[first : min(last, first + count)]
        values = tuple(key.iloc[chosen[0]] for key in keys)
        found.append((values, whole(table.take(points.take(pa.array(chosen))))))
    return found


def _sortable(value: Any) -> tuple[str, Any]:
    return (type(value).__name__, value)
