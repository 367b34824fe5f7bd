"""Columns with one value in all rows: the footers of parts tell it, so that no row of them is decoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dse.studies.store.parts import PartFooter, reading_part
from dse.studies.store.records import RecordType

if TYPE_CHECKING:
    import pyarrow as pa


def uniform_values(
    record: RecordType[Any], parts: Sequence[PartFooter], names: Sequence[str]
) -> dict[str, Any]:
    """Return the value of each column that has the same one in all rows of the parts.

    Statistics of doubles leave out values that are no numbers, so that columns of doubles are not looked at.

    Raises:
        InputError: a part is corrupt.
    """
    found: dict[str, Any] | None = None
    left = [name for name in names if record.columns[name].arrow_type != "double"]
    for part in (part for part in parts if part.rows):
        with reading_part(part.path):
            own = _values(record, part, left)
            found = own if found is None else {name: own[name] for name in own if own[name] == found[name]}
            for name, value in found.items() if found is own else ():
                record.check_value(name, value)
        left = list(found)
    return found or {}


def uniform_columns(schema: pa.Schema, values: dict[str, Any], count: int) -> dict[str, pa.Array]:
    """Return `count` rows of each column of `values`; columns that are alike share their memory."""
    import pyarrow as pa

    made: dict[tuple[pa.DataType, Any], pa.Array] = {}
    first = pa.repeat(pa.scalar(0, pa.int32()), count)
    found = {}
    for name, value in values.items():
        kind = schema.field(name).type
        if (kind, value) not in made:
            if value is None:
                array = pa.nulls(count, kind)
            elif pa.types.is_dictionary(kind):
                array = pa.DictionaryArray.from_arrays(first, pa.array([value], kind.value_type))
            else:
                array = pa.repeat(pa.scalar(value, kind), count)
            made[kind, value] = array
        found[name] = made[kind, value]
    return found


def _values(record: RecordType[Any], part: PartFooter, names: Sequence[str]) -> dict[str, Any]:
    """The same of one part, which has rows."""
    columns = [(name, record.columns[name]) for name in names]
    found = {name: column.fill for name, column in columns if part.lacks(name, column)}
    places = {name: place for place, name in enumerate(part.metadata.schema.names)}
    left = [(name, places[name]) for name in names if name in places]
    for number in range(part.metadata.num_row_groups):
        group = part.metadata.row_group(number)
        same = []
        for name, place in left:
            chunk = group.column(place)
            value = _value(chunk.statistics, chunk.num_values)
            if value is not None and found.setdefault(name, value[0]) == value[0]:
                same.append((name, place))
            else:
                found.pop(name, None)
        left = same
    return found


def _value(statistics: Any, count: int) -> tuple[Any] | None:
    """The one value of a column of a row group, None among them, in a tuple; None if it has several."""
    if statistics is None or not statistics.has_null_count:
        return None
    if statistics.null_count == count:
        return (None,)
    if statistics.null_count or not statistics.has_min_max:
        return None
    least = statistics.min
    return (least,) if least == statistics.max else None
