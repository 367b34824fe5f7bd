"""Sweeps over clusters: the memory of the accelerator is the cap where nobody chose one."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml
from command_lines import run_dse, run_ok

from dse.answers.reports.commands import Commands
from dse.base.files import conf_folder
from dse.studies.store import StudyStore, as_rows
from dse.studies.store.history import sweep_caps

STUDY = "results/study"
SWEEP = ("system=dgx_h100", "system.nodes=2", "model=tiny", "space.sp=[1]", "study=study")
SMALL, LARGE = 60_000_000, 100_000_000  # the best strategy of tiny needs 148 MB


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep over two accelerators whose memories bind."""
    folder = tmp_path_factory.mktemp("clusters")
    text = (conf_folder() / "accelerator" / "h200.yaml").read_text()
    for name, size in (("small", SMALL), ("large", LARGE)):
        own = text.replace("name: h200", f"name: {name}").replace("memory_reserve: 700MiB\n", "")
        own = own.replace("memory: 143771MiB", f"memory: {size}B")
        (folder / f"{name}.yaml").write_text(own)
    run_ok("sweep", *SWEEP, "space.axes={system.accelerator:[./small.yaml,./large.yaml]}", cwd=folder)
    return folder


def test_each_accelerator_has_its_own_memory_as_the_cap(folder: Path) -> None:
    found = json.loads(run_ok("best", STUDY, "--json", cwd=folder).out)
    assert [entry["memory_cap_bytes"] for entry in found] == [LARGE, SMALL]
    for entry in found:
        best = entry["best_under_cap"]
        assert best["peak_memory_bytes"] <= entry["memory_cap_bytes"] < entry["best"]["peak_memory_bytes"]
    large, small = found
    assert large["best_under_cap"]["peak_memory_bytes"] > SMALL
    assert large["best_under_cap"]["wall_time_ns"] < small["best_under_cap"]["wall_time_ns"]


def test_the_table_against_the_accelerator_obeys_both_caps(folder: Path) -> None:
    lines = run_ok("best", STUDY, cwd=folder).out.splitlines()
    assert lines[1] == "  system.accelerator"
    assert "under the memory of each accelerator" in lines
    titles = [line for line in lines if line.startswith("tiny on")]
    assert [title.partition(", as STAGE")[0] for title in titles[1:]] == [
        "tiny on dgx_h100 (large), 16 NPUs",
        "tiny on dgx_h100 (small), 16 NPUs",
    ]


def test_another_cap_can_be_asked_for(folder: Path) -> None:
    found = json.loads(run_ok("best", STUDY, "memory_cap=70MB", "--json", cwd=folder).out)
    assert [entry["memory_cap_bytes"] for entry in found] == [70_000_000] * 2


def test_the_sweep_says_that_nobody_chose_a_cap(folder: Path) -> None:
    store = StudyStore(folder / STUDY)
    assert sweep_caps(store) == [None]
    text = yaml.safe_load(store.sweeps()[-1].read_text())
    assert text["configuration"]["memory_cap"] is None
    assert (
        json.loads(run_ok("status", STUDY, "--json", cwd=folder).out)["last_sweep"]["memory_cap_bytes"]
        is None
    )


def test_pruning_and_budgets_keep_the_best_under_the_cap_of_each_accelerator(folder: Path) -> None:
    axes = "space.axes={system.accelerator:[./small.yaml,./large.yaml]}"
    run_ok("sweep", *SWEEP[:-1], "study=pruned", axes, "search.prune=true", cwd=folder)
    keys = [
        [
            entry["best_under_cap"]["key"]
            for entry in json.loads(run_ok("best", study, "--json", cwd=folder).out)
        ]
        for study in (STUDY, "results/pruned")
    ]
    assert keys[0] == keys[1]


def test_a_page_shows_the_clusters_and_a_command_for_each(folder: Path) -> None:
    run_ok("report", STUDY, "-o", "page.html", cwd=folder)
    page = (folder / "page.html").read_text()
    assert "dgx_h100 (small), 16 NPUs" in page
    assert "carried over from h100_sxm: no measurements of this type" in page
    run_ok(
        "sweep", "system=dgx_h100", "system.nodes=4", "model=tiny", "space.sp=[1]", "study=four", cwd=folder
    )
    row = as_rows(StudyStore(folder / "results/four").read_table())[0]
    words = shlex.split(Commands().command(row))
    assert [word for word in words if word.startswith("system")] == ["system=dgx_h100", "system.nodes=4"]


ONE_NPU = (
    "system=dgx_h100",
    "system.nodes=1",
    "system.npus_per_node=1",
    "model=llama3_8b",
    "model.batch_size=8",
)


def test_a_single_npu_is_swept_and_has_all_of_the_batch(tmp_path: Path) -> None:
    said = run_ok("sweep", *ONE_NPU, "study=study", cwd=tmp_path).out
    assert said.startswith("llama3_8b on dgx_h100 (h100_sxm), 1 NPU, predicted on hardware")
    rows = as_rows(StudyStore(tmp_path / STUDY).read_table())
    assert {(row.npus, row.dp, row.tp, row.pp, row.status) for row in rows} == {(1, 1, 1, 1, "ok")}
    assert {row.exposed_comm_ns for row in rows} == {0}
    assert {row.micro_batch for row in rows} == {1, 2, 4, 8}


def test_a_single_npu_has_no_network_to_simulate_or_schedule(tmp_path: Path) -> None:
    stage = run_dse("point", *ONE_NPU, "model.fidelity=stage", "strategy.dp=1", cwd=tmp_path)
    assert (stage.code, stage.err) == (
        2,
        "error: system dgx_h100 has 1 NPU, and a simulated network at least 2; model.fidelity=realistic "
        "predicts a step of one\n",
    )
    schedule = run_dse("synthesize", *ONE_NPU[:3], "collective=all_reduce", cwd=tmp_path)
    assert (schedule.code, schedule.err) == (
        2,
        "error: system dgx_h100 has 1 NPU; links are between at least 2\n",
    )
