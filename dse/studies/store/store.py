"""A study on disk: a folder of Parquet parts that only grows, which pandas and DuckDB read as it is."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from dse.base.errors import InputError
from dse.base.files import make_folder, sync_folder, write_atomically, writing_to
from dse.base.lazy import pa, pc, pd
from dse.base.settings.checks import check_type, checked_folder
from dse.studies.store.integrity import check_replacements
from dse.studies.store.named_folder import NamedFolder
from dse.studies.store.order import sorted_rows
from dse.studies.store.parts import PartFooter, part_names, read_footer, read_part, write_part
from dse.studies.store.records import RecordType
from dse.studies.store.row import Row
from dse.studies.store.schema import POINTS, StudyRow
from dse.studies.store.snapshot import Snapshot, read_snapshot, without_duplicates

_Result = TypeVar("_Result")
_Other = TypeVar("_Other")

LARGE_PART_ROWS = 50_000
"""A part of this many rows is left alone; compaction merges smaller ones."""

LEFTOVER_S = 3600
"""Temporary files as old as this are of writers that were killed. A sweep removes them."""

SWEEPS_FOLDER = "_sweeps"  # pandas.read_parquet(folder) skips only names that begin with "_" or "."
_READ_ATTEMPTS = 5
_SHOWN_ROWS, _SHOWN_COLUMNS = 10, 12  # in notebooks
_MERGED_ROWS = 100_000  # of one new part at most, so that merging has bounded memory


class StudyStore(Generic[Row]):
    """The folder `results/<study>/`, with rows of one record type: design points unless another is named.

    ::

        part-<uuid>.parquet   rows; a part never changes once it has its name
        _sweeps/<id>.yaml     provenance of each sweep: versions, machine, command line, configuration

    Everything else in the folder is ignored. Any number of processes may append and compact at a time:

    * a part that stands for older ones (`compact`) lists their names in its footer, key `replaces`; a listed
      part counts as removed, so the new part takes their place in the one rename that gives it its name;
    * where two rows have one key, because two processes evaluated the same point, readers see one of them:
      rather one that ended by itself than one that failed or ran out of time.
    """

    @overload
    def __init__(self: StudyStore[StudyRow], folder: str | Path) -> None: ...
    @overload
    def __init__(self, folder: str | Path, record: RecordType[Row]) -> None: ...
    def __init__(self, folder: str | Path, record: RecordType[Any] = POINTS) -> None:
        """Name the folder and what its rows are; nothing is read or written.

        Raises:
            InputError: the folder is no path, or the record no type of records.
        """
        check_type("StudyStore: record", record, RecordType, "a type of records")
        self._folder = NamedFolder(checked_folder("StudyStore: folder", folder))
        self.record: RecordType[Row] = record

    @property
    def folder(self) -> Path:
        """The folder that was named, also after the process has changed its current folder."""
        return self._folder.path

    @overload
    @classmethod
    def create(cls, folder: str | Path) -> StudyStore[StudyRow]: ...
    @overload
    @classmethod
    def create(cls, folder: str | Path, record: RecordType[_Other]) -> StudyStore[_Other]: ...
    @classmethod
    def create(cls, folder: str | Path, record: RecordType[Any] = POINTS) -> StudyStore[Any]:
        """Make the folder ready for writing: one that cannot be written fails before a sweep, not in it.

        Raises:
            InputError: the folder cannot be made or written, or its rows have no keys, so that a sweep could
                not know which are there.
        """
        store = StudyStore(folder, record)
        with writing_to(store.folder):
            store.folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=store.folder, prefix=".").close()
            (store.folder / SWEEPS_FOLDER).mkdir(exist_ok=True)
            tempfile.TemporaryFile(dir=store.folder / SWEEPS_FOLDER, prefix=".").close()
        store._remove_leftovers()
        for part in store._footers():
            if part.schema_version < record.columns[record.key].since:
                raise InputError(
                    f"{store.folder} has rows of schema version {part.schema_version}, without keys: it "
                    "can be read, but not added to; choose another name with study=NAME"
                )
        return store

    def remove_if_empty(self) -> None:
        """Remove the folder of a study into which nothing has been written."""
        with contextlib.suppress(OSError):
            (self.folder / SWEEPS_FOLDER).rmdir()
            self.folder.rmdir()

    def exists(self) -> bool:
        """Whether the folder is there.

        Raises:
            InputError: that cannot be found out.
        """
        try:
            self.folder.stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise InputError(f"{self.folder} cannot be used: {error.strerror}") from None
        return True

    def append(self, rows: pa.Table | Iterable[Row]) -> Path:
        """Add rows as one new part, and return it.

        Raises:
            InputError: the folder cannot be written, or the disk is full; the study is as it was.
        """
        return write_part(self.folder, self.record, self.record.table(rows))

    def record_sweep(self, name: str, text: str) -> Path:
        """Store the provenance of a sweep, and return its file.

        Raises:
            InputError: the folder cannot be written, or the disk is full.
        """
        path = self.folder / SWEEPS_FOLDER / f"{name}.yaml"
        make_folder(path.parent)
        write_atomically(path, text.encode())
        return path

    def sweeps(self) -> list[Path]:
        """The files of provenance, sorted by name, which begins with the time."""
        return sorted(path for path in (self.folder / SWEEPS_FOLDER).glob("*.yaml") if path.is_file())

    def parts(self) -> list[Path]:
        """The parts that make up the study, sorted by name.

        Raises:
            InputError: the folder is not a study, or a part is corrupt or written by a newer version.
        """
        return [part.path for part in self._footers_of_study()]

    def keys(self, *, without: Sequence[str] = ()) -> set[str]:
        """The keys of the records that are stored, less those whose status is in `without`.

        Raises:
            InputError: a part is corrupt or written by a newer version.
        """
        if not self._footers():
            return set()
        status = self.record.status if without else None
        table = self.read_table([self.record.key, *([] if status is None else [status])])
        if status is not None:
            table = table.filter(pc.invert(pc.is_in(table[status], value_set=pa.array(without))))
        return set(table[self.record.key].to_pylist())

    def count(self) -> int:
        """The number of rows in the parts; an upper bound of the records, which may be stored twice."""
        return sum(part.rows for part in self._footers())

    def read_table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Every record of the study, once: all columns, or those named. Parts keep the order of their rows.

        Raises:
            InputError: an unknown column; or as for `parts`.
        """
        known = self.record.schema
        names = known.names if columns is None else list(columns)
        if unknown := [name for name in names if name not in known.names]:
            raise InputError(f"unknown column {unknown[0]!r}: a study has {', '.join(known.names)}")
        schema = known.empty_table().select(names).schema
        snapshot = self.reading(lambda: read_snapshot(self.record, self._footers_of_study(), names))
        return snapshot.table.select(names).cast(schema)

    def rows(self) -> list[Row]:
        """Every record of the study, once.

        Raises:
            InputError: as for `parts`.
        """
        return self.record.rows(self.read_table())

    def to_pandas(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """The same as `read_table`, as a frame of pandas.

        Raises:
            InputError: as for `read_table`.
        """
        frame: pd.DataFrame = self.read_table(columns).to_pandas()
        return frame

    def __repr__(self) -> str:
        """Return how to open it, and of which rows it is; nothing is read."""
        return f"<{type(self).__name__} of {self.record.name} rows in {str(self.folder)!r}>"

    def _repr_html_(self) -> str:
        """Return the number of rows, the folder and the first rows, for notebooks."""
        from html import escape

        table = self.read_table()
        title = f"{len(table)} rows of {self.record.name} in {self.folder}"
        shown = table.slice(0, _SHOWN_ROWS).to_pandas().dropna(axis="columns", how="all")
        return f"<p>{escape(title)}</p>{shown.to_html(max_cols=_SHOWN_COLUMNS)}"

    def snapshot(self, columns: Sequence[str]) -> Snapshot[Row]:
        """The same for a few columns of a large study, of which single rows will be asked for.

        Rows of columns with one value are not read, so that damage of these is not found.

        Raises:
            InputError: as for `parts`.
        """
        return self.reading(
            lambda: read_snapshot(self.record, self._footers_of_study(), columns, trusts_footers=True)
        )

    def reading(self, read: Callable[[], _Result]) -> _Result:
        """Return what `read` returns, calling it again where another process has merged parts meanwhile.

        Raises:
            InputError: that happens again and again; or as `read`.
        """
        for _ in range(_READ_ATTEMPTS):
            with contextlib.suppress(FileNotFoundError):
                return read()
        raise InputError(f"{self.folder}: other processes keep merging parts of this study; try again later")

    def compact(self) -> None:
        """Merge the parts with fewer than `LARGE_PART_ROWS` rows, if there are several, in a fixed order.

        Killed at any moment it loses nothing, and shows no row twice through this class.

        Raises:
            InputError: a part is corrupt, the folder cannot be written, or the disk is full.
        """
        group: list[PartFooter] = []
        rows = 0
        footers = self._footers()
        present = {part.path.name for part in footers}
        # What a killed compaction left: parts that others stand for already, or that are merged again.
        stale = set().union(*(part.replaces for part in footers)) & present if footers else set()
        for part in footers:
            if part.path.name in stale or part.rows >= LARGE_PART_ROWS:
                continue
            group.append(part)
            rows += part.rows
            if rows >= _MERGED_ROWS:
                self._merge(group)
                group, rows = [], 0
        if len(group) > 1:
            self._merge(group)
        self._remove(stale)

    def _merge(self, parts: list[PartFooter]) -> None:
        schema = self.record.coded_schema(self.record.schema.names)
        try:
            tables = [read_part(part, self.record, schema) for part in parts]
            table = pa.concat_tables(tables).unify_dictionaries()
        except FileNotFoundError:
            return  # another process merges them
        table = without_duplicates(self.record, table)
        table = sorted_rows(self.record, table)
        names = {part.path.name for part in parts}
        older = frozenset().union(*(part.replaces for part in parts)) & set(part_names(self.folder))
        write_part(self.folder, self.record, table, names | older)
        self._remove(names)

    def _remove(self, names: set[str]) -> None:
        with writing_to(self.folder):
            for name in names:
                (self.folder / name).unlink(missing_ok=True)
            sync_folder(self.folder)

    def _remove_leftovers(self) -> None:
        """Remove old temporary files; one that goes or cannot go is no reason to fail."""
        for leftover in self.folder.glob(".part-*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - leftover.stat().st_mtime > LEFTOVER_S:
                    leftover.unlink()

    def _footers(self) -> list[PartFooter]:
        """The footers of all parts in the folder, those that others stand for included."""
        footers = self.reading(
            lambda: [read_footer(self.folder / name, self.record) for name in part_names(self.folder)]
        )
        check_replacements(self.folder, {part.path.name: part.replaces for part in footers})
        return footers

    def _footers_of_study(self) -> list[PartFooter]:
        footers = self._footers()
        if not footers:
            raise InputError(
                f"{self.folder} is not a study: it has no part-<uuid>.parquet; "
                "python -m dse.sweep writes studies to results/<study>"
            )
        replaced = frozenset().union(*(part.replaces for part in footers))
        return [part for part in footers if part.path.name not in replaced]
