"""Predicted plans that are too near to tell apart: how many, which has most room, and what a runner-up is."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from study_rows import row

from dse.answers import select, ties
from dse.answers.reports.ranked import RANK, Ranked
from dse.answers.summary import render, to_json
from dse.prediction.steps.predict import PREDICTION_VERSION
from dse.studies.store import StudyRow, as_rows, as_table

OPTIONS = json.dumps({"predictor": PREDICTION_VERSION})
GB = 10**9


def plan(wall_ms: float, memory_gb: int, **changes: object) -> StudyRow:
    wall = round(wall_ms * 1e6)
    interval = {"wall_time_low_ns": wall * 9 // 10, "wall_time_high_ns": wall * 6 // 5}
    values = {"options": OPTIONS, "compute_utilization_pct": None, **interval, **changes}
    return row(wall_time_ns=wall, peak_memory_bytes=memory_gb * GB, activation_recompute=False, **values)


BEST = plan(1000, 70, tp=8, dp=8, sp=1)
TWIN = plan(1005, 60, tp=8, dp=8, sp=1, micro_batch=2)
TIED = plan(1010, 50, tp=4, dp=16, sp=1)
SLOWER = plan(1030, 40, tp=2, dp=32, sp=1)
ROWS = [SLOWER, TIED, TWIN, BEST]


@pytest.fixture(autouse=True)
def _two_per_cent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "tie_gap", lambda: 0.02)


def test_a_runner_up_is_another_plan_and_no_twin() -> None:
    assert select(ROWS).runner_up == TIED
    assert select([BEST, TWIN]).runner_up is None


def test_ties_are_counted_by_plan_and_the_roomiest_is_named() -> None:
    found = select(ROWS)
    assert (found.indistinct, found.roomiest) == (1, TIED)
    assert (select([BEST, TWIN]).indistinct, select([BEST, TWIN]).roomiest) == (0, TWIN)
    assert (select([BEST, SLOWER]).indistinct, select([BEST, SLOWER]).roomiest) == (0, None)


def test_ties_under_a_cap_are_those_that_fit() -> None:
    found = select(ROWS, memory_cap_bytes=65 * GB)
    assert (found.capped_optimum, found.capped_indistinct, found.capped_roomiest) == (TWIN, 1, TIED)
    assert to_json(found)["most_room_under_cap"]["tp"] == 4


def test_simulated_points_have_no_such_ties() -> None:
    exact = [row(wall_time_ns=1000 + place, dp=2**place, peak_memory_bytes=9 - place) for place in range(3)]
    found = select(exact)
    assert (found.indistinct, found.roomiest) == (0, None)


class InMemory:
    """A snapshot of rows that are in memory."""

    def rows(self, table: pa.Table) -> list[StudyRow]:
        names = [name for name in table.column_names if name != RANK]
        return as_rows(table.select(names))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            ROWS,
            f"tied with {BEST.label()}: 1 other plan, of all these {TIED.label()} has most room, 50.00 GB",
        ),
        ([BEST, SLOWER], None),
        ([row(wall_time_ns=1000, dp=2), row(wall_time_ns=1000, dp=4)], None),
        ([], None),
    ],
)
def test_a_page_has_a_sentence_on_ties(rows: list[StudyRow], sentence: str | None) -> None:
    ranked = Ranked.of(InMemory(), as_table(rows))  # type: ignore[arg-type]
    assert ranked.tie_sentence() == ([sentence] if sentence else [])


def test_the_text_has_the_interval_and_the_ties() -> None:
    lines = render(select([*ROWS, plan(1001, 65, tp=16, dp=4, sp=1)])).splitlines()
    assert "    80 %: 900 ms to 1.2 s" in lines
    assert "    tied with 2 other plans, of which the one below has most room" in lines
    assert next(line for line in lines if line.startswith("  most room")).startswith("  most room +1.0 %")
    only = render(select(ROWS)).splitlines()
    assert "    tied with 1 other plan, of which the runner-up has most room" in only
    assert not any(line.startswith("  most room") for line in only)
