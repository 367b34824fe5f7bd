"""Columns of texts that many rows share, such as the JSON of a model."""

from __future__ import annotations

from dse.base.lazy import pa, pc


def texts_of(column: pa.ChunkedArray) -> list[str]:
    """The distinct texts of a column, nulls left out."""
    array = combined(column)
    if len(array.dictionary) == 1 and array.null_count < len(array):
        return [str(array.dictionary[0])]
    used = pc.unique(array.indices).drop_null()
    return [str(text) for text in array.dictionary.take(used).to_pylist()]


def rows_with(column: pa.ChunkedArray, text: str) -> pa.ChunkedArray | pa.Array:
    """Where a column has a text, as flags: a coded column is compared by its numbers."""
    if not pa.types.is_dictionary(column.type):
        return pc.equal(column, text)
    array = combined(column)
    return pc.equal(array.indices, pc.index(array.dictionary, text).cast(pa.int32()))


def any_text_has(texts: pa.Array, part: str) -> bool:
    """Whether one of some texts contains another: few do, and most need not become objects."""
    return bool(pc.any(pc.match_substring(texts, part)).as_py())


def combined(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column of texts as one array with one dictionary."""
    array = column.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # no chunk at all
        return pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
    return array
