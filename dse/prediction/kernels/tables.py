"""Tables of measured kernels and collectives, Parquet or CSV: read into arrays, and their mistakes named."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.base.errors import InputError, excerpt
from dse.base.files import read_bytes, read_text
from dse.base.lazy import pa, pq

Column = NDArray[Any]

_WHOLE = {
    "gemm": ("m", "n", "k"),
    "quantize": ("m", "k"),
    "attention": ("head_dim", "heads", "kv_heads", "s", "batch"),
    "nccl": ("gpus", "bytes"),
    "moe": ("gated", "hidden", "inter", "experts", "topk", "ep", "tp", "tokens"),
    "alltoall": ("hidden", "experts", "topk", "ep", "tokens"),
    "deepep": ("nodes", "hidden", "experts", "topk", "tokens", "dispatch_sms", "combine_sms"),
}
_TEXTS = {
    "gemm": ("dtype",),
    "quantize": ("kernel",),
    "attention": ("dtype",),
    "nccl": ("op",),
    "moe": ("dtype", "distribution"),
    "alltoall": ("op", "dtype"),
    "deepep": (),
}
_TIMES = {"deepep": ("dispatch_us", "combine_us")}
_OPTIONAL = {"system": "", "lib": ""}
_SAME = {
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8",
    "float8": "fp8",
    "fp8_e4m3": "fp8",
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "all_to_all": "alltoall",
}
"""Words of PyTorch and of NCCL for those of tables."""

_MOST_BYTES = 2**30
_MOST_SIZE, _MOST_US = 2.0**53, 1e12
_MOST = {"topk": 4096.0, "experts": 2.0**20}
KINDS = tuple(_WHOLE)


class NoLawError(InputError):
    """A table whose columns are of no kind that has a law."""


@dataclass(frozen=True)
class KernelTable:
    """Rows of one kind of kernel: arrays of equal length by column; sizes are whole numbers as floats.

    `kind` is gemm, quantize, attention, nccl, moe, alltoall or deepep.
    """

    kind: str
    path: Path
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> Column:
        """Return a column."""
        return self.columns[name]

    def where(self, mask: NDArray[np.bool_]) -> KernelTable:
        """Return the rows that a mask of shape (rows,) chooses."""
        return KernelTable(
            self.kind, self.path, {name: values[mask] for name, values in self.columns.items()}
        )


def joined(tables: Sequence[KernelTable]) -> list[KernelTable]:
    """Return one table for each kind among `tables`, with the rows of all of them."""
    found = []
    for kind in dict.fromkeys(table.kind for table in tables):
        group = [table for table in tables if table.kind == kind]
        columns = {name: np.concatenate([table[name] for table in group]) for name in group[0].columns}
        found.append(KernelTable(kind, group[0].path, columns))
    return found


def read_tables(paths: Sequence[Path]) -> tuple[list[KernelTable], list[str]]:
    """Return the tables of files, and a note on each whose columns are of no kind.

    Raises:
        InputError: as `read_table`, or no file has columns of a kind.
    """
    tables, notes = [], []
    for path in paths:
        try:
            tables.append(read_table(path))
        except NoLawError:
            if path == paths[-1] and not tables:
                raise
            notes.append(f"{path}: is left out, as no law has its columns")
    return tables, notes


def columns_of(kind: str) -> tuple[str, ...]:
    """The columns that a table of a kind must have."""
    return (*_TEXTS[kind], *_WHOLE[kind], *_TIMES.get(kind, ("us",)))


def read_table(path: Path) -> KernelTable:
    """Return the rows of a table; its columns say of what kind it is. Other columns are passed over.

    Raises:
        NoLawError: its columns are of no kind.
        InputError: the file is unreadable, or has no rows, or a value of another type or range than its
            column. Names file, column and row.
    """
    columns = _csv_columns(path) if path.suffix.lower() == ".csv" else _parquet_columns(path)
    kind = next((each for each in KINDS if set(columns_of(each)) <= columns.keys()), None)
    if kind is None:
        allowed = "; or ".join(f"{', '.join(columns_of(each))} ({each})" for each in KINDS)
        raise NoLawError(
            f"{path}: its columns are {excerpt(', '.join(columns), 200) or 'none'}; "
            f"a table of kernels has {allowed}"
        )
    found: dict[str, Column] = {}
    rows = len(columns[columns_of(kind)[0]])
    if not rows:
        raise InputError(f"{path}: has no rows; a kernel that was measured is one row")
    for name in _TEXTS[kind]:
        found[name] = np.array([_known_text(str(value)) for value in columns[name]])
    for name, default in _OPTIONAL.items():
        found[name] = np.array([str(value) for value in columns.get(name, [default] * rows)])
    for name in _WHOLE[kind]:
        found[name] = _numbers(path, name, columns[name], is_whole=True)
    for name in _TIMES.get(kind, ("us",)):
        found[name] = _numbers(path, name, columns[name], is_whole=False)
    table = KernelTable(kind, path, found)
    _check_experts(table)
    return table


def _known_text(text: str) -> str:
    word = text.lower().removeprefix("torch.")
    return _SAME.get(word, word)


def _numbers(path: Path, name: str, values: Sequence[object] | Column, *, is_whole: bool) -> Column:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array([_number(value) for value in values])
    least = 0 if name == "gated" else 1
    with np.errstate(invalid="ignore"):
        most = _MOST.get(name, _MOST_SIZE)
        is_good = (numbers >= least) & (numbers <= most) & (numbers == np.floor(numbers))
        if not is_whole:
            is_good = (numbers > 0) & (numbers <= _MOST_US)
    if not is_good.all():
        row = int(np.argmin(is_good))
        allowed = (
            f"a whole number from {least} to {most:.0f}" if is_whole else "a number above 0, in microseconds"
        )
        place = f"{path}, row {row + 1}, column {name}"
        raise InputError(f"{place}: '{excerpt(str(values[row]))}' is not allowed; it must be {allowed}")
    return numbers


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return math.nan


def _check_experts(table: KernelTable) -> None:
    if table.kind not in ("moe", "alltoall", "deepep"):
        return
    if (is_bad := table["topk"] > table["experts"]).any():
        row = int(np.argmax(is_bad))
        raise InputError(
            f"{table.path}, row {row + 1}: topk is {table['topk'][row]:g} of "
            f"{table['experts'][row]:g} experts; it must be at most all of them"
        )


def _csv_columns(path: Path) -> dict[str, Sequence[object]]:
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        records = [cells for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: malformed CSV: {error}") from None
    if not records:
        raise InputError(f"{path}: is empty; the first line must name the columns")
    header = [cell.strip() for cell in records[0]]
    if len(set(header)) < len(header):
        raise InputError(f"{path}, line 1: a column is there twice; once is allowed")
    for row, cells in enumerate(records[1:], 1):
        if len(cells) != len(header):
            raise InputError(
                f"{path}, row {row}: has {len(cells)} cells; it must have {len(header)}, one a column"
            )
    stripped = [[cell.strip() for cell in cells] for cells in records[1:]]
    return {name: [cells[place] for cells in stripped] for place, name in enumerate(header)}


def _parquet_columns(path: Path) -> dict[str, Sequence[object]]:
    data = read_bytes(path, _MOST_BYTES)
    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
        return {
            name: table[name].to_numpy() for name in table.column_names if table.column_names.count(name) == 1
        }
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError, KeyError, TypeError) as error:
        reason = excerpt(" ".join(str(error).split()), 100)
        raise InputError(
            f"{path}: is no Parquet file: {reason}; give Parquet, or CSV in a .csv file"
        ) from None
