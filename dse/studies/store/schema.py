"""The columns of design points, declared once in `StudyRow`, and the Arrow schema derived from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Annotated, Literal, TypeAlias, get_args

from dse.base.lazy import pa
from dse.base.settings import check_type
from dse.inputs.strategies import AXES, STRATEGY_FIELDS, StrategyFields
from dse.studies.store.records import (
    Column,
    RecordType,
    count,
    degree,
    flag,
    number,
    percent,
    rate,
    repeated_text,
    seconds,
    size_bytes,
    text,
    time_ns,
)

Status = Literal["ok", "infeasible", "deadlock", "failed", "timeout"]
STATUSES: tuple[Status, ...] = get_args(Status)
TRANSIENT_STATUSES: tuple[Status, ...] = ("failed", "timeout")
"""What another attempt may change; the other statuses follow from the inputs."""


@dataclasses.dataclass(frozen=True)
class _Names:
    study: Annotated[str, text("name of the study")]
    model: Annotated[str, text("name of the model")]
    system: Annotated[str, text("name of the system")]


@dataclasses.dataclass(frozen=True, kw_only=True)  # Python 3.10 reads no types of a class with KW_ONLY
class StudyRow(StrategyFields, _Names):  # fields of the last base come first
    """One design point: the strategy, how it ended, and its metrics (None where there is no value).

    Wall time and peak memory are the maximum over ranks. GPU, communication and exposed time, the percentages
    and the operation intensity are those of the last rank: the one that finishes last, the lowest id on ties.
    """

    status: Annotated[Status, text(f"how the point ended: {', '.join(STATUSES)}", allowed=STATUSES)]
    reason: Annotated[str, text("why the point is not ok; empty when it is")]
    fractional: Annotated[bool, flag("some size does not divide, and its shards are cut to whole numbers")]
    npus: Annotated[int, count("number of NPUs (ranks)", least=1)]
    wall_time_ns: Annotated[int | None, time_ns("time at which the last rank ends", least=0)] = None
    gpu_time_ns: Annotated[int | None, time_ns("time in which compute runs, last rank", least=0)] = None
    comm_time_ns: Annotated[int | None, time_ns("time in which communication runs, last rank", least=0)] = (
        None
    )
    exposed_comm_ns: Annotated[int | None, time_ns("wall time minus compute runtimes, last rank")] = None
    compute_bound_pct: Annotated[
        float | None, percent("compute-bound share of compute time, last rank", least=0)
    ] = None
    compute_utilization_pct: Annotated[
        float | None,
        percent("share of the peak operations per second, mean over compute time, last rank", least=0),
    ] = None
    memory_utilization_pct: Annotated[
        float | None, percent("share of the memory bandwidth, mean over compute time, last rank", least=0)
    ] = None
    operation_intensity: Annotated[
        float | None,
        Column(
            "double",
            "operations/byte",
            "operations per byte of memory traffic, mean over compute time, last rank",
            least=0,
        ),
    ] = None
    peak_memory_bytes: Annotated[
        int | None, size_bytes("peak memory, maximum over ranks; null when memory is not tracked", least=0)
    ] = None
    rank0_wall_time_ns: Annotated[int | None, time_ns("time at which rank 0 ends", least=0)] = None
    rank0_peak_memory_bytes: Annotated[int | None, size_bytes("peak memory of rank 0", least=0)] = None
    last_rank: Annotated[
        int | None, number("the rank that finishes last, the lowest id on ties", least=0)
    ] = None
    rank_classes: Annotated[int | None, degree("classes of ranks that do the same thing", least=0)] = None
    key: Annotated[str | None, text("hash of all inputs; null in rows of schema version 1", since=2)] = None
    model_spec: Annotated[str | None, repeated_text("the model as JSON", since=2, json_texts=("name",))] = (
        None
    )
    system_spec: Annotated[str | None, repeated_text("the system as JSON", since=2, json_texts=("name",))] = (
        None
    )
    options: Annotated[
        str | None,
        repeated_text(
            "what generated and simulated the point, and its version, as JSON", since=2, json_texts=()
        ),
    ] = None
    understated_comm: Annotated[
        str | None,
        repeated_text(
            "communication that crosses slower links than it is charged for; null where there is none, and "
            "where another program simulates",
            since=3,
        ),
    ] = None
    impossible_split: Annotated[
        str | None,
        repeated_text("sequences, tokens or heads that the workload splits, and no program could", since=3),
    ] = None
    mfu_pct: Annotated[
        float | None,
        percent("model FLOPs of a step, of what all NPUs could do in the wall time", since=4, least=0),
    ] = None
    tokens_per_s: Annotated[float | None, rate("tokens of a step, per wall time", since=4, least=0)] = None
    tokens_per_s_per_npu: Annotated[
        float | None, rate("tokens of a step, per wall time and NPU", since=4, least=0)
    ] = None
    schedules: Annotated[
        str | None,
        repeated_text("how far synthesised collectives are from their optimum at most", since=4),
    ] = None
    prediction_notes: Annotated[
        str | None,
        repeated_text("what a prediction rests on that is not measured; null where none is made", since=5),
    ] = None
    wall_time_low_ns: Annotated[
        int | None,
        time_ns("begin of the interval that holds 80 % of such steps; null without unseen runs", since=7),
    ] = None
    wall_time_high_ns: Annotated[
        int | None,
        time_ns("end of the interval that holds 80 % of such steps; null without unseen runs", since=7),
    ] = None
    run_time_s: Annotated[float | None, seconds("expected time of the training run", since=8, least=0)] = None
    run_time_low_s: Annotated[float | None, seconds("low end of its 80 %", since=8, least=0)] = None
    run_time_high_s: Annotated[float | None, seconds("high end of its 80 %", since=8, least=0)] = None
    run_effective_pct: Annotated[
        float | None, percent("time of steps in the time of the run", since=8, least=0)
    ] = None
    run_goodput_pct: Annotated[float | None, percent("MFU of the whole run", since=8, least=0)] = None
    run_failures: Annotated[
        float | None, Column("double", "1", "expected failures in the run", since=8, least=0)
    ] = None
    run_cost: Annotated[
        float | None,
        Column("double", "currency", "NPU-hours of the run times `run.price`", since=8, least=0),
    ] = None
    run_energy_mwh: Annotated[
        float | None, Column("double", "MWh", "energy of the run, facility included", since=8, least=0)
    ] = None


POINTS = RecordType(
    name="point",
    row=StudyRow,
    order=("model", "system", *STRATEGY_FIELDS, "key"),
    status="status",
    transient=TRANSIENT_STATUSES,
    inherited={
        axis.name: flag(axis.meaning, axis.since, axis.default)
        if axis.kind == "flag"
        else text(axis.meaning, axis.since, axis.default, allowed=() if axis.is_open else axis.choices)
        if axis.kind == "choice"
        else degree(axis.meaning, axis.since, axis.default, least=axis.least)
        for axis in AXES
    },
)
"""The record type of design points."""

Rows: TypeAlias = "pa.Table | Iterable[StudyRow]"
"""Rows of a study in either form; every function that takes them takes both."""


def study_schema() -> pa.Schema:
    """The Arrow schema of design points."""
    return POINTS.schema


def as_table(rows: Rows) -> pa.Table:
    """`rows` as an Arrow table of `study_schema()`; a table is returned as it is.

    Raises:
        InputError: they are neither a table nor rows of a study.
    """
    if not hasattr(rows, "column_names"):
        allowed = "rows of a study, such as study.rows(), or a table such as study.read_table()"
        check_type("rows", rows, Iterable, allowed)
        rows = list(rows)
        for row in rows:
            check_type("a row", row, StudyRow, allowed)
    return POINTS.table(rows)


def as_rows(table: pa.Table) -> list[StudyRow]:
    """The rows of a table that has every column of the schema."""
    return POINTS.rows(table)
