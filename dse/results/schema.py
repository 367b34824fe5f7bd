"""The columns of a study, declared once in `StudyRow`, and the Arrow schema derived from them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias, get_args, get_type_hints

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 2
"""Raised whenever a column is added, removed, or changes its meaning; readers refuse what is newer."""

SINCE_VERSION_2 = ("key", "model_spec", "system_spec", "options")
"""Columns that version 1 did not have."""

Status = Literal["ok", "infeasible", "deadlock", "failed", "timeout"]
STATUSES: tuple[Status, ...] = get_args(Status)
TRANSIENT_STATUSES: tuple[Status, ...] = ("failed", "timeout")
"""What another attempt may change; the other statuses follow from the inputs."""


class Column(NamedTuple):
    """What a column holds; `unit` is "1" for counts and "none" for text, flags and ids."""

    arrow_type: str
    unit: str
    description: str


_text = functools.partial(Column, "string", "none")
_repeated = functools.partial(Column, "dictionary", "none")  # texts that many rows share, stored once
_flag = functools.partial(Column, "bool", "none")
_id = functools.partial(Column, "int64", "none")
_degree = functools.partial(Column, "int32", "1")
_count = functools.partial(Column, "int64", "1")
_ns = functools.partial(Column, "int64", "ns")
_bytes = functools.partial(Column, "int64", "bytes")
_pct = functools.partial(Column, "double", "%")
_ops_per_byte = functools.partial(Column, "double", "operations/byte")


@dataclasses.dataclass(frozen=True)
class StudyRow:
    """One design point: the strategy, how it ended, and its metrics (None where there is no value).

    Wall time and peak memory are the maximum over ranks. GPU, communication and exposed time, the percentages
    and the operation intensity are those of the last rank: the one that finishes last, the lowest id on ties.
    """

    study: Annotated[str, _text("name of the study")]
    model: Annotated[str, _text("name of the model")]
    system: Annotated[str, _text("name of the system")]
    dp: Annotated[int, _degree("degree of data parallelism")]
    tp: Annotated[int, _degree("degree of tensor parallelism")]
    sp: Annotated[int, _degree("degree of sequence parallelism")]
    pp: Annotated[int, _degree("degree of pipeline parallelism")]
    weight_sharded: Annotated[bool, _flag("weights are stored sharded over dp and sp (FSDP)")]
    activation_recompute: Annotated[bool, _flag("activations are recomputed in the backward pass")]
    status: Annotated[Status, _text(f"how the point ended: {', '.join(STATUSES)}")]
    reason: Annotated[str, _text("why the point is not ok; empty when it is")]
    fractional: Annotated[bool, _flag("some size does not divide, and its shards are cut to whole numbers")]
    npus: Annotated[int, _count("number of NPUs (ranks)")]
    wall_time_ns: Annotated[int | None, _ns("time at which the last rank ends")] = None
    gpu_time_ns: Annotated[int | None, _ns("time in which compute runs, last rank")] = None
    comm_time_ns: Annotated[int | None, _ns("time in which communication runs, last rank")] = None
    exposed_comm_ns: Annotated[int | None, _ns("wall time minus compute runtimes, last rank")] = None
    compute_bound_pct: Annotated[float | None, _pct("compute-bound share of compute time, last rank")] = None
    compute_utilization_pct: Annotated[
        float | None, _pct("share of the peak operations per second, mean over compute time, last rank")
    ] = None
    memory_utilization_pct: Annotated[
        float | None, _pct("share of the memory bandwidth, mean over compute time, last rank")
    ] = None
    operation_intensity: Annotated[
        float | None,
        _ops_per_byte("operations per byte of memory traffic, mean over compute time, last rank"),
    ] = None
    peak_memory_bytes: Annotated[
        int | None, _bytes("peak memory, maximum over ranks; null when memory is not tracked")
    ] = None
    rank0_wall_time_ns: Annotated[int | None, _ns("time at which rank 0 ends")] = None
    rank0_peak_memory_bytes: Annotated[int | None, _bytes("peak memory of rank 0")] = None
    last_rank: Annotated[int | None, _id("the rank that finishes last, the lowest id on ties")] = None
    rank_classes: Annotated[int | None, _degree("classes of ranks that do the same thing")] = None
    key: Annotated[str | None, _text("hash of all inputs; null in rows of schema version 1")] = None
    model_spec: Annotated[str | None, _repeated("the model as JSON")] = None
    system_spec: Annotated[str | None, _repeated("the system as JSON")] = None
    options: Annotated[
        str | None, _repeated("what generated and simulated the point, and its version, as JSON")
    ] = None


Rows: TypeAlias = "pa.Table | Iterable[StudyRow]"
"""Rows of a study in either form; every function that takes them takes both."""


@functools.cache
def study_schema() -> pa.Schema:
    """The Arrow schema of a study.

    A field's metadata has its `description` and `unit`, the schema's has the `schema_version`.
    """
    import pyarrow as pa

    fields = []
    for name, hint in get_type_hints(StudyRow, include_extras=True).items():
        value_type, column = get_args(hint)
        metadata = {"description": column.description, "unit": column.unit}
        nullable = type(None) in get_args(value_type)
        repeated = column.arrow_type == "dictionary"
        arrow_type = (
            pa.dictionary(pa.int32(), pa.string()) if repeated else pa.type_for_alias(column.arrow_type)
        )
        fields.append(pa.field(name, arrow_type, nullable, metadata))
    return pa.schema(fields, {"schema_version": str(SCHEMA_VERSION)})


def as_table(rows: Rows) -> pa.Table:
    """`rows` as an Arrow table of `study_schema()`; a table is returned as it is."""
    import pyarrow as pa

    if isinstance(rows, pa.Table):
        return rows
    rows = list(rows)
    schema = study_schema()
    arrays = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def as_rows(table: pa.Table) -> list[StudyRow]:
    """The rows of a table that has every column of the schema."""
    columns = [table.column(field.name).to_pylist() for field in dataclasses.fields(StudyRow)]
    return [StudyRow(*values) for values in zip(*columns, strict=True)]
