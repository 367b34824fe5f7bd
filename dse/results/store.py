"""A study on disk: a folder of Parquet parts, which pandas and DuckDB read as it is, and its config."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.errors import InputError
from dse.files import sync_folder, write_atomically, writing_to
from dse.results.schema import SCHEMA_VERSION, Rows, as_table, study_schema

if TYPE_CHECKING:
    import pyarrow as pa

PART_NAME = re.compile(r"part-[0-9a-f]{32}\.parquet")
CONFIG_NAME = "_config.yaml"  # pandas.read_parquet(folder) skips only names that begin with "_" or "."
READ_ATTEMPTS = 3


class StudyStore:
    """The folder `results/<study>/`.

    ::

        part-<uuid>.parquet   rows; a part never changes once it has its name
        _config.yaml          the resolved config of the sweep

    Everything else in the folder is ignored. A part that stands for older ones (`replace`) lists their names
    in its footer, key `replaces`; a listed part counts as removed. So the new rows take the place of the old
    ones in the one rename that names the new part, whether or not the old files are gone yet.
    """

    def __init__(self, folder: str | Path) -> None:
        """Name the folder; nothing is read or written."""
        self.folder = Path(folder)

    @classmethod
    def create(cls, folder: str | Path, *, config_yaml: str) -> StudyStore:
        """Make the folder ready for writing: one that cannot be written fails before a sweep, not after it.

        A study that is there already keeps its rows and its config until `replace`.

        Raises:
            InputError: the folder cannot be made or written.
        """
        store = cls(folder)
        with writing_to(store.folder):
            store.folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=store.folder, prefix=".").close()
        if not store._part_names():
            store._write_config(config_yaml)
        return store

    @property
    def config_path(self) -> Path:
        """The file with the resolved config."""
        return self.folder / CONFIG_NAME

    def write(self, rows: Rows) -> Path:
        """Add rows as one new part, and return it.

        Raises:
            InputError: the folder cannot be written, or the disk is full; the study is as it was.
        """
        return self._write_part(rows, replaces=[])

    def replace(self, rows: Rows, *, config_yaml: str) -> Path:
        """Put `rows` in the place of every row of the study, as one new part, and return it.

        Killed before the new part has its name, it leaves the study as it was; after that, the new rows only.
        Killed before its end, it may leave the old config, and old rows that pandas and DuckDB, which do not
        know of `replaces`, see beside the new ones: run the sweep again.

        Raises:
            InputError: the folder cannot be written, or the disk is full.
        """
        older = self._part_names()
        part = self._write_part(rows, replaces=older)
        self._write_config(config_yaml)
        with writing_to(self.folder):
            for name in older:
                (self.folder / name).unlink(missing_ok=True)
            sync_folder(self.folder)
        return part

    def parts(self) -> list[Path]:
        """The parts that make up the study, sorted by name.

        Raises:
            InputError: the folder is not a study, or a part is corrupt or written by a newer version.
        """
        names = self._part_names()
        if not names:
            raise InputError(
                f"{self.folder} is not a study: it has no part-<uuid>.parquet; "
                "python -m dse.sweep writes studies to results/<study>"
            )
        replaced = {old for name in names for old in _read_replaced(self.folder / name)}
        return [self.folder / name for name in names if name not in replaced]

    def read_table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Every row of the study: all columns, or the named ones. Rows keep their order within a part.

        Raises:
            InputError: an unknown column; or as for `parts`.
        """
        import pyarrow as pa

        known = study_schema()
        names = known.names if columns is None else list(columns)
        if unknown := [name for name in names if name not in known.names]:
            raise InputError(f"unknown column {unknown[0]!r}: a study has {', '.join(known.names)}")
        schema = pa.schema([known.field(name) for name in names], known.metadata)
        for _ in range(READ_ATTEMPTS):
            # A part that is gone since it was listed was replaced by another process: list again.
            with contextlib.suppress(FileNotFoundError):
                return pa.concat_tables([_read_part(path, schema) for path in self.parts()])
        raise InputError(f"{self.folder}: another process keeps replacing this study; try again later")

    def _part_names(self) -> list[str]:
        try:
            return sorted(path.name for path in self.folder.iterdir() if PART_NAME.fullmatch(path.name))
        except OSError as error:
            raise InputError(f"{self.folder} is not a study: {error.strerror}") from error

    def _write_part(self, rows: Rows, replaces: list[str]) -> Path:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = study_schema()
        table = as_table(rows).select(schema.names).cast(schema)
        sink = pa.BufferOutputStream()
        footer = {**schema.metadata, "replaces": json.dumps(replaces)}
        pq.write_table(table.replace_schema_metadata(footer), sink, write_page_checksum=True)
        path = self.folder / f"part-{uuid.uuid4().hex}.parquet"
        write_atomically(path, memoryview(sink.getvalue()))
        return path

    def _write_config(self, config_yaml: str) -> None:
        write_atomically(self.config_path, config_yaml.encode())


def _read_replaced(path: Path) -> list[str]:
    """The names of the parts that this one stands for, once its footer says that it is one of ours."""
    import pyarrow.parquet as pq

    with _reading(path):
        footer = pq.read_metadata(path).metadata or {}
        version = int(footer.get(b"schema_version", b"0"))
        replaced = [str(name) for name in json.loads(footer.get(b"replaces", b"[]"))]
    if version < 1:
        raise InputError(
            f"{path} is not part of a study (no schema_version in its footer): move it elsewhere"
        )
    if version > SCHEMA_VERSION:
        raise InputError(
            f"{path} has schema version {version}, this program reads up to {SCHEMA_VERSION}: use a newer one"
        )
    return replaced


def _read_part(path: Path, schema: pa.Schema) -> pa.Table:
    import pyarrow.parquet as pq

    with _reading(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read(columns=schema.names).select(schema.names).cast(schema)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn what pyarrow raises over a damaged file into an InputError that names it and the way out."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        if isinstance(error, OSError) and error.strerror:  # pyarrow's own, for a corrupt page, has none
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        cause = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} is corrupt ({cause}): delete it and run the sweep again") from error
