"""Tables of measured training steps: one row per run, in CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from dse.errors import InputError
from dse.files import read_text
from dse.records import hints_of, without_none
from dse.suggestions import did_you_mean
from dse.texts import excerpt

_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no")


@dataclass(frozen=True)
class MeasuredRow:
    """A measured training step; an attribute is a column, None or an empty text is unknown, not zero.

    Those without a default are required. `iter_s` are the seconds of a step. `gbs` are the sequences of a
    step, `mbs` those of a micro-batch on a data-parallel rank, `microbatches` the micro-batches of a rank,
    `vp` the model chunks of a stage, `sp` Megatron's sequence parallelism, `zero` 0 to 3. `mla` is multi-head
    latent attention; `experts`, `topk` and `moe_ffn` are those of a mixture of experts. `measured_memory_gib`
    is the peak of the fullest NPU in 2^30 bytes. Degrees may be unknown: then the row cannot be expressed.
    The other `measured_*` columns, and those of provenance, are for the reader and enter no figure.
    """

    id: str
    layers: int
    hidden: int
    heads: int
    seq: int
    gpu: str
    gpus: int
    gbs: int
    iter_s: float
    source: str = ""
    model: str = ""
    ffn: int | None = None
    gated: bool | None = None
    kv_heads: int | None = None
    vocab: int | None = None
    experts: int | None = None
    topk: int | None = None
    moe_ffn: int | None = None
    mla: bool | None = None
    hardware: str = ""
    gpus_per_node: int | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    cp: int | None = None
    ep: int | None = None
    zero: int | None = None
    mbs: int | None = None
    microbatches: int | None = None
    schedule: str = ""
    vp: int | None = None
    recompute: str = ""
    sp: bool | None = None
    attention: str = ""
    precision: str = ""
    optimizer: str = ""
    measured_iter_s: float | None = None
    measured_tflops_per_gpu: float | None = None
    tflops_convention: str = ""
    measured_tokens_s_gpu: float | None = None
    measured_mfu: float | None = None
    measured_memory_gib: float | None = None
    iter_s_provenance: str = ""
    field_provenance: str = ""
    citation: str = ""
    notes: str = ""


COLUMNS = tuple(field.name for field in fields(MeasuredRow))
REQUIRED = tuple(field.name for field in fields(MeasuredRow) if field.default is MISSING)
_LEAST = dict.fromkeys(("zero", "experts", "topk", "moe_ffn", "vp"), 0)  # of integers; others count from 1
_MOST = {"zero": 3}


def read_rows(path: Path) -> list[MeasuredRow]:
    """Return the rows of a CSV file, in its order; a row without `source` gets the name of the file.

    Columns may stand in any order, and those that are not required may be absent.

    Raises:
        InputError: the file is unreadable or has no rows; a column is unknown or twice there, or a required
            one absent; a row has too few or too many cells; a required cell is empty; a cell is not of the
            type or the range of its column; an id is there twice. Names file, line and column.
    """
    records = list(_records(path))
    if not records:
        raise InputError(
            f"{path}: is empty; the first line must name the columns, such as {_listed(REQUIRED)}"
        )
    header = [name.strip() for name in records[0][1]]
    _check_header(path, header)
    rows: list[MeasuredRow] = []
    line_of: dict[str, int] = {}
    for line, cells in records[1:]:
        if len(cells) != len(header):
            raise InputError(
                f"{path}, line {line}: has {len(cells)} cells; it must have {len(header)}, one a column"
            )
        row = _row(path, line, dict(zip(header, map(str.strip, cells), strict=True)))
        if row.id in line_of:
            raise InputError(
                f"{path}, line {line}, column id: '{excerpt(row.id)}' is there already, in line "
                f"{line_of[row.id]}; every id is allowed once"
            )
        line_of[row.id] = line
        rows.append(row)
    if not rows:
        raise InputError(f"{path}: has no rows below the header; a run is one row")
    return rows


def read_tables(paths: Sequence[Path]) -> list[MeasuredRow]:
    """Return the rows of several files, one after the other.

    Raises:
        InputError: as `read_rows`, or two files have rows of one id.
    """
    rows: list[MeasuredRow] = []
    file_of: dict[str, Path] = {}
    for path in paths:
        for row in read_rows(path):
            if row.id in file_of:
                raise InputError(
                    f"{path}: the id '{excerpt(row.id)}' is in {file_of[row.id]} too; "
                    "every id is allowed once"
                )
            file_of[row.id] = path
            rows.append(row)
    return rows


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not blank, with the line on which it begins."""
    reader = csv.reader(io.StringIO(read_text(path).removeprefix("\ufeff"), newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {line}: malformed CSV: {error}") from None


def _check_header(path: Path, header: Sequence[str]) -> None:
    for name in header:
        if name not in COLUMNS:
            raise InputError(
                f"{path}, line 1: unknown column '{excerpt(name)}'; known are {', '.join(COLUMNS)}"
                f"{did_you_mean(name, COLUMNS)}"
            )
        if header.count(name) > 1:
            raise InputError(
                f"{path}, line 1: the column {name} is there {header.count(name)} times; once is allowed"
            )
    if absent := [name for name in REQUIRED if name not in header]:
        raise InputError(
            f"{path}, line 1: required columns are absent: {', '.join(absent)}; "
            f"required are {_listed(REQUIRED)}"
        )


def _row(path: Path, line: int, cells: dict[str, str]) -> MeasuredRow:
    hints = hints_of(MeasuredRow)
    values: dict[str, Any] = {}
    for name, text in cells.items():
        place = f"{path}, line {line}, column {name}"
        if text:
            values[name] = _value(place, name, text, without_none(hints[name]))
        elif name in REQUIRED:
            raise InputError(f"{place}: is empty; {_listed(REQUIRED)} are required")
    values.setdefault("source", path.stem)
    return MeasuredRow(**values)


def _value(place: str, name: str, text: str, kind: type) -> object:
    if kind is str:
        return text
    if kind is bool:
        if text.lower() not in (*_TRUE, *_FALSE):
            raise InputError(f"{place}: '{excerpt(text)}' is not allowed; it must be 0 or 1")
        return text.lower() in _TRUE
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if kind is float:
        if not (math.isfinite(number) and number > 0):
            raise InputError(f"{place}: '{excerpt(text)}' is not allowed; it must be a number above 0")
        return number
    least, most = _LEAST.get(name, 1), _MOST.get(name, 2**53)
    if not (number.is_integer() and least <= number <= most):  # 8.0 is what pandas writes beside empty cells
        up_to = f" to {most}" if name in _MOST else ""
        raise InputError(
            f"{place}: '{excerpt(text)}' is not allowed; it must be an integer from {least}{up_to}"
        )
    return int(number)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
