"""Bytes, durations and counts: what users write and read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.base.units import (
    format_bytes,
    format_count,
    format_duration_ns,
    format_time,
    parse_bytes,
    parse_count,
    parse_duration_s,
)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("80GB", 80_000_000_000),
        ("80GiB", 85_899_345_920),
        ("80 gb", 80_000_000_000),
        ("80gib", 85_899_345_920),
        (" 1.5 GiB ", 1_610_612_736),
        ("0.5kB", 500),
        (".5KB", 500),
        ("1.B", 1),
        ("7b", 7),
        ("3MB", 3_000_000),
        ("2TB", 2_000_000_000_000),
        ("1KiB", 1024),
        ("1MiB", 1_048_576),
        ("1TiB", 1_099_511_627_776),
        ("1.00001KB", 1000),
        ("9223372036854775807B", 9_223_372_036_854_775_807),
        ("1e3GB", 1_000_000_000_000),
        ("1.5E+2 GiB", 161_061_273_600),
        ("2e-3MB", 2000),
    ],
)
def test_units_are_powers_of_1000_or_of_1024_in_any_case(text: str, size_bytes: int) -> None:
    assert parse_bytes(text) == size_bytes


@given(st.integers(1, 10**6), st.sampled_from(["kB", "MB", "GB", "KiB", "MiB", "GiB"]))
def test_whole_numbers_of_a_unit_are_exact(count: int, unit: str) -> None:
    assert parse_bytes(f"{count} {unit}") == count * parse_bytes(f"1{unit}")


def test_a_cap_without_a_unit_says_what_to_write() -> None:
    with pytest.raises(InputError) as caught:
        parse_bytes("80", "memory cap")
    assert str(caught.value) == (
        "memory cap '80' has no unit; write 80GB (80e9 bytes) or 80GiB (80 x 2^30 bytes)"
    )


def test_a_cap_with_an_exponent_and_no_unit_says_what_to_write() -> None:
    with pytest.raises(InputError) as caught:
        parse_bytes("1e3", "memory cap")
    assert str(caught.value) == (
        "memory cap '1e3' has no unit; write 1e3GB (1e12 bytes) or 1e3GiB (1e3 x 2^30 bytes)"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("-80GB", "is -80000000000 bytes"),
        ("0GB", "is 0 bytes"),
        ("0.1B", "is 0 bytes"),
        ("-1", "'-1' is not above 0; write a positive number and one of the units B,"),
        ("0", "'0' is not above 0"),
        ("9223372036854775808B", "is 9223372036854775808 bytes"),
        ("80XB", "unknown unit 'XB'"),
        ("80 Gbit", "unknown unit 'Gbit'"),
        ("", "is not a number of bytes"),
        ("GB", "is not a number of bytes"),
        ("80GB!", "is not a number of bytes"),
        ("1eGB", "unknown unit 'eGB'"),
        ("1e400GB", "is not a number of bytes"),
        ("1e-12GB", "is 0 bytes"),
        ("8 0GB", "is not a number of bytes"),
        ("٨GB", "is not a number of bytes"),
        ("9" * 5000 + "GB", "is not a number of bytes"),
        ("nanGB", "is not a number of bytes"),
    ],
)
def test_what_is_no_positive_size_is_refused_under_the_name_of_its_key(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=r"^memory_cap ") as caught:
        parse_bytes(text, "memory_cap")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (999_999, "1.00 MB"),
        (67_022_880_768, "67.02 GB"),
        (143_896_084_480, "143.90 GB"),
        (5_000_000_000_000_000, "5000.00 TB"),
    ],
)
def test_sizes_are_shown_in_powers_of_1000(size_bytes: int, text: str) -> None:
    assert format_bytes(size_bytes) == text


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0 ns"),
        (850, "850 ns"),
        (1740, "1.74 µs"),
        (999_999, "1 ms"),
        (12_300_000, "12.3 ms"),
        (4_088_264_658, "4.088 s"),
        (9_999_999_999_999, "10000 s"),
        (123_456_000_000_000, "123456 s"),
    ],
)
def test_durations_have_four_significant_digits(duration_ns: int, text: str) -> None:
    assert format_duration_ns(duration_ns) == text


def test_counts_have_four_digits() -> None:
    values = {0: "0", 7.25: "7.25", 999.96: "1k", 329_612.4: "329.6k", 12_345_678: "12.35M", 2e15: "2000T"}
    assert {value: format_count(value) for value in values} == values


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90 s", 90),
        ("10min", 600),
        ("6 h", 21600),
        ("1 day", 86400),
        ("2 days", 172800),
        ("1.5 week", 907200),
    ],
)
def test_durations_have_a_unit(text: str, seconds: float) -> None:
    assert parse_duration_s(text, "interval") == seconds


@pytest.mark.parametrize("text", ["", "90", "ten min", "--1 s", "1 parsec", "1e3 s", "9" * 5000 + " s"])
def test_other_durations_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"^interval is '") as error:
        parse_duration_s(text, "interval")
    assert len(str(error.value)) < 300


def test_negative_durations_are_too_short() -> None:
    with pytest.raises(InputError, match=r"interval is '-5min'; it must be at least 0 s"):
        parse_duration_s("-5min", "interval")


def test_counts_have_powers_of_1000() -> None:
    assert [parse_count(text, "tokens") for text in ("15.6T", "300B", "300 G", "2e6", "7", "1.5k")] == [
        15_600_000_000_000, 300_000_000_000, 300_000_000_000, 2_000_000, 7, 1500,
    ]  # fmt: skip
    for text in ("0", "-5", "many", "1e30", "5 X"):
        with pytest.raises(InputError, match=r"^tokens is '"):
            parse_count(text, "tokens")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "no time"),
        (0.00542, "5.42 ms"),
        (11, "11 s"),
        (150, "2.5 min"),
        (11124, "3.09 h"),
        (67.1 * 86400, "67.1 days"),
        (2109 * 86400, "2,109 days"),
    ],
)
def test_times_of_any_length_have_a_unit(seconds: float, text: str) -> None:
    assert format_time(seconds) == text
