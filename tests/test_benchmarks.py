"""`python -m benchmarks` runs and writes what it promises; how long anything takes is not tested."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from builders import TINY
from commands import astra_log

from dse.config import compose_config
from dse.simulators import NativeSimulator
from dse.strategies import Strategy
from dse.workloads import generate

ROOT = Path(__file__).parents[1]
SECTIONS = (
    *("lab", "general", "study", "scale", "paths", "sharing", "congestion"),
    *("executors", "throughput", "million", "search"),
)


def bench(out: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    without = {key: value for key, value in os.environ.items() if key not in ("ASTRA_SIM_BIN", "STAGE_DIR")}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--out", str(out), *arguments],
        cwd=ROOT,
        env=without | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def astra_sim(folder: Path, *, finish_later_by: int = 0) -> Path:
    """A program that looks for its inputs and prints ASTRA-sim's report of the quick point."""
    point = generate(TINY, Strategy(dp=4, sp=4))
    outcome = NativeSimulator().simulate(point, compose_config(["system=torus_4x4", "model=tiny"]).system)
    ranks = []
    for rank in range(outcome.rank_count):
        metrics = outcome.rank(rank)
        assert metrics is not None
        ranks.append((rank, {**asdict(metrics), "finish_ns": metrics.finish_ns + finish_later_by}))
    log = folder / "printed.log"
    log.write_text(astra_log(ranks))
    program = folder / "AstraSim"
    program.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        "options = dict(text.split('=') for text in sys.argv[1:])\n"
        "trace = options.pop('--workload-configuration')\n"
        "assert pathlib.Path(trace + '.15.et').exists()\n"
        "assert all(pathlib.Path(name).exists() for name in options.values()) and len(options) == 4\n"
        f"print(open({str(log)!r}).read())\n"
    )
    program.chmod(0o755)
    return program


def stage(folder: Path) -> Path:
    """A checkout whose program wants the options of STAGE."""
    (folder / "main.py").write_text(
        "import pathlib, sys\n"
        "options = dict(zip(sys.argv[1::2], sys.argv[2::2]))\n"
        "assert options['--dp'] == '4' and options['--num_stacks'] == '4'\n"
        "pathlib.Path(options['--output_dir'], 'trace.0.et').write_bytes(b'')\n"
    )
    return folder


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


def test_both_methods_agree_on_every_rank_of_the_twin(results: Path) -> None:
    rows = pq.read_table(results / "scale.parquet").to_pylist()
    twins = [row for row in rows if row["kind"] == "twin"]
    assert [(row["engine"], row["path"], row["equal_ranks"]) for row in twins] == [
        ("auto", "by classes", None),
        ("general", "the general engine was asked for", 16),
    ]
    assert all(row["peak_bytes"] > row["start_bytes"] > 2**20 for row in twins)


def test_a_study_is_swept_resumed_and_asked(results: Path) -> None:
    rows = pq.read_table(results / "million.parquet").to_pylist()
    assert [row["name"] for row in rows] == ["sweep", "resume, nothing to do", "best"]
    assert all(row["points"] == 2 * 336 and row["peak_bytes"] > 2**20 for row in rows)


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


def test_the_references_run_side_by_side(tmp_path: Path) -> None:
    names = {"ASTRA_SIM_BIN": str(astra_sim(tmp_path)), "STAGE_DIR": str(stage(tmp_path))}
    done = bench(tmp_path / "out", "--only", "side_by_side", "--no-plots", **names)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    rows = pq.read_table(tmp_path / "out" / "side_by_side.parquet").to_pylist()
    assert [(row["reference"], row["equal_figures"]) for row in rows] == [("STAGE", None), ("ASTRA-sim", 80)]
    assert all(row["ratio"] > 0 for row in rows)


def test_a_reference_that_disagrees_or_fails_is_noted_and_measures_nothing(tmp_path: Path) -> None:
    names = {"ASTRA_SIM_BIN": str(astra_sim(tmp_path, finish_later_by=1)), "STAGE_DIR": str(tmp_path)}
    done = bench(tmp_path / "out", "--only", "side_by_side", "--no-plots", **names)
    assert done.returncode == 0
    assert "note: ASTRA_SIM_BIN: rank 0, finish_ns: " in done.stderr
    assert "note: STAGE_DIR: no main.py in the checkout" in done.stderr
    assert not (tmp_path / "out").exists()
