"""Tables of measured training steps: one row per run, in CSV."""

from __future__ import annotations

import csv
import functools
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.files import read_text
from dse.base.records import hints_of, without_none

_TRUE, _FALSE = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no")
_SEPARATORS = ",;\t"


@dataclass(frozen=True)
class MeasuredRow:
    """A measured training step; an attribute is a column, None or an empty text is unknown, not zero.

    Those without a default are required. `iter_s` are the seconds of a step. `gbs` are the sequences of a
    step, `mbs` those of a micro-batch on a data-parallel rank, `microbatches` the micro-batches of a rank,
    `vp` the model chunks of a stage, `sp` Megatron's sequence parallelism, `zero` 0 to 3. `mla` is multi-head
    latent attention; `experts`, `topk` and `moe_ffn` are those of a mixture of experts. `measured_memory_gib`
    is the peak of the fullest NPU in 2^30 bytes. Degrees may be unknown: then the row cannot be expressed.
    `shared_experts` and `first_dense_layers` are those of a mixture of experts, `mtp_layers` predict further
    tokens, `expert_tp` is the tensor degree of experts. `shard_ranks` of dp share a copy of the weights
    under zero 3. `context` is ring, ulysses or gather. `offload` is none, optimizer or activations.
    `recompute_modules` are those of selective recomputation, joined by +. What `unmodelled` lists changes no
    prediction. The other `measured_*` columns, and those of provenance, are for the reader and enter no
    figure. `missing` is no column: it names required ones without a value, which is then 0 or empty.
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
    head_dim: int | None = None
    tied_embeddings: bool | None = None
    shared_experts: int | None = None
    first_dense_layers: int | None = None
    mtp_layers: int | None = None
    expert_tp: int | None = None
    offload: str = ""
    shard_ranks: int | None = None
    context: str = ""
    recompute_modules: str = ""
    tp_comm_overlap: bool | None = None
    task: str = ""
    recompute_num_layers: int | None = None
    pipeline_layout: str = ""
    a2a_overlap: bool | None = None
    dispatcher: str = ""
    moe_shared_expert_overlap: bool | None = None
    cuda_graph: str = ""
    fp8_attention: bool | None = None
    optimizer_detail: str = ""
    container: str = ""
    recipe: str = ""
    recipe_id: str = ""
    recipe_match: str = ""
    fsdp: bool | None = None
    nvlink_domain: int | None = None
    nic_gbit_per_gpu: float | None = None
    assumed: str = ""
    missing: tuple[str, ...] = ()

    @property
    def publisher(self) -> str:
        """The source without its release: Megatron-Bridge of Megatron-Bridge 25.09, NeMo of NeMo24.07.

        Releases of one publisher repeat each other's runs.
        """
        return _RELEASE.sub("", self.source) or self.source


_RELEASE = re.compile(r"[ _-]*v?(20)?\d\d[./]\d\d.*")
COLUMNS = tuple(field.name for field in fields(MeasuredRow) if field.name != "missing")
REQUIRED = tuple(field.name for field in fields(MeasuredRow) if field.default is MISSING)
_LEAST = dict.fromkeys(  # of integers; others count from 1
    ("zero", "experts", "topk", "moe_ffn", "vp", "shared_experts", "first_dense_layers", "mtp_layers"), 0
)
_UNMODELLED = {  # and what a prediction takes, so that a row that says just that assumes nothing
    "recompute_num_layers": (),
    "moe_shared_expert_overlap": (),
    "fp8_attention": (),
    "optimizer_detail": (
        "fp32 states",
        "precision-aware: main grads bfloat16, moments bfloat16",
        "sgd with momentum",
    ),
}
_MOST = {"zero": 3}


def unmodelled(row: MeasuredRow) -> dict[str, object]:
    """Return what a row says of how it ran that changes no prediction, by column."""
    said = {name: getattr(row, name) for name in _UNMODELLED}
    return {name: value for name, value in said.items() if value and value not in _UNMODELLED[name]}


def unread_notes(paths: Sequence[Path]) -> list[str]:
    """Return notes on the columns of tables that `read_rows` passes over, one a table that has some."""
    notes = []
    for path in paths:
        header = next(map(_cells, _records(path)), [])
        if names := [excerpt(name) or "without a name" for name in header if name not in COLUMNS]:
            notes.append(f"{path}: no figure depends on the columns {excerpt(', '.join(names), 300)}")
    return notes


def read_rows(path: Path) -> list[MeasuredRow]:
    """Return the rows of a CSV file, in its order; a row without `source` gets the name of the file.

    Cells stand between commas, semicolons or tabs, whichever the header has.
    Columns may stand in any order, and those that are not required may be absent. Columns of other names are
    passed over (`unread_notes`), unless one may be a misspelt column. A row without an id has its line.

    Raises:
        InputError: the file is unreadable or has no rows; a column is misspelt or twice there, or a required
            one absent; a row has too few or too many cells; a cell is not of the type or the range of its
            column; an id is there twice. Names file, line and column.
    """
    records = list(_records(path))
    if not records:
        raise InputError(
            f"{path}: is empty; the first line must name the columns, such as {_listed(REQUIRED)}"
        )
    header = _cells(records[0])
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
    text = read_text(path)
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)  # the first one where none occurs
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {line}: malformed CSV: {error}") from None


def _cells(record: tuple[int, list[str]]) -> list[str]:
    return [cell.strip() for cell in record[1]]


def _check_header(path: Path, header: Sequence[str]) -> None:
    for name in header:
        if name not in COLUMNS and (nearest := did_you_mean(name, COLUMNS)):
            raise InputError(
                f"{path}, line 1: unknown column '{excerpt(name)}'{nearest} Known are {', '.join(COLUMNS)}"
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
    kinds = _kinds()
    values: dict[str, Any] = {}
    for name, text in cells.items():
        if text and name in kinds:
            values[name] = cell_value(f"{path}, line {line}, column {name}", name, text)
    values.setdefault("source", path.stem)
    values.setdefault("id", f"line {line}")
    missing = tuple(name for name in REQUIRED if name not in values)
    for name in missing:
        values[name] = kinds[name]()
    return MeasuredRow(**values, missing=missing)


@functools.cache
def _kinds() -> dict[str, type]:
    """The types of the cells of each column."""
    hints = hints_of(MeasuredRow)
    return {name: without_none(hints[name]) for name in COLUMNS}


def cell_value(place: str, name: str, text: str) -> object:
    """Return the text of a cell as the type of its column.

    Raises:
        InputError: it is of another type or out of range; begins with `place`.
    """
    kind = _kinds()[name]
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
    if not (number.is_integer() and least <= number <= most):  # pandas writes 8.0 next to empty cells
        up_to = f" to {most}" if name in _MOST else ""
        raise InputError(
            f"{place}: '{excerpt(text)}' is not allowed; it must be an integer from {least}{up_to}"
        )
    return int(number)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


DATA = Path(__file__).parent / "data"
FITTED = DATA / "published.csv"
NEVER_FITTED = DATA / "report_only.csv"


def published_rows() -> list[MeasuredRow]:
    """Return all of them: those that constants are fitted to, then those that are only shown."""
    return read_tables([FITTED, NEVER_FITTED])


def fitted_rows() -> list[MeasuredRow]:
    """Return those that the constants of the shipped accelerators are fitted to."""
    return read_rows(FITTED)


def never_fitted() -> set[str]:
    """Return the ids of those that are only shown."""
    return {row.id for row in read_rows(NEVER_FITTED)}
