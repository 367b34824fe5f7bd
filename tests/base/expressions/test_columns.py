"""Conditions as in SQL select the rows that DuckDB selects, and never run anything."""

from __future__ import annotations

import contextlib
import json

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_rows import keyed, row

from dse.base.errors import InputError
from dse.base.expressions import ColumnExpression, Expression
from dse.studies.store import RowExpression, as_table, column

SPECS = [json.dumps({"name": "s", "peak_tflops": tflops, "faults": []}) for tflops in (450, 45.5)]
TABLE = as_table(
    [
        *keyed(1, 2, 4, tp=2, system_spec=SPECS[0], options="{}"),
        *keyed(8, 16, tp=1, wall_time_ns=None, status="deadlock", reason="it's stuck", system_spec=SPECS[1]),
    ]
)


def chosen(condition: str) -> list[int]:
    return RowExpression(condition, "where").rows(TABLE)["dp"].to_pylist()


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
    "dp % 3 = 1 and dp // 4 >= 1",
    "dp ** 2 = 64",
    "max(dp, 4) = 4",
    "abs(-dp) = 8 or log2(dp) = 4",
    "wall_time_ns / 0 > 1",
    "dp not between 2 and 8",
    "wall_time_ns > 5 or dp = 16",
    "wall_time_ns not in (1, 2)",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_chooses_what_duckdb_chooses(condition: str) -> None:
    study = TABLE  # noqa: F841 (DuckDB finds it by its name)
    sql = condition.replace("max(", "greatest(")
    expected = duckdb.sql(f"select dp from study where {sql} order by dp").fetchall()
    assert chosen(condition) == [value for (value,) in expected]


def test_sizes_have_units_and_chains_are_allowed() -> None:
    assert chosen("peak_memory_bytes <= 80GB") == [1, 2, 4, 8, 16]
    assert chosen("peak_memory_bytes <= 0.8e2GB") == chosen("peak_memory_bytes <= 80GB")
    assert chosen("peak_memory_bytes < 62GiB") == []
    assert chosen("1 < dp <= 8") == [2, 4, 8]


