"""Durations, rates and counts as users write them."""

from __future__ import annotations

import pytest

from dse.base.errors import InputError
from dse.prediction.runs.quantities import Rate, parse_count, parse_duration_s, parse_rate


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


@pytest.mark.parametrize(
    ("text", "per_second"),
    [
        ("1 per npu-day", 1 / 86400),
        ("6.5 per 1000 node-days", 6.5e-3 / 86400),
        ("2 per job-year", 2 / 365.25 / 86400),
        ("24 per nic-hour", 24 / 3600),
    ],
)
def test_rates_are_events_per_time_of_a_unit(text: str, per_second: float) -> None:
    assert parse_rate(text, "rate").per_second == pytest.approx(per_second, rel=1e-12)


@pytest.mark.parametrize(
    "text", ["0.1", "5 per day", "5 per gpu-day", "per npu-day", "1 per 0 npu-days", "-1 per npu-day"]
)
def test_a_rate_without_a_unit_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(
        InputError, match=r"rate is '.*'; (a rate has events per unit and time: write|the time)"
    ):
        parse_rate(text, "rate")


@pytest.mark.parametrize(
    ("events", "low", "high"), [(10, 6.221, 15.407), (148, 132.7, 164.7), (3, 1.102, 6.681)]
)
def test_counted_rates_have_the_interval_of_garwood(events: int, low: float, high: float) -> None:
    """Against the quantiles of the chi-square distribution as its tables print them."""
    found = Rate(events, 1, "npu", is_counted=True).bounds
    assert found[0] * events == pytest.approx(low, rel=0.02)
    assert found[1] * events == pytest.approx(high, rel=0.004)


def test_only_counted_rates_have_an_interval() -> None:
    assert parse_rate("148 per 884736 npu-days", "rate").bounds != (1.0, 1.0)
    assert parse_rate("148 per npu-day", "rate").bounds == (1.0, 1.0)
    assert parse_rate("6.5 per 1000 node-days", "rate").bounds == (1.0, 1.0)


def test_counts_have_powers_of_1000() -> None:
    assert [parse_count(text, "tokens") for text in ("15.6T", "300B", "300 G", "2e6", "7", "1.5k")] == [
        15_600_000_000_000, 300_000_000_000, 300_000_000_000, 2_000_000, 7, 1500,
    ]  # fmt: skip
    for text in ("0", "-5", "many", "1e30", "5 X"):
        with pytest.raises(InputError, match=r"^tokens is '"):
            parse_count(text, "tokens")
