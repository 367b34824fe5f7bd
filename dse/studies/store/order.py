"""The order of rows in a part: columns as whole numbers that sort alike, which are compared at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dse.studies.store.records import RecordType

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_MOST = 2**62  # combinations of columns that are one number


def sorted_rows(record: RecordType[Any], table: pa.Table) -> pa.Table:
    """Return the rows of a table in the order of their type, nulls last."""
    import numpy as np
    import pyarrow as pa

    keys: list[NDArray[np.int64]] = []
    size = _MOST + 1
    for name in record.order:
        if name == record.key and keys and _order(keys)[1]:
            break  # they differ already
        ranks, count = _ranks(table[name].combine_chunks())
        if count < 2:
            continue
        if size * count > _MOST:
            keys.append(ranks)
            size = count
        else:
            keys[-1] = keys[-1] * count + ranks
            size *= count
    if not keys:
        return table
    order, _ = _order(keys)
    if np.array_equal(order, np.arange(len(order))):
        return table
    return table.take(pa.array(order))


def _order(keys: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.intp], bool]:
    """Return the order of rows, and whether they all differ."""
    import numpy as np

    order = np.lexsort(keys[::-1])
    equal = np.ones(max(len(order) - 1, 0), bool)
    for ranks in keys:
        equal &= np.diff(ranks[order]) == 0
    return order, not equal.any()


def _ranks(column: pa.Array) -> tuple[NDArray[np.int64], int]:
    """Return for each row the place of its value among those of a column, and how many there are."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):  # no chunk at all
        return np.zeros(0, np.int64), 0
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = pc.dictionary_encode(column)
    values = encoded.dictionary
    count = len(values)
    ranks = pc.rank(values, tiebreaker="dense").to_numpy().astype(np.int64) - 1
    places = pc.fill_null(encoded.indices, count).to_numpy()
    return np.append(ranks, count)[places], count + (1 if column.null_count else 0)
