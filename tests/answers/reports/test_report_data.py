"""What a report says: the answers, front, cap curve, heat maps, breakdowns and failures of a study."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from study_rows import ROW, failed_row, row

from dse.answers import select
from dse.answers.reports import report_data
from dse.answers.reports.page import render_page
from dse.answers.reports.ranked import POINT_FIELDS
from dse.inputs.strategies import Strategy
from dse.studies.config import compose_config
from dse.studies.points import evaluate
from dse.studies.store import StudyRow, StudyStore
from dse.testing.builders import design_point

CAP = 80_000_000_000


def store_of(folder: Path, rows: list[StudyRow]) -> StudyStore:
    store = StudyStore.create(folder)
    store.append(rows)
    return store


def by_rank(group: dict[str, Any]) -> dict[int, dict[str, Any]]:
    return {entry[0]: dict(zip(POINT_FIELDS, entry[2:], strict=True)) for entry in group["points"]}


@pytest.fixture(scope="module")
def data(lab: StudyStore) -> dict[str, Any]:
    return report_data(lab, memory_cap_bytes=CAP)


@pytest.fixture(scope="module")
def group(data: dict[str, Any]) -> dict[str, Any]:
    (group,) = data["groups"]
    return dict(group)


def test_the_best_points_of_the_lab(group: dict[str, Any]) -> None:
    points = by_rank(group)
    best, capped = (points[group["answers"][name]] for name in ("best", "best_under_cap"))
    assert (best["dp"], best["wall_time_ns"], best["peak_memory_bytes"]) == (64, 3179514278, 144158228480)
    assert (capped["dp"], capped["tp"], capped["activation_recompute"]) == (32, 2, True)
    assert (capped["wall_time_ns"], capped["peak_memory_bytes"]) == (3881176000, 39447429120)


def test_the_answers_are_those_of_select(lab: StudyStore, group: dict[str, Any]) -> None:
    selection = select(lab.read_table(), memory_cap_bytes=CAP)
    points = by_rank(group)
    for name, expected in (
        ("best", selection.optimum),
        ("runner_up", selection.runner_up),
        ("best_under_cap", selection.capped_optimum),
        ("runner_up_under_cap", selection.capped_runner_up),
    ):
        assert expected is not None
        assert points[group["answers"][name]]["key"] == expected.key
    assert group["smallest_peak_memory_bytes"] == selection.smallest_peak_memory_bytes
    assert group["counts"] == selection.counts


def test_every_point_is_there_in_the_order_of_the_ranking(group: dict[str, Any]) -> None:
    points = by_rank(group)
    assert list(points) == list(range(56))
    walls = [point["wall_time_ns"] for point in points.values()]
    assert walls == sorted(walls)


def test_the_steps_of_the_cap_curve(group: dict[str, Any]) -> None:
    points = by_rank(group)
    steps = [(step["memory_cap_bytes"], points[step["rank"]]) for step in group["cap_curve"]]
    assert len(steps) == 9
    assert all(cap == point["peak_memory_bytes"] for cap, point in steps)
    for (cap, point), (next_cap, next_point) in itertools.pairwise(steps):
        assert cap < next_cap
        assert point["wall_time_ns"] > next_point["wall_time_ns"]


def test_a_page_of_few_points_has_the_fastest_of_every_two_values(
    lab: StudyStore, group: dict[str, Any]
) -> None:
    (small,) = report_data(lab, max_points=10)["groups"]
    kept, points = by_rank(small), by_rank(group)
    assert 10 < len(kept) < len(points)
    for down, across in itertools.combinations(("dp", "tp", "sp", "activation_recompute"), 2):
        best: dict[tuple[int, int], int] = {}
        for rank, point in points.items():
            best.setdefault((point[down], point[across]), rank)
        assert set(best.values()) <= set(kept)


def test_the_breakdowns_sum_to_the_figures_of_their_points(group: dict[str, Any]) -> None:
    points = by_rank(group)
    assert [entry["point"] for entry in group["breakdowns"]] == sorted(group["answers"].values())
    for entry in group["breakdowns"]:
        point = points[entry["point"]]
        assert sum(part["ns"] for part in entry["breakdown"]) == point["wall_time_ns"]
        assert sum(part["bytes"] for part in entry["memory"]["categories"]) == point["peak_memory_bytes"]


def test_the_sensitivity_is_that_of_the_best_point_that_fits(group: dict[str, Any]) -> None:
    assert group["sensitivity_rank"] == group["answers"]["best_under_cap"]
    first, *others = group["sensitivity"]
    assert (first["parameter"], first["value"], first["unit"]) == ("system.peak_tflops", 450, "TFLOPS")
    assert first["base_wall_time_ns"] == 3881176000
    assert (first["low_wall_time_ns"], first["high_wall_time_ns"]) == (7522879036, 2083207202)
    assert [entry["span_ns"] for entry in others] == sorted((e["span_ns"] for e in others), reverse=True)
    assert len(others) == 8


def test_the_setup_and_the_provenance(data: dict[str, Any], group: dict[str, Any]) -> None:
    assert ("layers", "80") in group["setup"]["model"]
    assert ("peak performance of an NPU", "450 TFLOPS") in group["setup"]["system"]
    assert [dimension["topology"] for dimension in group["setup"]["network"]] == ["Ring"] * 3
    assert group["setup"]["hardware"] == (
        "64 NPUs of 450 TFLOPS and 3000 GB/s of memory; Ring 4 x Ring 4 x Ring 4 at 100 GiB/s"
    )
    assert group["conventions"] == [
        "MFU: operations of the reference's graph, one per multiply-add (published MFU: two); recompute does "
        "not count"
    ]
    (sweep,) = data["sweeps"]
    assert sweep["command"] == "python -m dse.sweep system=system1 model=llama70b"
    assert "memory_cap: 80GB" in sweep["configuration"]


def test_the_same_study_gives_the_same_data(lab: StudyStore, data: dict[str, Any]) -> None:
    assert json.dumps(report_data(lab, memory_cap_bytes=CAP)) == json.dumps(data)


def test_without_a_cap_nothing_is_capped(lab: StudyStore) -> None:
    (group,) = report_data(lab)["groups"]
    assert group["answers"]["best_under_cap"] is None
    assert group["sensitivity_rank"] == 0


def test_a_cap_that_nothing_fits(lab: StudyStore) -> None:
    (group,) = report_data(lab, memory_cap_bytes=10**9)["groups"]
    assert group["answers"]["best_under_cap"] is None
    assert group["smallest_peak_memory_bytes"] == 17621581824


def test_failures_are_counted_by_reason_without_its_numbers(tmp_path: Path) -> None:
    rows = [failed_row("infeasible", f"dp{dp} does not divide 7") for dp in range(3)]
    rows.append(failed_row("deadlock", "rank 0 waits for rank 1"))
    (group,) = report_data(store_of(tmp_path, [*rows, ROW]), memory_cap_bytes=CAP)["groups"]
    first, second = group["failures"]
    assert (first["status"], first["count"]) == ("infeasible", 3)
    assert first["reason"] == "dp… does not divide …"
    assert first["example_reason"] == "dp0 does not divide 7"
    assert (second["reason"], second["count"]) == ("rank 0 waits for rank 1", 1)


def test_many_reasons_are_cut_with_their_number(tmp_path: Path) -> None:
    rows = [failed_row("failed", f"reason {'x' * number}") for number in range(1, 26)]
    (group,) = report_data(store_of(tmp_path, rows))["groups"]
    assert len(group["failures"]) == 21
    assert group["failures"][-1] == {"status": "other", "reason": "5 further reasons", "count": 5}


def test_a_study_without_a_point_that_is_ok(tmp_path: Path) -> None:
    store = store_of(tmp_path, [failed_row("failed", "a reason")])
    (group,) = report_data(store, memory_cap_bytes=CAP)["groups"]
    assert set(group["answers"].values()) == {None}
    assert (group["points"], group["breakdowns"], group["cap_curve"]) == ([], [], [])


def test_an_empty_study(tmp_path: Path) -> None:
    (group,) = report_data(store_of(tmp_path, []), memory_cap_bytes=CAP)["groups"]
    assert group["title"] == "no point"
    assert group["finished"] == 0


def test_a_study_without_memory_has_no_cap(tmp_path: Path) -> None:
    store = store_of(tmp_path, [row(peak_memory_bytes=None, dp=dp) for dp in (1, 2)])
    (group,) = report_data(store, memory_cap_bytes=CAP)["groups"]
    assert (group["has_memory"], group["memory_cap_bytes"], group["cap_curve"]) == (False, None, [])
    assert group["answers"]["best"] == 0


def test_rows_of_schema_version_1_have_no_breakdown_and_say_so(tmp_path: Path) -> None:
    (group,) = report_data(store_of(tmp_path, [ROW]), memory_cap_bytes=CAP)["groups"]
    assert group["breakdowns"] == []
    assert "schema version 1" in group["not_evaluated_again"]
    assert group["setup"]["known"] is False
    assert group["origins"][0]["command"] == "python -m dse point system=system1 model=llama70b"
    assert "presumed" in group["origins"][0]["note"]


def test_a_point_of_another_version_has_no_breakdown_and_says_so(tmp_path: Path) -> None:
    stored = evaluate(design_point(Strategy(dp=16)))
    older = json.dumps({**json.loads(stored.options or ""), "result_version": 0})
    store = store_of(tmp_path, [dataclasses.replace(stored, options=older, key="0" * 32)])
    (group,) = report_data(store)["groups"]
    assert group["breakdowns"] == []
    assert "has results of version 0" in group["not_evaluated_again"]
    assert "has results of version 0" in group["origins"][0]["note"]


def test_a_point_of_another_program_has_no_breakdown_and_says_so(tmp_path: Path) -> None:
    stored = evaluate(design_point(Strategy(dp=16)))
    options = {**json.loads(stored.options or ""), "simulator": {"name": "astrasim"}}
    store = store_of(tmp_path, [dataclasses.replace(stored, options=json.dumps(options))])
    (group,) = report_data(store)["groups"]
    assert "simulator=astrasim" in group["not_evaluated_again"]
    assert group["origins"][0]["command"].endswith("simulator=astrasim simulator.binary=PATH")


def test_every_question_has_its_part_and_a_line_of_the_overview(tmp_path: Path) -> None:
    rows = [row(system=f"system{number:02}", dp=dp) for number in range(14) for dp in (1, 2)]
    data = report_data(store_of(tmp_path, rows), memory_cap_bytes=CAP)
    assert len(data["overview"]) == 14
    assert (len(data["groups"]), data["omitted_groups"]) == (12, 2)
    assert data["overview"][0]["best"]["wall_time_ns"] == ROW.wall_time_ns


def test_a_large_study_is_sampled_and_keeps_what_matters(tmp_path: Path) -> None:
    """Of 50,000 points the page keeps the front and the best of each strategy, and no more than asked for."""
    rows = [
        row(
            dp=2 ** (number % 10),
            tp=2 ** (number // 10 % 10),
            wall_time_ns=10**9 + (number * 7919) % 10**6,
            peak_memory_bytes=10**9 + (number * 104729) % 10**6,
            key=f"{number:032x}",
        )
        for number in range(50_000)
    ]
    store = store_of(tmp_path, rows)
    (group,) = report_data(store, memory_cap_bytes=CAP, max_points=500)["groups"]
    points = by_rank(group)
    assert (len(points), group["finished"]) == (500, 50_000)
    assert {step["rank"] for step in group["cap_curve"]} <= set(points)
    best: dict[tuple[int, int], int] = {}
    for entry in rows:
        pair = entry.dp, entry.tp
        best[pair] = min(best.get(pair, 2**62), entry.wall_time_ns or 0)
    assert {(p["dp"], p["tp"], p["wall_time_ns"]) for p in points.values()} >= {
        (*k, v) for k, v in best.items()
    }
    assert max(points) > 49_000  # slow points are shown too


def test_a_provenance_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    store = store_of(tmp_path, [ROW])
    for name, text in (("a", "x: ["), ("b", "- 1"), ("c", "started: now\ncommand: [python, a b]")):
        store.record_sweep(name, text)
    first, second, third = report_data(store)["sweeps"]
    assert "malformed YAML at line 2" in first["problem"]
    assert second["problem"].endswith("b.yaml: must hold keys and values, as dse sweep writes them")
    assert third["command"] == "python 'a b'"


def test_what_the_named_points_say_of_their_times_is_on_the_page(tmp_path: Path) -> None:
    dgx16 = compose_config(["system=dgx16"]).system
    data = report_data(store_of(tmp_path, [evaluate(design_point(Strategy(dp=2, tp=8), system=dgx16))]))
    warning = "warning: tp 8 crosses slower links (dimension 1) but is timed on dimension 0, as in ASTRA-sim"
    assert data["groups"][0]["cautions"] == [warning]
    assert warning in render_page(data)
