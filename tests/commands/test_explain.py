"""`python -m dse explain` and `python -m dse timeline` answer for the points of a study."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from command_lines import error_of, run_ok

from dse.answers.fidelities import REFERENCE
from dse.base.errors import InputError
from dse.commands import explain as explain
from dse.commands import sensitivity, timeline
from dse.studies.store import StudyRow, StudyStore, as_rows

STUDY = "results/small"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of Llama-70B with 4 layers on system1: 56 points."""
    folder = tmp_path_factory.mktemp("explained")
    run_ok("sweep", "system=system1", "model=llama70b", "model.num_layers=4", "study=small", cwd=folder)
    return folder


def rows_of(folder: Path) -> list[StudyRow]:
    return as_rows(StudyStore(folder / STUDY).read_table())


def test_the_parts_sum_to_the_wall_time_and_the_categories_to_the_peak(folder: Path) -> None:
    data = json.loads(run_ok("explain", STUDY, "--json", "--no-switches", cwd=folder).out)
    row = next(row for row in rows_of(folder) if row.key == data["key"])
    assert data["wall_time_ns"] == row.wall_time_ns == sum(part["ns"] for part in data["breakdown"])
    assert all(set(part) == {"part", "ns"} for part in data["breakdown"])
    assert data["memory"]["peak_memory_bytes"] == row.peak_memory_bytes
    assert sum(entry["bytes"] for entry in data["memory"]["categories"]) == row.peak_memory_bytes
    versus = data["versus"]
    assert sum(part["change"] for part in versus["breakdown"]) == versus["wall_time_ns"]["change"] > 0
    assert data["binding"]["cap_binds"] is False
    assert "switches" not in data


def test_the_winner_its_runner_up_what_binds_and_what_would_change_it_are_said(folder: Path) -> None:
    out = run_ok("explain", STUDY, "memory_cap=4GB", cwd=folder).out
    assert out.startswith(f"llama70b on system1, 64 NPUs, {REFERENCE}\n\nwhat binds: the memory cap binds")
    assert "what binds: the memory cap binds: dp64 tp1 sp1 pp1 is " in out
    heading = "the smallest changes of one input at which another strategy wins:"
    changes = out[out.index(heading) :].splitlines()[1:]
    assert any(line.startswith("  memory cap ") for line in changes)
    assert any(line.startswith("  system.network.") for line in changes)


def test_one_point_against_another(folder: Path) -> None:
    rows = {(row.dp, row.tp, row.activation_recompute): row for row in rows_of(folder)}
    first, second = rows[8, 8, True].key or "", rows[64, 1, False].key or ""
    data = json.loads(
        run_ok("explain", STUDY, f"point={first[:8]}", f"versus={second}", "--json", cwd=folder).out
    )
    assert (data["key"], data["versus"]["key"]) == (first, second)
    assert data["versus"]["wall_time_ns"]["change"] < 0
    assert "binding" not in data


def test_a_timeline_of_any_point(folder: Path) -> None:
    key = next(row.key for row in rows_of(folder) if (row.dp, row.tp, row.sp) == (8, 8, 1)) or ""
    out = run_ok("timeline", STUDY, f"point={key}", "-o", "trace.json", "max_events=500", cwd=folder).out
    assert out.startswith(f"trace.json: llama70b system1 dp8 tp8 sp1 pp1 {key}") or "recompute" in out
    trace = json.loads((folder / "trace.json").read_text())
    assert trace["otherData"]["key"] == key
    assert len(trace["traceEvents"]) < 1100
    assert {event["ph"] for event in trace["traceEvents"]} >= {"M", "B", "E", "C"}


def test_a_timeline_can_be_compressed(folder: Path) -> None:
    for name in ("trace.json", "trace.json.gz", "again.json.gz"):
        run_ok("timeline", STUDY, "-o", name, cwd=folder)
    compressed = (folder / "trace.json.gz").read_bytes()
    assert gzip.decompress(compressed) == (folder / "trace.json").read_bytes()
    assert compressed == (folder / "again.json.gz").read_bytes()


@pytest.mark.parametrize("options", [(), ("memory_cap=4GB",), ("--no-memory-cap",)])
def test_the_timeline_is_of_the_point_that_is_explained(folder: Path, options: tuple[str, ...]) -> None:
    explained = json.loads(run_ok("explain", STUDY, "--json", "--no-switches", *options, cwd=folder).out)
    assert explained["key"] in run_ok("timeline", STUDY, *options, cwd=folder).out


@pytest.mark.parametrize(
    ("verb", "arguments", "message"),
    [
        ("explain", ("results/nowhere",), "is not a study"),
        ("explain", (STUDY, "point=zz"), "key 'zz' is not one of 4 to 32 hexadecimal digits"),
        ("explain", (STUDY, "memory_cap=4"), "has no unit"),
        ("timeline", (STUDY, "classes=a"), "classes is 'a'; it must be numbers such as 0,1"),
        ("timeline", (STUDY, "classes=7"), "class"),
        ("timeline", (STUDY, "max_events=1"), "max_events is 1; it must be at least"),
        ("timeline", (STUDY, "point=abcd", "memory_cap=4GB"), "so a memory cap has no effect"),
        ("timeline", (STUDY, "group=1"), "group 1 does not exist; groups are 0: llama70b on system1"),
        ("explain", (STUDY, "group=1"), "group 1 does not exist; groups are 0: llama70b on system1"),
        ("explain", (STUDY, "group=0", "point=abcd"), "exclude each other; write one of them"),
        ("timeline", (STUDY, "-o", "nowhere/trace.json"), "cannot write nowhere/trace.json"),
    ],
)
def test_wrong_input_is_one_line(folder: Path, verb: str, arguments: tuple[str, ...], message: str) -> None:
    assert message in error_of(verb, *arguments, cwd=folder)


def test_a_study_without_a_point_that_is_ok_has_nothing_to_explain(tmp_path: Path) -> None:
    from study_rows import failed_row

    store = StudyStore.create(tmp_path)
    store.append([failed_row("failed", "no memory")])
    for command in (explain.main, timeline.main, sensitivity.main):
        with pytest.raises(InputError, match=r"no point of .* is ok; dse best counts the others"):
            command([str(tmp_path)])
