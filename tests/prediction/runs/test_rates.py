"""Rates of failures as users write them, and their intervals."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.prediction.runs.reliability import Rate, parse_rate, reliability_named


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
    "text",
    [
        "0.1",
        "5 per day",
        "5 per gpu-day",
        "5 per switch-day",
        "per npu-day",
        "1 per 0 npu-days",
        "-1 per npu-day",
    ],
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


def test_a_bare_number_in_a_file_is_refused_with_the_units_that_it_lacks(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "detection: 1 min\nrestart: 5 min\nrepair: 1 day\ncomponents: {gpu: {rate: 148, takes_node: true}}\n"
    )
    with pytest.raises(
        InputError, match=r"components\.gpu\.rate is '148'; a rate has events per unit and time"
    ):
        reliability_named(str(file))
