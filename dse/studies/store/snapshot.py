"""Some columns of a study at one moment, every record once; whole rows are read when they are asked for.

Columns with one value in all rows: the footers of parts tell it, so that no row of them is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from dse.base.lazy import NDArray, np, pa, pc
from dse.studies.store.parts import PartFooter, read_part, read_rows_at, reading_part
from dse.studies.store.records import RecordType
from dse.studies.store.row import Row

POSITION = "position"
"""A column of snapshots: the row, counted through all parts."""


@dataclass(frozen=True)
class Snapshot(Generic[Row]):
    """`table` has the columns that were asked for, texts as dictionaries, and `POSITION`."""

    record: RecordType[Row]
    parts: Sequence[PartFooter]
    table: pa.Table
    _read: dict[int, Row] = field(default_factory=dict, repr=False, compare=False)

    def rows(self, some: pa.Table) -> list[Row]:
        """Return the whole rows of a few rows of the table, in their order.

        Raises:
            FileNotFoundError: another process has merged the parts meanwhile.
            InputError: a part is corrupt.
        """
        positions: list[int] = some[POSITION].to_pylist()
        ordered = sorted(set(positions) - self._read.keys())  # answers ask for the best again and again
        first = 0
        for part in self.parts:
            inside = [position for position in ordered if first <= position < first + part.rows]
            if inside:
                table = read_rows_at(part, self.record, [position - first for position in inside])
                self._read.update(zip(inside, self.record.rows(table), strict=True))
            first += part.rows
        return [self._read[position] for position in positions]


def read_snapshot(
    record: RecordType[Row],
    parts: Sequence[PartFooter],
    columns: Sequence[str],
    *,
    trusts_footers: bool = False,
) -> Snapshot[Row]:
    """Read columns of the parts; if it `trusts_footers`, no rows of columns that have one value in all rows.

    Raises:
        FileNotFoundError, InputError: as `read_part`.
    """
    asked = list(dict.fromkeys(columns))
    looked_up = [name for name in asked if name != record.key] if trusts_footers else []
    uniform = uniform_values(record, parts, looked_up)
    names = [name for name in asked if name not in uniform] or asked[:1]
    table = _without_keys(record, parts, names) if len(parts) > 1 else _joined(record, parts, names)
    if table is None:
        with_keys = _joined(record, parts, list(dict.fromkeys([*names, *_identity(record)])))
        table = without_duplicates(record, with_keys).select([*names, POSITION])
    schema, count = record.coded_schema(asked), table.num_rows
    found = uniform_columns(schema, uniform, count)
    found |= {name: table[name] for name in table.schema.names}
    del table
    for name in [*names, POSITION]:  # one at a time, so that no two copies of the whole are in memory
        found[name] = found[name].combine_chunks()
        pa.default_memory_pool().release_unused()
    schema = schema.append(pa.field(POSITION, pa.int64()))
    return Snapshot(record, parts, pa.table(found, schema=schema))


def _joined(record: RecordType[Any], parts: Sequence[PartFooter], names: Sequence[str]) -> pa.Table:
    """Columns of all parts, and `POSITION`."""
    return _with_positions(list(_tables(record, parts, names)))


def _without_keys(
    record: RecordType[Any], parts: Sequence[PartFooter], names: Sequence[str]
) -> pa.Table | None:
    """The same, None where a record may be in two parts; keys, a fifth of the memory, go part by part."""
    tables, hashes = [], []
    for table in _tables(record, parts, list(dict.fromkeys([*names, record.key]))):
        hashes.append(_hashes(table[record.key]))
        tables.append(table.select(names))
    return _with_positions(tables) if _differ(hashes) else None


def _tables(record: RecordType[Any], parts: Sequence[PartFooter], names: Sequence[str]) -> Iterator[pa.Table]:
    """Read part after part, with the memory given back that a sweep before may have left to the pool."""
    schema = record.coded_schema(names)
    pa.default_memory_pool().release_unused()
    for part in parts:
        yield read_part(part, record, schema)


def _with_positions(tables: Sequence[pa.Table]) -> pa.Table:
    table = pa.concat_tables(tables).unify_dictionaries()
    return table.append_column(POSITION, pa.array(np.arange(table.num_rows)))


def _identity(record: RecordType[Any]) -> tuple[str, ...]:
    """The columns that tell which rows are of one record, and which of them to keep."""
    return (record.key,) if record.status is None else (record.key, record.status)


def without_duplicates(record: RecordType[Any], table: pa.Table) -> pa.Table:
    """One row for each key, rather one that ended by itself; rows without a key (schema version 1) stay."""
    keys = table[record.key]
    count = table.num_rows
    if _differ([_hashes(keys)]) or pc.count_distinct(keys).as_py() == count - keys.null_count:
        return table
    rows = order = pa.array(np.arange(count))
    if record.status is not None:
        transient = pc.is_in(table[record.status], value_set=pa.array(record.transient, pa.string()))
        order = pc.add(rows, pc.multiply(pc.cast(transient, pa.int64()), count))
    ranked = pa.table({"key": keys, "order": order}).filter(pc.is_valid(keys))
    firsts = ranked.group_by("key").aggregate([("order", "min")])["order_min"]
    kept = pc.if_else(pc.greater_equal(firsts, count), pc.subtract(firsts, count), firsts)
    keyless = rows.filter(pc.is_null(keys).combine_chunks())
    both = pa.concat_arrays([kept.combine_chunks(), keyless])
    return table.take(both.take(pc.sort_indices(both)))


def _differ(hashes: Sequence[NDArray[np.uint64] | None]) -> bool:
    """Whether all keys differ, by sorting hashes of them: a tenth of the time of counting texts.

    True is certain, for equal keys have equal hashes. False is not: hashes may collide, and be None.
    """
    known = [some for some in hashes if some is not None]
    if len(known) < len(hashes):
        return False
    ordered = np.sort(np.concatenate([np.zeros(0, np.uint64), *known]))
    return not np.any(ordered[1:] == ordered[:-1])


def _hashes(keys: pa.ChunkedArray) -> NDArray[np.uint64] | None:
    """A 64-bit hash of each key; None where some are null or of another length."""
    size, word_bytes, multiplier = 32, 8, np.uint64(0x9E3779B97F4A7C15)
    found = [np.zeros(0, np.uint64)]
    for chunk in keys.chunks:
        if chunk.null_count:
            return None
        _, offsets, data = chunk.buffers()
        starts = np.frombuffer(offsets, np.int32, len(chunk) + 1, chunk.offset * 4)
        if np.any(np.diff(starts) != size):
            return None
        words = np.frombuffer(data, np.uint64, len(chunk) * size // word_bytes, int(starts[0]))
        first, *others = words.reshape(len(chunk), size // word_bytes).T
        for word in others:
            first = first * multiplier + word
        found.append(first)
    return np.concatenate(found)


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
