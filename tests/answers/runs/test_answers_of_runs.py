"""Where the time of runs goes: parts that add up, paths, waits; timelines and pages that hold them."""

from __future__ import annotations

import json
from pathlib import Path

from job_folders import chakra_folder, recorded_folder

from dse.answers.runs import Parts, parts_of
from dse.answers.runs.page import render_page
from dse.answers.runs.timeline import timeline_bytes
from dse.studies.recorded import Case, RunEvaluator, found_traces
from dse.studies.recorded.grid import cases


def case_of(folder: Path, **keys: str) -> Case:
    (case,) = cases(found_traces([str(folder)]), keys, ())
    return case


def shares(parts: Parts, title: str) -> dict[str, int]:
    (section,) = [section for section in parts.sections if section.title == title]
    return {share.name: share.ns for share in section.shares}


def test_parts_and_the_path_of_a_simulation_add_up(tmp_path: Path) -> None:
    parts = parts_of(case_of(chakra_folder(tmp_path / "job")))
    assert parts.rank == 2
    assert sum(shares(parts, "parts, which add up").values()) == parts.wall_time_ns
    path = shares(parts, "the path that decides when this rank ends")
    assert sum(path.values()) == parts.wall_time_ns
    assert set(path) == {"computation", "all-reduce, comm group {2,3}"}
    assert shares(parts, "communication by group") == {
        "all-reduce, comm group {2,3}": path["all-reduce, comm group {2,3}"]
    }


def test_parts_of_a_replay_name_who_waits_for_whom(tmp_path: Path) -> None:
    parts = parts_of(case_of(recorded_folder(tmp_path / "step")))
    assert sum(shares(parts, "parts").values()) == parts.wall_time_ns
    assert shares(parts, "who waits for whom, all ranks") == {"rank 0 for rank 1": 100_000}
    bounds = shares(parts, "bounds, which no change of the other part beats")
    assert all(ns <= parts.wall_time_ns for ns in bounds.values())
    assert json.loads(json.dumps(parts.to_json()))["wall_time_ns"] == parts.wall_time_ns


def test_timelines_have_every_rank_and_end_when_it_ends(tmp_path: Path) -> None:
    simulated = json.loads(timeline_bytes(case_of(chakra_folder(tmp_path / "job"))))
    assert {event["pid"] for event in simulated["traceEvents"]} == {1, 2}
    case = case_of(recorded_folder(tmp_path / "step"))
    events = json.loads(timeline_bytes(case))["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert {event["pid"] for event in slices} == {1, 2}
    assert max(event["ts"] + event["dur"] for event in slices) == 560.0  # of the last operator
    (waiting,) = [event for event in slices if event["cat"] == "waiting"]
    assert (waiting["pid"], waiting["dur"], waiting["args"]["last rank"]) == (1, 100.0, 1)
    assert timeline_bytes(case, is_packed=True)[:2] == b"\x1f\x8b"


def test_a_page_has_the_replay_before_the_cases(tmp_path: Path) -> None:
    traces = found_traces([str(recorded_folder(tmp_path / "step"))])
    wanted = list(cases(traces, {"overlap": "recorded,perfect"}, ()))
    page = render_page(traces, wanted, [RunEvaluator().evaluate(case) for case in wanted])
    assert page.index("The step as it was measured") < page.index('<h2 id="cases">')
    assert "overlap=perfect" in page
    assert "<script" not in page
