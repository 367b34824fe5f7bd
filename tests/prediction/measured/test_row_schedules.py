"""Schedules of measured rows: read as the plan that runs so, or refused; never taken for another."""

from __future__ import annotations

import pytest

from dse.prediction.measured.row_schedules import Inexpressible, schedule_of
from dse.prediction.measured.rows import MeasuredRow


def row(schedule: str, vp: int | None = None, pp: int = 4) -> MeasuredRow:
    return MeasuredRow("a", 16, 2048, 16, 2048, "H100", 8, 64, 1.0, pp=pp, schedule=schedule, vp=vp)


@pytest.mark.parametrize(
    ("schedule", "vp", "expected"),
    [
        ("", None, ("1f1b", 1)),
        ("none", 1, ("1f1b", 1)),
        ("1F1B", 1, ("1f1b", 1)),
        ("1f1b", 3, ("interleaved", 3)),
        ("interleaved-1f1b", 2, ("interleaved", 2)),
        ("Interleaved1F1B", 2, ("interleaved", 2)),
        ("GPipe", 1, ("gpipe", 1)),
        ("zb-h1", 1, ("zb-h1", 1)),
        ("ZB1P", None, ("zb-h1", 1)),
        ("zbv", 2, ("zb-v", 2)),
        ("zb-v", None, ("zb-v", 2)),
        ("ZBVZeroBubble", 2, ("zb-v", 2)),
        ("v-half", 2, ("v-half", 2)),
        ("V-Min", None, ("v-min", 2)),
    ],
)
def test_a_schedule_is_read_as_the_plan_that_runs_so(
    schedule: str, vp: int | None, expected: tuple[str, int]
) -> None:
    assumed: list[str] = []
    assert schedule_of(row(schedule, vp), assumed) == expected
    assert assumed == []


def test_a_name_of_the_whole_family_is_the_schedule_with_the_memory_of_1f1b_and_that_is_told() -> None:
    assumed: list[str] = []
    assert schedule_of(row("zero-bubble", 1), assumed) == ("zb-h1", 1)
    assert assumed == ["schedule zb-h1 for 'zero-bubble'"]


def test_interleaving_without_chunks_is_told() -> None:
    assumed: list[str] = []
    assert schedule_of(row("interleaved-1f1b"), assumed) == ("1f1b", 1)
    assert assumed == ["schedule 1f1b: interleaved has 2 chunks a stage or more, and vp says no number"]


@pytest.mark.parametrize(
    ("schedule", "vp", "message"),
    [
        (
            "zb-h2",
            1,
            "schedule is 'zb-h2', which no plan runs; known are 1f1b, gpipe, interleaved, v-half, v-min, ",
        ),
        ("InterleavedZeroBubble", 2, "schedule is 'InterleavedZeroBubble', which no plan runs"),
        ("DualPipe", 2, "schedule is 'DualPipe', which no plan runs"),
        ("zbv", 4, "schedule is zb-v with vp 4; it has 2 chunks a stage"),
        ("zb-h1", 2, "schedule is zb-h1 with vp 2; it has 1 chunk a stage"),
        ("gpipe", 2, "schedule is gpipe with vp 2; it has 1 chunk a stage"),
    ],
)
def test_a_schedule_that_no_plan_runs_is_refused(schedule: str, vp: int, message: str) -> None:
    with pytest.raises(Inexpressible, match=message):
        schedule_of(row(schedule, vp), [])


def test_without_a_pipeline_the_schedule_says_nothing() -> None:
    assert schedule_of(row("zb-h2", 2, pp=1), []) == ("1f1b", 1)
