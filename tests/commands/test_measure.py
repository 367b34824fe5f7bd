"""The command `dse measure`: figures of logs, rows that `dse accuracy` and `dse calibrate` take, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import log_samples
import pytest
from command_lines import error_of, run_ok

JOB = ("model=llama3_8b", "gpu=h100_sxm", "gpus=8", "seq=8192", "tp=1", "pp=1", "zero=3", "precision=bf16")
TITAN = (*JOB, "gbs=8", "mbs=1", "recompute=none", "attention=flash")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "titan.log").write_text(log_samples.torchtitan(colours=True, ranks=2))
    (tmp_path / "megatron.log").write_text(log_samples.megatron_lm())
    return tmp_path


def test_logs_alone_tell_their_figures(folder: Path) -> None:
    done = run_ok("measure", "titan.log", "megatron.log", cwd=folder)
    assert done.out.splitlines() == [
        "titan.log: torchtitan, 4 steps; 1,973 (1,904 to 2,047) tokens/s/GPU; 314.71 (314.71 to 314.71) "
        "TFLOP/s/GPU; 66 GiB at most",
        "megatron.log: megatron-lm, 4 steps; 4.15 (4 to 4.3) s a step; 241 (232.6 to 250) TFLOP/s/GPU; "
        "40.5 GiB at most",
    ]
    assert "note: titan.log: 2 steps left out, the first 2 of each start" in done.err


def test_accuracy_takes_the_rows(folder: Path) -> None:
    done = run_ok("measure", "titan.log", *TITAN, "out=rows.csv", cwd=folder)
    assert "; 4.1521 s a step; " in done.out
    data = json.loads(run_ok("accuracy", "rows.csv", "--json", cwd=folder).out)
    (row,) = data["rows"]
    assert (row["id"], row["source"], row["reason"]) == ("titan", "torchtitan", "")
    assert row["measured_s"] == pytest.approx(8192 / 1973)
    assert row["predicted_s"] > 0
    assert data["sources"][0]["memory_rows"] == 1


def test_calibrate_takes_the_rows_of_three_logs(folder: Path) -> None:
    names = [f"titan{number}.log" for number in range(3)]
    for name in names:
        (folder / name).write_text(log_samples.torchtitan())
    run_ok("measure", *names, *TITAN, "out=rows.csv", cwd=folder)
    options = ("accelerator=h100_sxm", "constants=matrix", "-o", "mine.yaml")
    done = run_ok("calibrate", "rows.csv", *options, cwd=folder)
    assert "h100_sxm" in done.out
    assert (folder / "mine.yaml").exists()


def test_json_has_figures_and_row(folder: Path) -> None:
    data = json.loads(run_ok("measure", "titan.log", *TITAN, "--json", cwd=folder).out)
    assert data["tokens_s_gpu"] == {"median": 1973.0, "low": 1904.0, "high": 2047.0}
    assert (data["seconds"], data["left_out"], data["row"]["dp"], data["row"]["layers"]) == (None, 2, 8, 32)
    assert json.loads(run_ok("measure", "titan.log", "--json", cwd=folder).out)["row"] is None


def test_logs_of_one_job_are_rows_with_ids_of_their_own(folder: Path) -> None:
    (folder / "second").mkdir()
    (folder / "second" / "megatron.log").write_text(log_samples.megatron_lm())
    line = ("measure", "megatron.log", "second/megatron.log", *JOB, "out=rows.csv")
    run_ok(*line, cwd=folder)
    rows = (folder / "rows.csv").read_text().splitlines()
    assert [row.partition(",")[0] for row in rows] == ["id", "megatron.log", "second/megatron.log"]


SCRIPT = """#!/bin/bash
: "${DATA_PATH:?the data}"
torchrun --nnodes 1 --nproc-per-node 8 pretrain_gpt.py \\
    --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --swiglu --num-attention-heads 32 \\
    --group-query-attention --num-query-groups 8 --normalization RMSNorm --disable-bias-linear \\
    --position-embedding-type rope --untie-embeddings-and-output-weights --vocab-size 128256 \\
    --attention-dropout 0 --hidden-dropout 0 --seq-length 8192 --max-position-embeddings 8192 \\
    --micro-batch-size 1 --global-batch-size 128 --tensor-model-parallel-size 4 --sequence-parallel --bf16 \\
    --use-distributed-optimizer --overlap-grad-reduce --data-path "${DATA_PATH}"
"""


def test_a_configuration_tells_the_columns(folder: Path) -> None:
    """And the row is predicted as dse check predicts the configuration."""
    (folder / "train.sh").write_text(SCRIPT)
    line = ("megatron.log", "config=train.sh", "set=DATA_PATH=x")
    run_ok("measure", *line, "gpu=h100_sxm", "out=rows.csv", cwd=folder)
    (row,) = json.loads(run_ok("accuracy", "rows.csv", "--json", cwd=folder).out)["rows"]
    check = run_ok("check", "train.sh", "set=DATA_PATH=x", "gpu=h100_sxm", "--json", cwd=folder)
    assert row["measured_s"] == 4.15
    assert row["predicted_s"] == pytest.approx(json.loads(check.out)["step_s"], rel=1e-3)
    wrong = error_of("measure", *line, "gpu=h100_sxm", "tp=2", cwd=folder)
    assert wrong == "tp is 2, but the configuration says 4: leave tp out, or change the configuration"
    assert "megatron.log: gpu missing: give gpu=…" in error_of("measure", *line, cwd=folder)
    (folder / "broken.sh").write_text(SCRIPT.replace("parallel-size 4", "parallel-size 3"))
    broken = error_of("measure", "megatron.log", "config=broken.sh", "set=DATA_PATH=x", cwd=folder)
    assert broken == "broken.sh: says no whole job: it is illegal"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("titan.log", "set=A=1"), "set is for variables of config=…; give both"),
        ((), "LOG is missing; write dse measure LOG"),
        (("absent.log",), "absent.log: cannot be read"),
        (
            ("titan.log", "gpus=8"),
            "titan.log: layers, hidden, heads, seq, gpu, gbs, tp, pp missing: give layers=…",
        ),
        (
            ("titan.log", "out=rows.csv"),
            "titan.log: layers, hidden, heads, seq, gpu, gpus, gbs, tp, pp missing",
        ),
        (("titan.log", "gpus=eight"), "gpus: 'eight' is not allowed; it must be an integer from 1"),
        (("titan.log", "zero=4"), "zero: '4' is not allowed; it must be an integer from 0 to 3"),
        (("titan.log", "gpu_s=8"), "unknown key gpu_s; allowed are out, framework, config"),
        (("titan.log", "framework=nemo"), "as logs of nemo do"),
        (("titan.log", "model=llama4711"), "model is 'llama4711', which conf/model lacks"),
        (("titan.log", "out=absent/rows.csv"), "the folder absent does not exist"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, words: tuple[str, ...], message: str) -> None:
    assert message in error_of("measure", *words, cwd=folder)
    assert not (folder / "rows.csv").exists()
