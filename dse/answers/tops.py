"""The best few points of every group of rows, a group being the rows with equal values of some columns."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from dse.answers.selection import Whole, finished_points, rank_order
from dse.base.lazy import np, pa, pc
from dse.studies.store.columns import grouping_column
from dse.studies.store.schema import Rows, StudyRow, as_rows, as_table


def tops(
    rows: Rows, by: Sequence[str], count: int, *, whole: Whole = as_rows
) -> list[tuple[tuple[Any, ...], list[StudyRow]]]:
    """Return for each combination of values of `by` the `count` best points that are ok, best first.

    Groups are in the order of their values; `by` may name fields of model and system. Without a column there
    is one group.

    Raises:
        InputError: an unknown column.
    """
    table = as_table(rows)
    points = finished_points(table)
    if not len(points):
        return []
    count = min(count, len(points))
    candidates = table.take(points)
    codes, keys = _codes(candidates, by)
    order = rank_order(candidates).to_numpy()
    order = order[np.argsort(codes[order], kind="stable")]
    firsts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    found = []
    for first, last in zip(firsts, [*firsts[1:], len(order)], strict=True):
        chosen = order[first : min(last, first + count)]
        found.append((tuple(key(chosen[0]) for key in keys), chosen))
    rows = iter(whole(candidates.take(pa.array(np.concatenate([chosen for _, chosen in found])))))
    return [(values, list(itertools.islice(rows, len(chosen)))) for values, chosen in found]


def split_by(table: pa.Table, by: Sequence[str]) -> list[tuple[tuple[Any, ...], pa.Array]]:
    """Return the indices of the rows of each combination of values of `by`, in the order of their values.

    Raises:
        InputError: an unknown column.
    """
    if not table.num_rows:
        return []
    codes, keys = _codes(table, by)
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    return [(tuple(key(part[0]) for key in keys), pa.array(part)) for part in parts]


def _codes(table: pa.Table, by: Sequence[str]) -> tuple[Any, list[Callable[[int], Any]]]:
    """A number for each row, in the order of the values of some columns; and the value of a row in each."""
    keys: list[Callable[[int], Any]] = []
    codes = np.zeros(table.num_rows, np.int64)
    for name in by:
        indices, values = _encoded(grouping_column(table, name))
        places = {value: place for place, value in enumerate(sorted(values, key=_sortable))}
        codes = codes * (len(values) + 1) + np.array([places[value] for value in values], np.int64)[indices]
        keys.append(functools.partial(_value_at, indices, values))
    return codes, keys


def _value_at(indices: Any, values: list[Any], row: int) -> Any:
    return values[indices[row]]


def _encoded(column: pa.ChunkedArray) -> tuple[Any, list[Any]]:
    """For each row the index of its value, and the values, None among them: no object for each row."""
    encoded = pc.dictionary_encode(column).unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # no chunk at all
        return pa.array([], pa.int64()).to_numpy(), []
    values = [*encoded.dictionary.to_pylist(), None]
    return pc.fill_null(encoded.indices, len(values) - 1).to_numpy(), values


def _sortable(value: Any) -> tuple[str, Any]:
    return (type(value).__name__, value)
