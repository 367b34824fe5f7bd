"""`python -m benchmarks` runs and writes what it promises; how long anything takes is not tested."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from chromium import found_chromium
from outside import astrasim_program, stage_checkout

from benchmarks.__main__ import RESULTS
from benchmarks.guide import PAGES, filled
from dse.answers.explorer import without_engine
from dse.answers.explorer.page import engine_file

ROOT = Path(__file__).parents[2]
SECTIONS = (
    *("lab", "cold", "general", "study", "scale", "paths", "sharing", "congestion"),
    *("executors", "throughput", "million", "search", "synthesis", "planning", "structure", "trace_files"),
)


def bench(out: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    named = ("ASTRA_SIM_BIN", "STAGE_DIR", "STAGE_ENTRY", "STAGE_PYTHON", "STAGE_SCRIPT")
    without = {key: value for key, value in os.environ.items() if key not in named}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--out", str(out), *arguments],
        cwd=ROOT,
        env=without | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results")
    done = bench(out, "--only", *SECTIONS)
    assert done.returncode == 0, done.stderr
    assert "all metrics equal" in done.stdout
    return out


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_is_readable_and_says_on_what_machine_it_was_measured(results: Path, section: str) -> None:
    table = pq.read_table(results / f"{section}.parquet")
    assert table.num_rows > 0
    metadata = table.schema.metadata
    facts = json.loads(metadata[b"machine"])
    assert {"cpu", "cores", "memory_gib", "os", "python", "compiler", "version"} <= set(facts)
    assert metadata[b"command"] == b"python -m benchmarks --quick"
    personal = (platform.node(), str(ROOT), str(Path.home()))
    assert not [value for value in facts.values() if any(text in str(value) for text in personal)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_measured_tables_of_a_page_are_those_of_the_results(page: Path) -> None:
    text = page.read_text()
    assert "<!-- measured: " in text
    assert filled(text, RESULTS) == text


def test_a_measured_table_has_the_day_and_the_machine(results: Path) -> None:
    page = "before\n<!-- measured: million -->\nold\n<!-- end of measured -->\nafter\n"
    lines = filled(page, results).splitlines()
    metadata = pq.read_schema(results / "million.parquet").metadata
    facts = json.loads(metadata[b"machine"])
    assert lines[:3] == [
        "before",
        "<!-- measured: million -->",
        "Command|Wall|CPU|Memory",
    ]
    day = metadata[b"date"].decode()
    assert lines[-3:] == [
        f"Measured on {day}: {facts['cpu']}, {facts['cores']} cores.",
        "<!-- end of measured -->",
        "after",
    ]
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", day)


def test_a_measured_table_stays_where_no_results_are(tmp_path: Path) -> None:
    page = "<!-- measured: million -->\nold\n<!-- end of measured -->\n"
    assert filled(page, tmp_path) == page


def test_a_cold_process_and_a_warm_one_are_measured_apart(results: Path) -> None:
    rows = pq.read_table(results / "cold.parquet").to_pylist()
    assert [(row["pp"], row["processes"]) for row in rows] == [(1, 1), (2, 1)]
    assert all(0 < row["cold_s"] == row["cold_max_s"] for row in rows)
    assert all(0 < row["warm_s"] <= row["warm_max_s"] for row in rows)


def test_both_methods_agree_on_every_rank_of_the_twin(results: Path) -> None:
    rows = pq.read_table(results / "scale.parquet").to_pylist()
    twins = [row for row in rows if row["kind"] == "twin"]
    assert [(row["engine"], row["path"], row["equal_ranks"]) for row in twins] == [
        ("auto", "by classes", None),
        ("general", "the general engine was asked for", 16),
    ]
    assert all(row["peak_bytes"] > row["start_bytes"] > 2**20 for row in twins)


@pytest.mark.skipif(engine_file() is None, reason="the engine for pages has not been built: make wasm")
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_engine_of_a_page_is_measured_beside_the_native_one(tmp_path: Path) -> None:
    done = bench(tmp_path, "--only", "wasm", "--no-plots")
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "wasm.parquet").to_pylist()
    assert [row["changed"] for row in rows] == ["model", "system"]
    assert all(row["points"] == 30 and row["page_s"] > 0 and row["native_s"] > 0 for row in rows)
    assert all(row["gzip_bytes"] < row["module_bytes"] for row in rows)
    assert "times native  (target 300 ms, 4)" in done.stdout


@pytest.mark.skipif(bool(without_engine()), reason=without_engine() or "-")
@pytest.mark.skipif(found_chromium() is None, reason="chromium is not installed")
def test_a_page_is_measured_in_a_browser(tmp_path: Path) -> None:
    done = bench(tmp_path, "--only", "page", "--no-plots")
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "page.parquet").to_pylist()
    assert [row["name"] for row in rows][-1] == "1,010 plans"
    assert rows[-1]["points"] == 1010
    for row in rows:
        assert 0 < row["usable_s"] <= row["points_s"]
        assert row["change_s"] > 0
        assert min(row[f"{part}_task_cpu_s"] for part in ("start", "use", "hands")) > 0
        assert 500_000 < row["page_bytes"] < 1_500_000
    assert "can be used after" in done.stdout


def test_a_study_is_swept_resumed_and_asked(results: Path) -> None:
    rows = pq.read_table(results / "million.parquet").to_pylist()
    assert [row["name"] for row in rows] == ["sweep", "resume, nothing to do", "best", "predicted sweep"]
    assert [row["points"] for row in rows[:3]] == [2 * 336] * 3
    assert rows[3]["points"] > 1000
    assert all(row["peak_bytes"] > 2**20 for row in rows)


def test_growing_networks_are_synthesised_and_drawn(results: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = pq.read_table(results / "synthesis.parquet").to_pylist()
    assert {(row["series"], row["npus"], row["sends"], row["gap_pct"]) for row in rows} == {
        ("torus by symmetry", 16, 240, 0.0),
        ("mesh by plain search", 16, 240, 0.0),
    }
    assert (results / "synthesis.png").stat().st_size > 10_000


def test_walks_over_plans_are_counted_and_compared(results: Path) -> None:
    rows = [
        row for row in pq.read_table(results / "planning.parquet").to_pylist() if row["count"] is not None
    ]
    assert [(row["planner"], row["count"], row["plans"]) for row in rows] == [
        ("metis", 612, 206),
        ("metis-strat", 562, 183),
    ]
    assert all(row["ratio"] > 0 and row["best_ms"] == 1795.4520359635353 for row in rows)


def test_agreements_of_steps_with_the_engine_are_stored(results: Path) -> None:
    """They come after rows that have no such columns."""
    rows = pq.read_table(results / "structure.parquet").to_pylist()
    found = {row["name"]: row for row in rows if row["closed_equal"] is not None}
    random_steps, predicted = (
        next(row for name, row in found.items() if f"{what} steps" in name)
        for what in ("random", "predicted")
    )
    assert 0 < random_steps["preconditions_hold"] <= random_steps["closed_equal"]
    assert 0 < predicted["preconditions_hold"] == predicted["closed_equal"] == predicted["slot_equal"]
    assert predicted["largest_difference_pct"] < 2e-4


def test_optima_are_searched_exactly_with_and_without_mixed_stages(results: Path) -> None:
    rows = pq.read_table(results / "planning.parquet").to_pylist()
    exact = [row for row in rows if row["planner"] == "exact"]
    assert [(row["mixed"], row["best_ms"], row["plans"]) for row in exact] == [
        (True, 1795.4520359635353, 11),
        (False, 2345.625866869221, 451),
    ]
    assert all(row["search_s"] > 0 and row["plan_s"] > 0 and row["target_s"] == 0.005 for row in exact)


def test_every_sampler_finds_a_point_within_the_budgets(results: Path) -> None:
    rows = pq.read_table(results / "search.parquet").to_pylist()
    medians = [row for row in rows if row["seed"] is None]
    assert [row["sampler"] for row in medians] == ["random", "tpe", "nsga2"]
    assert all(row["evaluations"] == 8 and row["regret_pct"] >= 0 for row in medians)


def test_without_the_references_the_program_says_so(tmp_path: Path) -> None:
    done = bench(tmp_path, "--only", "side_by_side", "--no-plots")
    assert done.returncode == 0
    assert "ASTRA_SIM_BIN is not set" in done.stderr
    assert "STAGE_DIR is not set" in done.stderr
    assert not list(tmp_path.iterdir())


def side_by_side(folder: Path, astra_sim: str = "", stage: str = "tags", **environment: str) -> list[Any]:
    """Run the section with stand-ins of these variants; return its rows and what it says on stderr."""
    names = {
        "ASTRA_SIM_BIN": str(astrasim_program(folder, astra_sim)),
        "STAGE_DIR": str(stage_checkout(folder, stage, entry="generate.py")),
        "STAGE_ENTRY": "generate.py",
        "STAGE_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    done = bench(folder / "out", "--only", "side_by_side", "--no-plots", **names | environment)
    assert done.returncode == 0, done.stderr
    file = folder / "out" / "side_by_side.parquet"
    return [pq.read_table(file).to_pylist() if file.exists() else [], done.stderr]


def test_the_references_run_side_by_side(tmp_path: Path) -> None:
    rows, notes = side_by_side(tmp_path)
    assert notes == ""
    kinds = ((1, False), (2, False), (4, True))
    columns = ("pp", "weight_sharded", "reference", "equal_figures", "equal_traces")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        row  # 16 ranks; ten figures of each, the peak memory among them
        for kind in kinds
        for row in ((*kind, "STAGE", None, 16), (*kind, "ASTRA-sim", 160, None))
    ]
    assert all(row["ratio"] > 0 for row in rows)


def test_a_reference_that_disagrees_is_noted_and_measures_nothing(tmp_path: Path) -> None:
    rows, notes = side_by_side(tmp_path, "more", "bare")
    assert rows == []
    assert "note: ASTRA_SIM_BIN: dp4 tp1 sp4 pp1: rank 3, peak_memory_bytes: " in notes
    assert "note: STAGE_DIR: dp4 tp1 sp4 pp1: trace.0.et, node " in notes
    assert "no attribute inputs, outputs (a checkout writes inputs and outputs with " in notes


def test_what_fails_or_has_no_effect_is_noted(tmp_path: Path) -> None:
    rows, notes = side_by_side(tmp_path, "peakless", "modules", STAGE_ENTRY="main.py")
    assert {row["equal_figures"] for row in rows} == {144}
    assert "note: ASTRA_SIM_BIN: dp4 tp1 sp4 pp1: prints no peak memory of rank 0; not compared" in notes
    assert "note: STAGE_DIR: dp4 tp1 sp4 pp1: workload.entry is 'main.py'; " in notes
    (tmp_path / "again").mkdir()
    _, notes = side_by_side(tmp_path / "again", STAGE_SCRIPT="run.py")
    assert "STAGE_SCRIPT has no effect; write STAGE_ENTRY=run.py" in notes
