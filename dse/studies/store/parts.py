"""One Parquet part of a study: written whole or not at all, checked when it is read."""

from __future__ import annotations

import contextlib
import json
import re
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from dse.base.errors import InputError
from dse.base.files import write_atomically
from dse.base.lazy import pa, pq
from dse.studies.store.integrity import check_is_file, replaced_parts
from dse.studies.store.records import Column, RecordType
from dse.studies.store.schema import POINTS

PART_NAME = re.compile(r"part-[0-9a-f]{32}\.parquet")
ROW_GROUP_ROWS = 16_384  # what is read to get at one row
_NO_SCHEMA_VERSION = 0
_UNNAMED = POINTS.name.encode()  # parts that do not name their record type: those of release 0.2.0

AnyRecord: TypeAlias = RecordType[Any]


@dataclass(frozen=True)
class PartFooter:
    """The content of a part's footer: its rows, the parts that it stands for, schema version and columns."""

    path: Path
    rows: int
    replaces: frozenset[str]
    schema_version: int
    columns: frozenset[str]
    metadata: pq.FileMetaData = field(repr=False, compare=False)

    def lacks(self, name: str, column: Column) -> bool:
        """Whether the part's version did not have a column yet, so that its rows hold its fill value."""
        return column.since > self.schema_version and name not in self.columns


def part_names(folder: Path) -> list[str]:
    """Return the names of the parts in a folder, sorted.

    A listing taken while another process merges may miss old and new names; two that agree do not.

    Raises:
        InputError: the folder cannot be listed.
    """
    try:
        names = _listed(folder)
        while (again := _listed(folder)) != names:
            names = again
        return names
    except OSError as error:
        near = Path("results") / folder
        hint = f"; did you mean {near}?" if near.is_dir() else ""
        raise InputError(f"{folder} is not a study: {error.strerror}{hint}") from error


def _listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if PART_NAME.fullmatch(path.name))


def write_part(folder: Path, record: AnyRecord, table: pa.Table, replaces: Collection[str] = ()) -> Path:
    """Write a table of records as a new part that stands for the parts named; return its path.

    Raises:
        InputError: the folder cannot be written, or the disk is full; nothing of the part is left.
    """
    schema = record.schema
    table = table.select(schema.names).cast(schema).unify_dictionaries()
    sink = pa.BufferOutputStream()
    footer = {**schema.metadata, "record": record.name, "replaces": json.dumps(sorted(replaces))}
    pq.write_table(
        table.replace_schema_metadata(footer),
        sink,
        row_group_size=ROW_GROUP_ROWS,
        use_dictionary=[name for name in schema.names if name != record.key],
        compression={name: "none" if name == record.key else "snappy" for name in schema.names},
        write_page_checksum=True,
    )
    path = folder / f"part-{uuid.uuid4().hex}.parquet"
    write_atomically(path, memoryview(sink.getvalue()))
    return path


def record_name(folder: Path) -> str:
    """Return the name of the type of records in a study; empty where none can be read."""
    try:
        parts = [path for name in part_names(folder) if (path := folder / name).is_file()]
        return _record_in(pq.read_metadata(parts[0]).metadata or {}) if parts else ""
    except (InputError, OSError, pa.ArrowException):
        return ""


def _record_in(entries: Mapping[bytes, bytes]) -> str:
    return entries.get(b"record", _UNNAMED).decode(errors="replace")


def read_footer(path: Path, record: AnyRecord) -> PartFooter:
    """Read the footer of a part of records of one type.

    Raises:
        FileNotFoundError: the part is gone.
        InputError: it is corrupt or no file, not ours, of another type, or written by a newer version.
    """
    check_is_file(path)
    with reading_part(path):
        metadata = pq.read_metadata(path)
        entries = metadata.metadata or {}
        version = int(entries.get(b"schema_version", _NO_SCHEMA_VERSION))
        found = _record_in(entries)
        replaces = replaced_parts(entries.get(b"replaces", b"[]"))
    if version < 1:
        raise InputError(
            f"{path} is not part of a study (no schema_version in its footer): move it elsewhere"
        )
    if found != record.name:
        raise InputError(
            f"{path} has rows of type {found}, and this answers about those of type {record.name} only: "
            "name another study"
        )
    if version > record.version:
        raise InputError(
            f"{path} has schema version {version}, this program reads up to {record.version}: use a newer one"
        )
    names = frozenset(metadata.schema.names)
    return PartFooter(path, metadata.num_rows, replaces, version, names, metadata)


def read_part(part: PartFooter, record: AnyRecord, schema: pa.Schema) -> pa.Table:
    """Read the columns of `schema`; those that the part's version did not have yet hold their fill value.

    Raises:
        FileNotFoundError, InputError: as `read_footer`.
    """
    present = part.columns
    coded = [name for name in schema.names if pa.types.is_dictionary(schema.field(name).type)]
    with (
        reading_part(part.path),
        pq.ParquetFile(
            part.path,
            metadata=part.metadata,
            read_dictionary=[name for name in coded if name in present],
            page_checksum_verification=True,
        ) as file,
    ):
        columns = [name for name in schema.names if name in present]
        return _checked(file.read(columns=columns), record, schema, part)


def read_rows_at(part: PartFooter, record: AnyRecord, positions: Sequence[int]) -> pa.Table:
    """Read every column of a few rows, given by their ascending positions in the part.

    Raises:
        FileNotFoundError, InputError: as `read_footer`.
    """
    schema = record.schema
    tables, first = [], 0
    with (
        reading_part(part.path),
        pq.ParquetFile(part.path, metadata=part.metadata, page_checksum_verification=True) as file,
    ):
        for group in range(file.num_row_groups):
            last = first + file.metadata.row_group(group).num_rows
            inside = [position - first for position in positions if first <= position < last]
            if inside:
                tables.append(file.read_row_group(group, use_threads=False).take(inside))
            first = last
        return _checked(pa.concat_tables(tables), record, schema, part) if tables else schema.empty_table()


def _checked(table: pa.Table, record: AnyRecord, schema: pa.Schema, part: PartFooter) -> pa.Table:
    """The columns of `schema`, with values that are believed."""
    table = _completed(table, record, schema, part)
    record.check(table)
    return table


def _completed(table: pa.Table, record: AnyRecord, schema: pa.Schema, part: PartFooter) -> pa.Table:
    """The columns of `schema`; those that the part's version did not have yet hold their fill value."""
    for wanted in schema:
        column = record.columns[wanted.name]
        if part.lacks(wanted.name, column):
            fill = pa.array([column.fill] * table.num_rows, wanted.type)
            table = table.append_column(wanted, fill)
    return table.select(schema.names).cast(schema)


@contextlib.contextmanager
def reading_part(path: Path) -> Iterator[None]:
    """Turn what pyarrow raises over a damaged file into an InputError that names it and the way out."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        if isinstance(error, OSError) and error.strerror:  # pyarrow's own, for a corrupt page, has none
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        cause = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{path} is corrupt ({cause}): move it away and run the sweep again, which computes only the "
            "rows that were in it"
        ) from error
