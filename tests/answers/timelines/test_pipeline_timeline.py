"""The timeline of a predicted step: every pass of every stage once, and it ends with the step."""

from __future__ import annotations

import io
import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from predicted_points import predicted_point

from dse.answers.timelines import TimelineOptions, TimelineSummary, write_pipeline
from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.prediction.steps.details import stage_operations
from dse.studies.points import DesignPoint, evaluate
from dse.studies.points.methods.prediction import prediction_inputs

POINT = predicted_point(
    Strategy(dp=2, tp=2, pp=4, micro_batch=4, schedule="interleaved", chunks=2, sequence_parallel=True)
)
MICRO_BATCHES = 8  # 64 sequences / (2 ranks x 4)


def written(point: DesignPoint, **options: Any) -> tuple[list[dict[str, Any]], TimelineSummary]:
    text = io.StringIO()
    summary = write_pipeline(point, text, TimelineOptions(**options), {"key": point.key})
    data = json.loads(text.getvalue())
    assert data["otherData"]["key"] == point.key
    return data["traceEvents"], summary


def test_every_stage_runs_every_pass_once_and_the_optimiser_after_them() -> None:
    made = stage_operations(*prediction_inputs(POINT))
    kinds = Counter((each.stage, each.kind) for each in made)
    for stage in range(4):
        assert kinds[stage, "forward"] == kinds[stage, "backward"] == 2 * MICRO_BATCHES
        assert kinds[stage, "dp"] == kinds[stage, "optimizer"] == 1
        own = [each for each in made if each.stage == stage]
        assert all(one.end_s <= other.start_s + 1e-12 for one, other in pairwise(own))


def test_it_ends_when_the_step_does() -> None:
    events, summary = written(POINT)
    row = evaluate(POINT)
    assert row.wall_time_ns is not None
    assert max(event["ts"] for event in events if "ts" in event) * 1000 == pytest.approx(
        row.wall_time_ns, abs=2
    )
    assert summary.dropped_slices == 0
    assert summary.slices == 4 * (2 * 2 * MICRO_BATCHES + 2)


def test_slices_open_and_close_in_turn_on_each_track() -> None:
    events, _ = written(POINT)
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {1: "stage 0", 2: "stage 1", 3: "stage 2", 4: "stage 3"}
    for pid in names:
        phases = [event["ph"] for event in events if event["pid"] == pid and event["ph"] != "M"]
        assert phases == ["B", "E"] * (len(phases) // 2)
    times = [event["ts"] for event in events if "ts" in event]
    assert times == sorted(times)


def test_stages_can_be_chosen_and_the_file_is_bounded() -> None:
    events, summary = written(POINT, classes=[1], max_events=100)
    assert {event["pid"] for event in events} == {2}
    assert summary.slices == 34
    _, bounded = written(POINT, max_events=100)
    assert (bounded.slices, bounded.dropped_slices) == (100, 36)
    with pytest.raises(InputError, match="stage 4 does not exist; there are stages 0 to 3"):
        written(POINT, classes=[4])