def test_fields_of_specs_are_columns() -> None:
    assert chosen("system.peak_tflops = 450") == [1, 2, 4]
    assert chosen("system.peak_tflops < 100") == [8, 16]
    assert column(TABLE, "system.peak_tflops").to_pylist() == [450.0, 450.0, 450.0, 45.5, 45.5]
    assert RowExpression("system.peak_tflops * dp > 1", "where").columns == ("system.peak_tflops", "dp")


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("dp <", "where 'dp <', column 5: the expression ends too early; allowed are names"),
        ("dp ; 1", "column 4: '; 1' is not allowed"),
        ("status = '\udc89'", "column 11: a byte is not UTF-8"),
        ("walltime < 3", "unknown column 'walltime': .*did you mean 'wall_time_ns'"),
        ("system.peak < 3", "no point of the study has the field system.peak"),
        ("system.faults = 1", "system.faults is a list or a group"),
        ("dp = 'eight'", "where 'dp = 'eight'', column 6: a text is compared with a number"),
        ("status > true", "column 1: a text is compared with true or false"),
        ("status + 1 > 2", "column 1: a text has no arithmetic"),
        ("status and dp = 1", "column 1: a text is neither true nor false"),
        ("dp + 1", "is not true or false for each row; write a condition"),
        ("1 = 1", "is not true or false for each row"),
        ("dp = null", "column 6: nothing equals null; write 'is null'"),
        ("exit(1)", r"'exit\(…\)' is not allowed"),
        ("dp[0] = 1", "column 3: '.0. = 1' is not allowed"),
        ("dp between 1", "a between has the form X between LOW and HIGH"),
        ("x" * 3000, "at most 2000 are allowed"),
        ("not " * 60 + "activation_recompute", "nested deeper than 50 levels"),
    ],
)
def test_what_is_no_condition_is_refused(condition: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen(condition)


def test_whole_numbers_beyond_64_bits_become_floating_point_ones() -> None:
    assert chosen("dp ** 40 > 1e37") == [16]
    assert chosen("dp * 9000000000000000000 > 1e19") == [2, 4, 8, 16]
    assert chosen("dp < 99999999999999999999") == [1, 2, 4, 8, 16]
    assert chosen("2 ** -dp = 0.25") == [2]


@pytest.mark.parametrize("number", ["9" * 309, "9" * 400, "9" * 1900, "1e309"])
def test_a_number_beyond_floating_point_is_refused_in_both_evaluators(number: str) -> None:
    for evaluator in (lambda text: Expression(text, ("dp",)), lambda text: RowExpression(text, "where")):
        with pytest.raises(InputError, match="column 6: the number is too large"):
            evaluator(f"dp < {number}")
    assert chosen(f"dp < {'9' * 308}") == [1, 2, 4, 8, 16]


def test_rests_of_floating_point_numbers_are_exact() -> None:
    assert chosen("1 // 0.1 = 9 and dp > 0") == [1, 2, 4, 8, 16]
    assert chosen("1 % 0.1 > 0.09 and dp > 0") == [1, 2, 4, 8, 16]
    assert chosen("(dp / 10) // 0.1 = 9") == []
    assert chosen("dp // 0.1 = 79") == [8]
    assert chosen("dp // 0.0 is null and dp % (tp - tp + 0.0) is null") == [1, 2, 4, 8, 16]


_FLOATS = st.floats(-1e300, 1e300).filter(lambda value: value == 0 or abs(value) > 1e-300)


@settings(deadline=None)
@given(
    st.lists(st.tuples(_FLOATS | st.integers(-(2**53), 2**53), _FLOATS), min_size=1),
    st.sampled_from(("//", "%")),
)
def test_both_evaluators_divide_floats_as_python_does(pairs: list[tuple[float, float]], sign: str) -> None:
    import pyarrow as pa

    table = pa.table({"a": pa.array([float(a) for a, _ in pairs]), "b": pa.array([b for _, b in pairs])})
    expression = Expression(f"a {sign} b", ("a", "b"))
    found = ColumnExpression(f"a {sign} b", "where", lambda rows, name: rows[name]).numbers(table)
    for values, vectorised in zip(table.to_pylist(), found.to_pylist(), strict=True):
        if values["b"] == 0:
            assert vectorised is None
            continue
        exact = values["a"] // values["b"] if sign == "//" else values["a"] % values["b"]
        assert expression.evaluate(values) == vectorised == exact


_LEAVES = st.sampled_from(["dp", "tp", "npus", "weight_sharded", "0", "3", "2.5", "0.1", "true"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = ["+", "-", "*", "/", "//", "%", "=", "<>", "<", "<=", "and", "or"]
    return st.one_of(
        st.tuples(inner, st.sampled_from(signs), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda text: f"(not {text})"),
        inner.map(lambda text: f"(-{text})"),
        inner.map(lambda text: f"abs({text})"),
        st.tuples(inner, inner).map(lambda pair: f"min({pair[0]}, {pair[1]})"),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} between {parts[1]} and {parts[2]})"),
        inner.map(lambda text: f"({text} in (1, 3, 2.5))"),
    )


@settings(max_examples=300, deadline=None)
@given(st.recursive(_LEAVES, _larger, max_leaves=6))
def test_a_table_and_a_mapping_give_the_same_values(text: str) -> None:
    names = ("dp", "tp", "npus", "weight_sharded")
    scalar = Expression(text, names)
    found = RowExpression(text, "where").values(TABLE)
    if not scalar.names_used:
        return
    for values, vectorised in zip(TABLE.select(names).to_pylist(), found.to_pylist(), strict=True):
        with contextlib.suppress(InputError):  # a division by zero is infinite or null in a table
            assert scalar.evaluate(values) == vectorised


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        st.sampled_from("dp tw<>=!()'*/+-.,0123456789 and or not is null in between system model _[]{}:;\n"),
        max_size=40,
    )
)
def test_any_text_is_a_condition_or_an_input_error(text: str) -> None:
    with contextlib.suppress(InputError):
        RowExpression(text, "where").rows(TABLE)


def test_a_row_of_schema_version_1_has_no_fields() -> None:
    with pytest.raises(InputError, match="no point of the study has the field"):
        RowExpression("system.peak_tflops > 1", "where").rows(as_table([row()]))
