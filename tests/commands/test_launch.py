"""`dse launch`: the files of a framework, which `dse check` reads as the same job."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from command_lines import error_of, run_dse, run_ok

POINT = ("system=dgx_h100", "system.nodes=2", "model=llama3_8b", "model.batch_size=64")


@pytest.mark.parametrize("launcher", ["torchrun", "slurm", "kubernetes"])
def test_a_point_is_written_and_checked_as_the_same_step(tmp_path: Path, launcher: str) -> None:
    strategy = ("strategy.dp=4", "strategy.tp=2", "strategy.pp=2", "strategy.sequence_parallel=true")
    words = (*POINT, *strategy, "framework=megatron-lm", f"launcher={launcher}", "-o", "job", "name=it")
    done = run_ok("launch", *words, cwd=tmp_path)
    point = json.loads(run_ok("point", *POINT, *strategy, "format=json", cwd=tmp_path).out)
    scripts = [path for path in map(Path, done.out.split()) if path.suffix in (".sh", ".sbatch")]
    for path in scripts:
        if shutil.which("bash"):
            subprocess.run(["bash", "-n", tmp_path / path], check=True)
        check = json.loads(run_ok("check", path, "system=dgx_h100", "--json", cwd=tmp_path).out)
        assert round(check["step_s"] * 1e9) == point["wall_time_ns"]
        assert check["npus"] == 16
    assert len(scripts) == {"torchrun": 1, "slurm": 2, "kubernetes": 0}[launcher]


def test_the_best_point_of_a_study_is_launched(tmp_path: Path) -> None:
    run_ok("sweep", *POINT, "study=s", "space.launchable=megatron-bridge", cwd=tmp_path)
    words = ("framework=megatron-bridge", "--json", "-o", "job")
    done = run_ok("launch", "results/s", *words, cwd=tmp_path)
    launch = json.loads(done.out)
    assert {path.name: path.read_text() for path in (tmp_path / "job").iterdir()} == launch["files"]
    settings = launch["settings"]
    best = json.loads(run_ok("best", "results/s", "--json", cwd=tmp_path).out)
    assert settings["train.global_batch_size"] == 64
    assert f"{best['best_under_cap']['wall_time_ns'] / 1e9:.4g} s predicted" in done.err


def test_a_plan_for_equal_stages_is_launched(tmp_path: Path) -> None:
    words = ("cluster=h100_a100", "model=llama3_8b", "gbs=128", "launchable=megatron-lm")
    run_ok("plan", *words, "-o", "plan.json", cwd=tmp_path)
    plan = json.loads((tmp_path / "plan.json").read_text())["best"]
    done = run_ok("launch", "plan.json", "framework=megatron-lm", "--json", cwd=tmp_path)
    settings = json.loads(done.out)["settings"]
    assert settings["--pipeline-model-parallel-size"] == len(plan["groups"])
    assert settings["--pipeline-model-parallel-layout"].count("t") == 32
    assert f"{plan['cost_ms'] / 1e3:.4g} s predicted" in done.err


def test_a_schedule_that_a_framework_lacks_is_refused_with_the_cost_of_the_nearest(tmp_path: Path) -> None:
    words = (*POINT, "strategy.dp=8", "strategy.pp=2", "strategy.schedule=zb-h1", "framework=megatron-lm")
    message = error_of("launch", *words, cwd=tmp_path)
    assert "schedule=zb-h1: Megatron runs 1f1b and interleaved; the nearest is schedule=1f1b" in message
    assert "% slower" in message
    assert message.endswith("write nearest=true for it")
    done = run_ok("launch", *words, "nearest=true", cwd=tmp_path)
    assert "schedule=1f1b instead of zb-h1" in done.err


def test_another_order_of_axes_gets_a_host_file(tmp_path: Path) -> None:
    order = ("strategy.sequence_parallel=true", "strategy.order=dp-tp-cp-ep-pp")
    words = (*POINT, "strategy.dp=8", "strategy.tp=2", *order, "framework=megatron-lm")
    run_ok("launch", *words, "launcher=slurm", "hosts=[a,b]", "name=it", "-o", "job", cwd=tmp_path)
    hosts = (tmp_path / "job" / "it.hosts").read_text().split()
    assert hosts == ["a", "b"] * 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("framework=megatron-lm",), "nothing to launch"),
        (POINT, "framework is missing"),
        ((*POINT, "framework=megatron"), "did you mean 'megatron-lm'"),
        (("results/none", "framework=megatron-lm"), "results/none"),
        (("system=system1", "model=llama70b", "framework=megatron-lm"), "is simulated, not predicted"),
        ((*POINT, "strategy.dp=16", "framework=megatron-lm", "launcher=mpi"), "launcher"),
    ],
)
def test_wrong_input_is_refused_in_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    assert message in error_of("launch", *words, cwd=tmp_path)


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "job").write_text("a file")
    words = (*POINT, "strategy.dp=16", "framework=megatron-lm", "-o", "job")
    assert run_dse("launch", *words, cwd=tmp_path).code == 2
    assert (tmp_path / "job").read_text() == "a file"


def test_a_model_that_a_framework_cannot_run_is_named_with_its_feature(tmp_path: Path) -> None:
    words = ("system=dgx_h100", "system.nodes=1", "model=gemma3_12b", "framework=megatron-lm")
    message = error_of("launch", *words, cwd=tmp_path)
    assert message.startswith("megatron-lm cannot run gemma3_12b on 8 NPUs of dgx_h100, as dp")
    assert "model.windows=set" in message
    assert "model.post_norms=set" in message


def test_gemma_is_launched_by_its_name_in_maxtext(tmp_path: Path) -> None:
    words = ("system=tpu_v5p_slice", "system.nodes=4", "model=gemma3_12b", "framework=maxtext")
    done = run_ok("launch", *words, "--json", cwd=tmp_path)
    assert json.loads(done.out)["settings"]["model_name"] == "gemma3-12b"
    assert "32 NPUs" in done.err
