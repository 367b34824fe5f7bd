"""Commands on a study of predicted training plans: sweep, best, explain, timeline and the others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_lines import error_of, run_ok
from predicted_points import SMALL, TWO_NODES

from dse.studies.store import StudyRow, StudyStore, as_rows

STUDY = "results/plans"
SPACE = ("space.micro_batch=[1,2]", "space.recompute=[none,full]", "space.cp=[1]", "study=plans")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of plans for two nodes of 8 H100, with the memory of an H100 as the cap."""
    folder = tmp_path_factory.mktemp("plans")
    run_ok("sweep", *TWO_NODES, *SMALL, *SPACE, cwd=folder)
    return folder


def rows_of(folder: Path) -> list[StudyRow]:
    return as_rows(StudyStore(folder / STUDY).read_table())


def test_a_sweep_stores_every_plan_and_answers_under_the_memory_of_the_accelerator(folder: Path) -> None:
    rows = rows_of(folder)
    assert {row.status for row in rows} == {"ok"}
    assert len({row.label() for row in rows}) == len(rows) > 30
    out = run_ok("sweep", *TWO_NODES, *SMALL, *SPACE, cwd=folder).out
    assert "under 84.94 GB" in out
    assert re.search(r"predicted, not measured: plans within \d\.\d % of each other are ties", out)
    assert re.search(r"\n    80 %: [\d.]+ to [\d.]+ (m?s)\n", out)
    assert re.search(r"\nnote: 80 % of measured steps lie -\d+ to \+\d+ % from the predicted time: ", out)
    assert len(rows_of(folder)) == len(rows)  # a resume evaluates nothing


def test_the_best_is_the_fastest_that_fits_and_its_table_has_the_axes_that_vary(folder: Path) -> None:
    fitting = [row for row in rows_of(folder) if (row.peak_memory_bytes or 0) <= 84_943_044_608]
    fastest = min(fitting, key=lambda row: row.wall_time_ns or 0)
    best = json.loads(run_ok("best", STUDY, "--json", cwd=folder).out)["best_under_cap"]
    assert best["wall_time_ns"] == fastest.wall_time_ns
    assert best["micro_batch"] in (1, 2)
    heading = next(
        line for line in run_ok("best", STUDY, "top=40", cwd=folder).out.splitlines() if "wall time" in line
    )
    assert {"mb", "recompute", "seq."} <= set(heading.split())
    assert not {"offload", "order", "zero"} & set(heading.split())


def test_an_explanation_sums_and_names_changes_of_the_cluster(folder: Path) -> None:
    data = json.loads(run_ok("explain", STUDY, "--json", cwd=folder).out)
    row = next(row for row in rows_of(folder) if row.key == data["key"])
    assert data["wall_time_ns"] == row.wall_time_ns == sum(part["ns"] for part in data["breakdown"])
    assert sum(entry["bytes"] for entry in data["memory"]["categories"]) == row.peak_memory_bytes
    assert {part["part"] for part in data["breakdown"]} >= {"matrix_products", "attention", "pp_bubble", "dp"}
    keys = {switch["key"] for switch in data["switches"]} - {"memory_cap_bytes"}
    assert all(key.startswith(("system.accelerator.", "system.tiers.")) for key in keys)


def test_sensitivity_follows_the_accelerator_and_the_tiers(folder: Path) -> None:
    answer = run_ok("sensitivity", STUDY, "--no-switches", "--json", cwd=folder)
    varied = {entry["parameter"]: entry["elasticity"] for entry in json.loads(answer.out)["parameters"]}
    assert list(varied) == [
        "system.accelerator.peak_tflops.bf16",
        "system.accelerator.peak_tflops.fp8",
        "system.accelerator.memory_bandwidth_gbps",
        "system.tiers.0.bandwidth_gbps",
        "system.tiers.1.nic_gbit_per_s",
        "system.tiers.0.latency_us",
        "system.tiers.1.latency_us",
    ]
    assert -1 < varied["system.accelerator.peak_tflops.bf16"] < -0.4
    assert varied["system.accelerator.peak_tflops.fp8"] == 0


def test_a_timeline_shows_the_stages_of_a_pipeline(folder: Path) -> None:
    piped = next(row for row in rows_of(folder) if row.pp == 4 and row.chunks == 2)
    run_ok("timeline", STUDY, f"point={piped.key}", "-o", "pipeline.json", cwd=folder)
    events = json.loads((folder / "pipeline.json").read_text())["traceEvents"]
    stages = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert stages == {"stage 0", "stage 1", "stage 2", "stage 3"}
    assert max(event.get("ts", 0) for event in events) * 1000 == pytest.approx(piped.wall_time_ns, abs=2)


def test_a_report_has_the_parts_and_commands_that_evaluate_its_points(folder: Path) -> None:
    run_ok("report", STUDY, cwd=folder)
    page = (folder / "results/plans.html").read_text()
    assert "products with weights, in the forward and backward pass" in page
    assert (
        '"strategy_fields":["dp","tp","sp","pp","weight_sharded","activation_recompute","micro_batch",'
        in page
    )
    assert "system.accelerator" not in page.split("python -m dse point", 1)[1].split("strategy.dp", 1)[0]


def test_a_point_has_the_figures_of_its_row(folder: Path) -> None:
    row = next(row for row in rows_of(folder) if row.pp == 2 and row.schedule == "interleaved")
    strategy = [
        f"strategy.{name}={str(getattr(row, name)).lower()}"
        for name in (
            *("dp", "tp", "pp", "micro_batch", "schedule", "chunks", "sequence_parallel", "recompute"),
            *("zero", "stages", "overlap_tp", "framework"),
        )
    ]
    data = json.loads(run_ok("point", *TWO_NODES, *SMALL, *strategy, "format=json", cwd=folder).out)
    assert (data["wall_time_ns"], data["peak_memory_bytes"]) == (row.wall_time_ns, row.peak_memory_bytes)
    assert data["plan"]["chunks"] == row.chunks
    text = run_ok("point", *TWO_NODES, *SMALL, *strategy, cwd=folder).out
    assert "predicted on hardware (fidelity=realistic)" in text
    assert "matrix_products" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["strategy.dp=8"], "needs dp*tp*sp*pp = 8 NPUs, but system dgx_h100 has 16"),
        (
            ["strategy.dp=16", "strategy.schedule=1f2b"],
            "strategy.schedule is '1f2b'; it must be one of 1f1b, gpipe",
        ),
        (
            ["strategy.sp=16"],
            "strategy.sp is 16, which is STAGE's sequence parallelism; write strategy.cp=16",
        ),
        (
            ["strategy.dp=8", "strategy.cp=2", "model.fidelity=stage"],
            "strategy.cp=2: only the predictor knows that: use the system of a cluster",
        ),
        (["strategy.dp=16", "workload.divisibility=strict"], "workload.divisibility changes no prediction"),
    ],
)
def test_what_cannot_be_predicted_is_said_in_a_line(folder: Path, arguments: list[str], message: str) -> None:
    assert message in error_of("point", *TWO_NODES, *SMALL, *arguments, cwd=folder)
