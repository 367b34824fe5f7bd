"""Reading a schedule in whatever form its file has."""

from __future__ import annotations

from pathlib import Path

from dse.base.errors import InputError
from dse.collectives.files.content import ScheduleFile

SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet")


def read_schedule(path: Path) -> ScheduleFile:
    """Read a schedule by the ending of its name: .csv, .jsonl (or .ndjson), .parquet.

    Raises:
        InputError: another ending, or a file that cannot be read; names the file, and its line.
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        from dse.collectives.files.result_csv import read_schedule_csv

        return read_schedule_csv(path)
    if suffix in (".jsonl", ".ndjson"):
        from dse.collectives.files.json_lines import read_schedule_lines

        return read_schedule_lines(path)
    if suffix == ".parquet":
        from dse.collectives.files.parquet import read_schedule_parquet

        return read_schedule_parquet(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    raise InputError(f"{path}: is no file of a schedule; its name must end in {', '.join(SUFFIXES)}")
