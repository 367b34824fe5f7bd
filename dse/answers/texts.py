"""Columns of texts that many rows share, such as the JSON of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def texts_of(column: pa.ChunkedArray) -> list[str]:
    """The distinct texts of a column, nulls left out."""
    import pyarrow.compute as pc

    array = combined(column)
    used = pc.unique(array.indices).drop_null()
    return [str(text) for text in array.dictionary.take(used).to_pylist()]


def combined(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column of texts as one array with one dictionary."""
    import pyarrow as pa

    array = column.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # no chunk at all
        return pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
    return array
