"""The constraint language: equal to Python where it is defined, closed to everything else."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.base.expressions import Expression

NAMES = ("dp", "tp", "npus", "weight_sharded")
VALUES: dict[str, float] = {"dp": 4, "tp": 16, "npus": 64, "weight_sharded": True}


def _leaf() -> st.SearchStrategy[str]:
    numbers = st.one_of(st.integers(0, 100).map(str), st.sampled_from(["0.5", "2.0", "1e3"]))
    return st.one_of(numbers, st.sampled_from([*NAMES, "True", "False"]))


def _composite(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(
        ["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or", "**"]
    )
    return st.one_of(
        st.tuples(inner, binary, inner).map(" ".join),
        st.tuples(inner, binary, inner).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(inner, st.sampled_from(["<", "<=", "=="]), inner, st.sampled_from(["<", "!="]), inner).map(
            " ".join
        ),
        inner.map(lambda text: f"-({text})"),
        inner.map(lambda text: f"(not {text})"),
        st.tuples(inner, inner).map(lambda pair: f"min({pair[0]}, {pair[1]})"),
        st.tuples(inner, inner, inner).map(lambda parts: f"max({', '.join(parts)})"),
        inner.map(lambda text: f"abs({text})"),
        inner.map(lambda text: f"log2({text})"),
    )


class _Undefined:
    """Stands for a result that Python does not define or that our language bounds."""


def _python(text: str) -> object:
    functions = {"min": min, "max": max, "abs": abs, "log2": math.log2}
    names: dict[str, Any] = {**VALUES, **functions}
    try:
        result = eval(text, {"__builtins__": {}}, names)
    except (ArithmeticError, ValueError, TypeError, MemoryError):
        return _Undefined
    return _Undefined if isinstance(result, complex) else result


@given(st.recursive(_leaf(), _composite, max_leaves=8).filter(lambda text: text.count("**") < 2))
def test_values_are_those_of_python(text: str) -> None:
    expected = _python(text)
    yields_operands = "and" in text or "or" in text  # in Python; in expressions they yield true or false
    try:
        result: object = Expression(text, NAMES).evaluate(VALUES)
    except InputError as error:
        if expected is not _Undefined and "**" not in text and not yields_operands:  # powers are bounded
            raise AssertionError(text) from error
        return
    if yields_operands:
        return
    assert expected is not _Undefined
    assert result == expected or (result != result and expected != expected)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("dp * tp == npus", True),
        ("1 < dp <= tp < npus", True),
        ("1 < tp < dp", False),
        ("dp == 4 and not weight_sharded or tp == 16", True),
        ("dp and tp", True),
        ("weight_sharded == true", True),
        ("false or dp > 4", False),
        ("log2(npus) == 6", True),
        ("-2 ** 2 == -4", True),
        ("2 ** -1 == 0.5", True),
        ("  dp\n  == 4 ", True),
        ("min(dp, tp, 2) == 2 and max(dp, 3.5) == 4 and abs(-3) == 3", True),
        ("npus % 7 == 1 and npus // 7 == 9 and npus / 128 == 0.5", True),
        ("dp = 4 AND tp <> 4 AND NOT npus < 64", True),
        ("npus in (32, 64) and dp not in (1, 2)", True),
        ("dp between 4 and tp and npus not between 1 and 63", True),
        ("tp * 1GB = 16e9 and 1KiB == 1024", True),
    ],
)
def test_conditions_hold_or_not(text: str, value: bool) -> None:
    assert Expression(text, NAMES).holds(VALUES) is value


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("dp.real == 1", 1, "unknown name 'dp.real' (known names: dp"),
        ("dp == open('x')", 7, "'open(…)' is not allowed"),
        ("dp == [1][0]", 7, "'[1][0]' is not allowed"),
        ("__import__('os')", 1, "'__import__(…)' is not allowed"),
        ("().__class__", 2, "')' is not expected here"),
        ("dp == 'x'", 7, "a text is not a number"),
        ("dp == 1j", 7, "'1j' is not allowed"),
        ("dp == None", 7, "unknown name 'None'"),
        ("dp == null", 7, "nothing equals null; write 'is null'"),
        ("dp is null", 1, "all names stand for numbers, so nothing is null"),
        ("dp is tp", 7, "after 'is' comes null, or not null"),
        ("dp in (1, tp)", 11, "a list has constants only"),
        ("dp in 3", 7, "after 'in' comes a list such as (1, 2)"),
        ("dp not tp", 8, "after this 'not' comes in, or between"),
        ("dp between 1", 13, "a between has the form X between LOW and HIGH"),
        ("dp & tp", 4, "'& tp' is not allowed"),
        ("~dp == 1", 1, "'~dp == 1' is not allowed"),
        ("lambda: 1", 7, "': 1' is not allowed"),
        ("(dp := 3)", 5, "':= 3)' is not allowed"),
        ("1 if dp else 2", 3, "'if' is not expected here"),
        ("f'{dp}'", 2, "is not expected here"),
        ("dp == tq", 7, "unknown name 'tq' (known names: dp, tp, npus, weight_sharded"),
        ("min == 3", 1, "unknown name 'min'"),
        ("min(dp) == 3", 1, "min takes two or more arguments"),
        ("min() == 3", 1, "min takes two or more arguments"),
        ("log2(dp, 2) == 3", 1, "log2 takes one argument"),
        ("min(*dp, tp)", 5, "'*' is not expected here"),
        ("dp == 1e999", 7, "the number is too large"),
        ("dp == (4", 7, "'(' was never closed"),
        ("dp tp", 4, "'tp' is not expected here"),
        ("dp <", 5, "the expression ends too early"),
        ("tp == dp[0]", 9, "'[0]' is not allowed"),
        ("", 1, "the expression ends too early"),
    ],
)
def test_what_is_outside_the_language_is_named_with_its_column(text: str, column: int, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        Expression(text, NAMES, key="space.constraints.0")
    message = str(caught.value)
    assert message.startswith(f"space.constraints.0 '{text}', column {column}: ")
    assert problem in message
    assert message.endswith(
        "allowed are names, numbers (80GB too), 'texts', true, false, + - * / // % **, comparisons, and, or, "
        "not, in (...), between, is null, parentheses, min, max, abs and log2"
    )


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("tp / (dp - 4) > 1", 1, "division by zero"),
        ("1 + tp % 0 > 1", 5, "operands [16, 0]"),
        ("log2(dp - 4) > 1", 1, "operands [0]"),
        ("10 ** 10000 > 1", 1, "more than 4096 bits"),
        ("2 < dp ** dp ** dp ** dp", 5, "more than 4096 bits"),
        ("(-8) ** 0.5 > 1", 1, "not a real number"),
        ("2 ** 2000 / 3 > 1", 1, "too large"),
        ("10.0 ** 400 > 1", 1, "too large"),
    ],
)
def test_what_cannot_be_computed_is_named_with_its_column(text: str, column: int, problem: str) -> None:
    expression = Expression(text, NAMES)
    with pytest.raises(InputError) as caught:
        expression.holds(VALUES)
    assert f"expression '{text}', column {column}: " in str(caught.value)
    assert problem in str(caught.value)


def test_a_constraint_must_be_true_or_false() -> None:
    with pytest.raises(InputError, match=r"'dp \* tp' yields 64; it must yield true or false"):
        Expression("dp * tp", NAMES).holds(VALUES)


@pytest.mark.parametrize(
    "text", ["(" * 400 + "1" + ")" * 400, "-" * 990 + "1", "+".join(["1"] * 400), "not " * 200 + "dp", "\0"]
)
def test_deep_or_odd_texts_are_refused_without_a_crash(text: str) -> None:
    with pytest.raises(InputError):
        Expression(text, NAMES)


def test_long_texts_are_refused() -> None:
    with pytest.raises(InputError, match=r"has 2001 characters; at most 2000"):
        Expression("1" * 2001, NAMES)


DOTTED = ("model.seq_len", "system.network.0.bandwidth_gbps", "system.network.10.npus", "tp")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("system.network.0.bandwidth_gbps > 100", True),
        ("system.network.0.bandwidth_gbps / 1.5 == 80.0", True),
        ("tp*system.network.10.npus==64", True),
        ("model.seq_len == .5 * 1024 and 1.0 < tp", True),
    ],
)
def test_names_may_have_parts_and_indices(text: str, value: bool) -> None:
    assert Expression(text, DOTTED).holds(dict(zip(DOTTED, (512, 120, 16, 4), strict=True))) is value


def test_the_names_that_are_used_are_known_in_their_order() -> None:
    expression = Expression("tp < system.network.0.bandwidth_gbps and tp > model.seq_len or true", DOTTED)
    assert expression.names_used == ("tp", "system.network.0.bandwidth_gbps", "model.seq_len")


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("system.network.0.npu == 1", 1, "unknown name 'system.network.0.npu' (known names: model.seq_len, "),
        ("system.network.0.bandwidth_gbps < tq", 35, "unknown name 'tq'"),
        ("system.network.0.bandwidth_gbps < system.network.10.npus < [1]", 60, "'[1]' is not allowed"),
        ("tp == system.network.10.npus[0]", 29, "'[0]' is not allowed"),
        ("(system.network.10.npus == (4", 28, "'(' was never closed"),
        ("system.network.10.npus tp", 24, "'tp' is not expected here"),
        ("tp == 2 .real", 9, "'.real' is not allowed"),
        ("(tp).real == 1", 5, "'.real == 1' is not allowed"),
        ("'äö' == system.network.0.x", 9, "unknown name 'system.network.0.x'"),
        ("tp.0 == 1", 1, "unknown name 'tp.0'"),
    ],
)
def test_columns_count_characters_also_after_an_index(text: str, column: int, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        Expression(text, DOTTED)
    assert str(caught.value).startswith(f"expression '{text}', column {column}: ")
    assert problem in str(caught.value)


def test_an_unknown_name_can_be_explained_by_whoever_knows_more() -> None:
    with pytest.raises(InputError, match=r"column 8: unknown name 'x\.y' \(no x here\); allowed are"):
        Expression("tp and x.y", DOTTED, explain=lambda name: f"no {name[0]} here")
