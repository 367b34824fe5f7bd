"""Rows for the tests of studies: one made by hand, and a hypothesis strategy for arbitrary ones."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from hypothesis import strategies as st

from dse.inputs.strategies import AXES, StrategyAxis
from dse.studies.store import STATUSES, StudyRow

_IDENTITY = 3 + len(AXES) + 4  # fields: names, axes, how it ended

# The winner of llama70b on system1 under 80 GB.
ROW = StudyRow(
    study="llama70b-system1",
    model="llama70b",
    system="system1",
    dp=8,
    tp=1,
    sp=8,
    pp=1,
    weight_sharded=False,
    activation_recompute=True,
    status="ok",
    reason="",
    fractional=False,
    npus=64,
    wall_time_ns=4_088_264_658,
    gpu_time_ns=3_900_000_000,
    comm_time_ns=900_000_000,
    exposed_comm_ns=188_264_658,
    compute_bound_pct=90.5,
    compute_utilization_pct=92.25,
    memory_utilization_pct=16.5,
    operation_intensity=3806.021,
    peak_memory_bytes=67_022_880_768,
    rank0_wall_time_ns=4_088_264_658,
    rank0_peak_memory_bytes=67_022_880_768,
    last_rank=0,
    rank_classes=1,
)


def row(**changes: Any) -> StudyRow:
    return dataclasses.replace(ROW, **changes)


def failed_row(status: str, reason: str) -> StudyRow:
    identity = {field.name: getattr(ROW, field.name) for field in dataclasses.fields(ROW)[:_IDENTITY]}
    return StudyRow(**{**identity, "status": status, "reason": reason})


def keyed(*degrees: int, **changes: Any) -> list[StudyRow]:
    """Rows with keys of their own, one for each degree of data parallelism."""
    return [row(**{"dp": dp, "key": f"{dp:032x}", **changes}) for dp in degrees]


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
int64 = st.integers(-(2**63), 2**63 - 1)


def _values_of(axis: StrategyAxis) -> st.SearchStrategy[Any]:
    if axis.kind == "flag":
        return st.booleans()
    if axis.kind == "choice":
        return st.sampled_from(axis.choices)
    return st.integers(axis.least, axis.most)


def arbitrary_rows() -> st.SearchStrategy[StudyRow]:
    """Every value that the columns can hold, as far as dse.studies.store.integrity believes it."""
    optional_count = st.none() | st.integers(0, 2**63 - 1)
    optional_double = st.none() | st.floats(min_value=0, allow_nan=False)
    spec = st.none() | st.builds(lambda name: json.dumps({"name": name}), text)
    values = [
        *(text, text, text),
        *map(_values_of, AXES),
        st.sampled_from(STATUSES),
        text,
        st.booleans(),
        st.integers(1, 2**63 - 1),
        *(optional_count,) * 3,
        st.none() | int64,
        *(optional_double,) * 4,
        *(optional_count,) * 4,
        st.none() | st.integers(0, 2**31 - 1),
        st.uuids().map(lambda key: key.hex),
        *(spec,) * 3,
        *(st.none() | text,) * 2,
        *(optional_double,) * 3,
        *(st.none() | text,) * 2,
        *(optional_count,) * 2,
        *(optional_double,) * 8,
    ]
    names = [field.name for field in dataclasses.fields(StudyRow)]
    return st.builds(StudyRow, **dict(zip(names, values, strict=True)))


def rankable_rows() -> st.SearchStrategy[StudyRow]:
    """Rows with many ties in what the ranking looks at."""
    degree = st.sampled_from([1, 2, 4])
    return st.builds(
        row,
        status=st.sampled_from(["ok", "ok", "ok", "infeasible", "deadlock"]),
        dp=degree,
        tp=degree,
        sp=degree,
        pp=degree,
        weight_sharded=st.booleans(),
        activation_recompute=st.booleans(),
        wall_time_ns=st.integers(1, 4),
        peak_memory_bytes=st.integers(1, 4),
    )
