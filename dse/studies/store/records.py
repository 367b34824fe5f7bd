"""Types of records that a study can hold: a frozen dataclass says its columns, and the rest follows."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints

from dse.base.lazy import pa, pc
from dse.base.texts import shared_json

Row = TypeVar("Row")


class Column(NamedTuple):
    """The meaning of a column; `unit` is "1" for counts and "none" for text, flags and ids.

    `since` is the version of the record type that added the column, and `fill` its value in older rows. The
    last three are what no writer breaks, so that a value outside them tells of a damaged file: the least
    number, the texts that there are, and the fields with texts of a JSON object (None if the text is no
    JSON).
    """

    arrow_type: str
    unit: str
    description: str
    since: int = 1
    fill: bool | int | float | str | None = None
    least: int | None = None
    allowed: tuple[str, ...] = ()
    json_texts: tuple[str, ...] | None = None

    def check(self, name: str, values: pa.ChunkedArray) -> None:
        """Refuse values that no writer stores.

        Raises:
            ValueError: names the column and the value.
        """
        if self.least is not None:
            lowest = pc.min(values).as_py()
            if lowest is not None and not lowest >= self.least:
                raise ValueError(f"{name} is {lowest}")
        if self.allowed:
            unknown = [text for text in _texts(values) if text not in self.allowed]
            if unknown or values.null_count:
                raise ValueError(f"{name} is {unknown[0] if unknown else None!r}")
        if self.json_texts is not None:
            for text in _texts(values):
                self._check_json(name, text)

    def _check_json(self, name: str, text: str) -> None:
        values = parsed_json(text, name)
        if not isinstance(values, dict):
            raise ValueError(f"{name} is no JSON object")
        for field in self.json_texts or ():
            if not isinstance(values.get(field), str):
                raise ValueError(f"{name} has no {field}")


def _texts(values: pa.ChunkedArray) -> dict[str, None]:
    """The texts of a column; where it has fewer codes than rows, all of its dictionaries."""
    coded = pa.types.is_dictionary(values.type)
    parts = [chunk.dictionary for chunk in values.chunks] if coded else []
    if not coded or sum(map(len, parts)) > len(values):
        parts = [pc.unique(values)]
    return {text: None for part in parts for text in part.to_pylist() if text is not None}


def parsed_json(text: str | bytes, what: str) -> Any:
    """Return the value of a JSON text of a file that may be damaged.

    Raises:
        ValueError: `what` is not JSON.
    """
    try:
        return shared_json(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{what} is not JSON") from None


text = functools.partial(Column, "string", "none")
repeated_text = functools.partial(Column, "dictionary", "none")  # texts that many rows share, stored once
flag = functools.partial(Column, "bool", "none")
number = functools.partial(Column, "int64", "none")  # an id
degree = functools.partial(Column, "int32", "1")
count = functools.partial(Column, "int64", "1")
time_ns = functools.partial(Column, "int64", "ns")
seconds = functools.partial(Column, "double", "s")
size_bytes = functools.partial(Column, "int64", "bytes")
percent = functools.partial(Column, "double", "%")
rate = functools.partial(Column, "double", "tokens/s")


@dataclasses.dataclass(frozen=True)
class RecordType(Generic[Row]):
    """The facts that a study needs to know of its rows.

    `row` is a frozen dataclass whose fields are `Annotated[type, Column(...)]`; `type | None` may be null.
    """

    name: str
    """Stands in the footer of every part: rows of two types do not share a folder."""

    row: type[Row]

    order: tuple[str, ...]
    """The columns by which rows are sorted; the last is the key, so that the order is total."""

    key: str = "key"
    """The column that tells rows apart: a text, by convention a hash of all that the row depends on."""

    status: str | None = None
    """The column that says how the evaluation of a row ended, if any has one."""

    transient: tuple[str, ...] = ()
    """The statuses that another attempt may change: such a row gives way to another one with its key."""

    inherited: Mapping[str, Column] = dataclasses.field(default_factory=dict, compare=False)
    """The columns of fields whose class says none, since it is of another package."""

    @functools.cached_property
    def columns(self) -> dict[str, Column]:
        """The columns by name, in the order of the fields."""
        names = [entry.name for entry in dataclasses.fields(self.row)]  # type: ignore[arg-type]
        return {name: self.inherited.get(name) or get_args(self._hints[name])[1] for name in names}

    @functools.cached_property
    def version(self) -> int:
        """Raised by each release that adds columns (their `since`); readers refuse what is newer.

        A column that changes its meaning gets a new name instead, so that rows of all versions can share a
        study.
        """
        return max(column.since for column in self.columns.values())

    @functools.cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema: fields have their `description` and `unit`, the whole its `schema_version`."""
        fields = []
        for name, column in self.columns.items():
            repeated = column.arrow_type == "dictionary"
            kind = (
                pa.dictionary(pa.int32(), pa.string()) if repeated else pa.type_for_alias(column.arrow_type)
            )
            metadata = {"description": column.description, "unit": column.unit}
            fields.append(pa.field(name, kind, self._may_be_null(name), metadata))
        return pa.schema(fields, {"schema_version": str(self.version)})

    def coded_schema(self, names: Sequence[str]) -> pa.Schema:
        """The fields of some columns, texts as dictionaries as in parts: a tenth of time and memory."""
        fields = []
        for field in map(self.schema.field, names):
            is_text = pa.types.is_string(field.type) and field.name != self.key
            fields.append(field.with_type(pa.dictionary(pa.int32(), pa.string())) if is_text else field)
        return pa.schema(fields, self.schema.metadata)

    def table(self, rows: pa.Table | Iterable[Row]) -> pa.Table:
        """`rows` as an Arrow table of the schema; a table is returned as it is."""
        if isinstance(rows, pa.Table):
            return rows
        rows = list(rows)
        arrays = [pa.array(list(map(attrgetter(field.name), rows)), field.type) for field in self.schema]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def row_of(self, **values: Any) -> Row:
        """Return the row of these values; columns that may be null are null where no value is given."""
        nothing = {name: None for name in self.columns if self._may_be_null(name)}
        return self.row(**{**nothing, **values})

    def rows(self, table: pa.Table) -> list[Row]:
        """The rows of a table that has every column of the schema."""
        names = tuple(self.columns)
        columns = [table.column(name).to_pylist() for name in names]
        return [self.row(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]

    def check(self, table: pa.Table) -> None:
        """Refuse values that no writer stores; columns that the table does not have are not looked at.

        Raises:
            ValueError: names the column and the value.
        """
        for name in table.schema.names:
            self.columns[name].check(name, table[name])

    def check_value(self, name: str, value: Any) -> None:
        """Refuse a value of a column that no writer stores.

        Raises:
            ValueError, ArrowException: names the column and the value.
        """
        if value is None and not self._may_be_null(name):
            raise ValueError(f"{name} is null")
        field = self.schema.field(name)
        self.columns[name].check(name, pa.chunked_array([pa.array([value], field.type)]))

    def _may_be_null(self, name: str) -> bool:
        return name not in self.inherited and type(None) in get_args(get_args(self._hints[name])[0])

    @functools.cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.row, include_extras=True)
