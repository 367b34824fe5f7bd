"""Conditions as in SQL select the rows that DuckDB selects, and never run anything."""

from __future__ import annotations

import contextlib
import json

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_rows import keyed, row

from dse.errors import InputError
from dse.results import Filter, as_table, column

SPECS = [json.dumps({"name": "s", "peak_tflops": tflops, "faults": []}) for tflops in (450, 45.5)]
TABLE = as_table(
    [
        *keyed(1, 2, 4, tp=2, system_spec=SPECS[0], options="{}"),
        *keyed(8, 16, tp=1, wall_time_ns=None, status="deadlock", reason="it's stuck", system_spec=SPECS[1]),
    ]
)


def chosen(condition: str) -> list[int]:
    return Filter(condition, "--where").rows(TABLE)["dp"].to_pylist()


CONDITIONS = [
    "dp <= 4",
    "dp = 4 or dp == 8",
    "dp <> 4 and tp != 1",
    "not (dp < 4)",
    "NOT dp < 4 AND status = 'ok'",
    "dp in (1, 8)",
    "dp not in (1, 8)",
    "status in ('deadlock')",
    "reason = 'it''s stuck'",
    "wall_time_ns is null",
    "wall_time_ns is not null",
    "wall_time_ns > 5",
    "not wall_time_ns > 5",
    "dp between 2 and 8",
    "dp * tp + 1 > 8 / 2 - 1",
    "dp / 3 > 1.3",
    "-dp < -3",
    "weight_sharded = false",
    "activation_recompute",
    "status = 'ok' and not weight_sharded or dp >= 16",
    "1e1 < dp",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_chooses_what_duckdb_chooses(condition: str) -> None:
    study = TABLE  # noqa: F841 (DuckDB finds it by its name)
    expected = duckdb.sql(f"select dp from study where {condition} order by dp").fetchall()
    assert chosen(condition) == [value for (value,) in expected]


def test_sizes_have_units_and_chains_are_allowed() -> None:
    assert chosen("peak_memory_bytes <= 80GB") == [1, 2, 4, 8, 16]
    assert chosen("peak_memory_bytes < 62GiB") == []
    assert chosen("1 < dp <= 8") == [2, 4, 8]


def test_fields_of_specs_are_columns() -> None:
    assert chosen("system.peak_tflops = 450") == [1, 2, 4]
    assert chosen("system.peak_tflops < 100") == [8, 16]
    assert column(TABLE, "system.peak_tflops").to_pylist() == [450.0, 450.0, 450.0, 45.5, 45.5]
    assert Filter("system.peak_tflops * dp > 1", "--where").columns == ("system.peak_tflops", "dp")


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("dp <", "--where 'dp <' cannot be parsed; allowed are columns"),
        ("dp ; 1", "cannot be parsed at '; 1'"),
        ("walltime < 3", "unknown column 'walltime': .*did you mean 'wall_time_ns'"),
        ("system.peak < 3", "no point of the study has the field system.peak"),
        ("system.faults = 1", "system.faults is a list or a group"),
        ("dp = 'eight'", "--where 'dp = 'eight'' cannot be evaluated"),
        ("dp + 1", "is not true or false for each row; write a condition"),
        ("1 = 1", "is not true or false for each row"),
        ("exit(1)", "uses what is not allowed"),
        ("dp[0] = 1", "cannot be parsed at"),
        ("dp ** 9 > 1", "cannot be parsed"),
        ("dp between 1", "has a between that is not of the form"),
        ("x" * 3000, "at most 2000 are allowed"),
        ("not " * 60 + "activation_recompute", "uses what is not allowed"),
    ],
)
def test_what_is_no_condition_is_refused(condition: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen(condition)


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        st.sampled_from("dp tw<>=!()'*/+-.,0123456789 and or not is null in between system model _[]{}:;\n"),
        max_size=40,
    )
)
def test_any_text_is_a_condition_or_an_input_error(text: str) -> None:
    with contextlib.suppress(InputError):
        Filter(text, "--where").rows(TABLE)


def test_a_row_of_schema_version_1_has_no_fields() -> None:
    with pytest.raises(InputError, match="no point of the study has the field"):
        Filter("system.peak_tflops > 1", "--where").rows(as_table([row()]))
