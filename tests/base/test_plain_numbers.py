"""Decimals of users, exactly, and those that no computer should be asked to hold."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.base.numbers import exact_decimal


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", Fraction(12)),
        ("-0.5", Fraction(-1, 2)),
        (".5", Fraction(1, 2)),
        ("1.", Fraction(1)),
        (" 1.25E+2 ", Fraction(125)),
        ("1e-999", Fraction(1, 10**999)),
        ("1e0000000009", Fraction(10**9)),
    ],
)
def test_a_decimal_is_exact(text: str, value: Fraction) -> None:
    assert exact_decimal(text, where="latency") == value


@given(st.floats(-1e300, 1e300))
def test_what_python_writes_of_a_float_is_read_as_that_decimal(value: float) -> None:
    assert exact_decimal(repr(value), where="latency") == Fraction(repr(value))


@given(st.decimals(-(10**300), 10**300, allow_nan=False, places=5))
def test_a_decimal_with_places_is_read_as_it_is_written(value: object) -> None:
    assert exact_decimal(str(value), where="latency") == Fraction(str(value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e-99999999", "latency is '1e-99999999'; its exponent must be from -999 to 999"),
        ("1.1e300", "latency is '1.1e300'; it must be from -1e300 to 1e300"),
        ("1e1000", "latency is '1e1000'; its exponent must be from -999 to 999"),
        ("9" * 1001, f"latency is '{'9' * 60}…' with 1001 digits; at most 1000 are allowed"),
        ("9" * 10**6, f"latency is '{'9' * 60}…' with 1000000 digits; at most 1000 are allowed"),
        ("9" * 10**6 + "x", f"latency is '{'9' * 60}…'; it must be a decimal number, such as 0.5 or 1e9"),
        *(
            (text, f"latency is '{text}'; it must be a decimal number, such as 0.5 or 1e9")
            for text in ("", ".", "1e", "1_0", "1/3", "٣", "inf", "nan", "0x1", "1 2", "--1")
        ),
    ],
)
def test_a_text_that_is_no_decimal_or_too_large_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        exact_decimal(text, where="latency")
    assert str(refused.value) == message
