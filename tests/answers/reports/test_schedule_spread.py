"""The plot of times under links that vary: which schedules it shows, and where lines and ticks stand."""

from __future__ import annotations

from typing import Any

from dse.collectives.page.page import spread_plot
from dse.collectives.robust.summary import PERCENTS


def figures(first_ps: int, p95_ps: int) -> dict[str, Any]:
    """Times that grow by 1 ps per per cent."""
    return {"p95_ps": p95_ps, "percentiles_ps": [first_ps + percent for percent in PERCENTS]}


def variance(**fixed: int) -> dict[str, Any]:
    return {
        **figures(1000, 1095),
        "fixed_algorithms": {name: figures(p95 - 95, p95) for name, p95 in fixed.items()},
    }


def test_the_three_best_fixed_algorithms_are_shown_best_first() -> None:
    plot = spread_plot(variance(d=4000, b=2000, a=2000, c=3000))
    assert [line.name for line in plot.lines] == ["this schedule", "a", "b", "c"]


def test_lines_go_from_the_least_time_at_the_bottom_to_the_greatest_at_the_top() -> None:
    plot = spread_plot(variance(ring=1195))
    first, last = (line.points.split() for line in plot.lines)
    assert (first[0], first[-1]) == ("0.0,240.0", "320.0,0.0")
    assert (last[0], last[-1]) == ("320.0,240.0", "640.0,0.0")
    assert plot.ticks == [(0.0, 1000), (160.0, 1050), (320.0, 1100), (480.0, 1150), (640.0, 1200)]


def test_times_that_do_not_vary_are_a_line_at_their_place() -> None:
    steady = {"p95_ps": 7, "percentiles_ps": [7] * len(PERCENTS)}
    plot = spread_plot({**steady, "fixed_algorithms": {}})
    assert {point.split(",")[0] for point in plot.lines[0].points.split()} == {"0.0"}
    assert plot.ticks == [(0.0, 7), (640.0, 8)]
