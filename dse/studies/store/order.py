"""The order of rows: columns as whole numbers that sort alike, which are compared many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dse.base.lazy import NDArray, np, pa, pc
from dse.studies.store.records import RecordType

_MOST = 2**62  # combinations of columns that are one number


def sorted_rows(record: RecordType[Any], table: pa.Table) -> pa.Table:
    """Return the rows of a table in the order of their type, nulls last."""
    order = row_order(table, record.order)
    return table if np.array_equal(order, np.arange(len(order))) else table.take(pa.array(order))


def row_order(table: pa.Table, names: Sequence[str]) -> NDArray[np.intp]:
    """Return the places of the rows of a table, ascending by some columns, nulls last; equal rows stay."""
    keys: list[NDArray[np.int64]] = []
    size = _MOST
    order, differ = np.arange(table.num_rows), table.num_rows < 2
    for name in names:
        if differ:
            break
        ranks, count = _ranks(table[name])
        if count < 2:
            continue
        if size * count > _MOST:
            order, differ = _order(keys) if keys else (order, differ)
            keys.append(ranks)
            size = count
        else:
            keys[-1] = keys[-1] * count + ranks
            size *= count
    return order if differ or not keys else _order(keys)[0]


def _order(keys: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.intp], bool]:
    """Return the order of rows, and whether they all differ."""
    order = np.lexsort(keys[::-1])
    equal = np.ones(max(len(order) - 1, 0), bool)
    for ranks in keys:
        equal &= np.diff(ranks[order]) == 0
    return order, not equal.any()


def _ranks(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], int]:
    """Return for each row a number that sorts like its value, and how many there may be."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_integer(column.type):
        limits = pc.min_max(column).as_py()
        least, most = limits["min"] or 0, limits["max"] or 0
        if most - least < _MOST - 1:
            filled = pc.fill_null(column.cast(pa.int64()), most + 1) if column.null_count else column
            count = most - least + (2 if column.null_count else 1)
            return filled.to_numpy().astype(np.int64) - least, count
    encoded = pc.dictionary_encode(column).unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # no chunk at all
        return np.zeros(0, np.int64), 0
    count = len(encoded.dictionary)
    ranks = pc.rank(encoded.dictionary, tiebreaker="dense").to_numpy().astype(np.int64) - 1
    places = pc.fill_null(encoded.indices, count).to_numpy()
    return np.append(ranks, count)[places], count + (1 if encoded.null_count else 0)
