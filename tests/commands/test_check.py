"""`dse check`: configurations judged, predicted and repaired, with exit codes for schedulers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import error_of, run_dse, run_ok

SCRIPT = """#!/bin/bash
# A job of 8 nodes.
GPUS_PER_NODE=8
NODES=${NODES:-8}
TP=${1:-2}
PARALLEL=(
    --tensor-model-parallel-size $TP
    --sequence-parallel
    --use-distributed-optimizer
    --overlap-grad-reduce --overlap-param-gather
)
torchrun --nnodes $NODES --nproc_per_node $GPUS_PER_NODE pretrain_gpt.py \\
    "${PARALLEL[@]}" \\
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\
    --group-query-attention --num-query-groups 8 --ffn-hidden-size 14336 --swiglu \\
    --seq-length 8192 --max-position-embeddings 8192 --vocab-size 128256 \\
    --untie-embeddings-and-output-weights --disable-bias-linear --normalization RMSNorm \\
    --position-embedding-type rope --attention-dropout 0 --hidden-dropout 0 \\
    --micro-batch-size 1 --global-batch-size 512 --bf16 \\
    --data-path $DATA --tokenizer-model $TOKENIZER --train-iters 100 --lr 1e-4
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.sh"
    path.write_text(SCRIPT)
    return path


def test_a_script_that_fits_is_predicted_as_the_point_is(tmp_path: Path, script: Path) -> None:
    done = run_ok("check", script, "system=dgx_h100", "--json", cwd=tmp_path)
    found = json.loads(done.out)
    keys = ("system=dgx_h100", "system.nodes=8", "model=llama3_8b", "strategy.dp=32", "strategy.tp=2")
    point = run_ok("point", *keys, "strategy.sequence_parallel=true", "format=json", cwd=tmp_path)
    assert found["status"] == "fits"
    assert round(found["step_s"] * 1e9) == json.loads(point.out)["wall_time_ns"]
    assert found["plan"]["dp"] == 32
    assert found["binds"] == "matrix_products"
    assert found["kept"]["--lr"] == 1e-4
    assert found["step_low_s"] < found["step_s"] < found["step_high_s"]


def test_the_three_changes_are_faster_legal_and_named_by_flags(tmp_path: Path, script: Path) -> None:
    found = json.loads(run_ok("check", script, "system=dgx_h100", "--json", cwd=tmp_path).out)
    assert len(found["changes"]) == 3
    for change in found["changes"]:
        assert change["step_s"] < found["step_s"]
        assert change["memory"] == "fits"
        options = {key: value["to"] for key, value in change["settings"].items()}
        words = [text for key, value in options.items() for text in _words(key, value)]
        assert all(key.startswith("--") for key in options)
        base = [word for word in SCRIPT.split("pretrain_gpt.py")[1].split() if word != "\\"]
        del base[0]
        parallel = ["--tensor-model-parallel-size", "2", "--sequence-parallel"]
        parallel += ["--use-distributed-optimizer", "--overlap-grad-reduce", "--overlap-param-gather"]
        dropped = [key for key, value in options.items() if value is None]
        kept = _without([*parallel, *base], [*options, *dropped])
        rerun = run_ok(
            "check",
            "system=dgx_h100",
            "npus=64",
            "--json",
            "--",
            "pretrain_gpt.py",
            *kept,
            *words,
            cwd=tmp_path,
        )
        assert json.loads(rerun.out)["step_s"] == pytest.approx(change["step_s"], rel=1e-12)


def _words(key: str, value: object) -> list[str]:
    if value in (None, False):
        return []
    return [key] if value is True else [key, *(map(str, value) if isinstance(value, list) else [str(value)])]


def _without(words: list[str], options: list[str]) -> list[str]:
    found, skips = [], False
    for word in words:
        if word.startswith("--"):
            skips = word in options
        if not skips:
            found.append(word)
    return found


def test_an_illegal_script_exits_with_1_and_names_the_rule(tmp_path: Path, script: Path) -> None:
    done = run_dse("check", script, "3", cwd=tmp_path)
    assert done.code == 1
    assert "illegal M2: 32 attention heads are no multiple of tp, 3" in done.out
    assert "legal is --tensor-model-parallel-size 2 or 4" in done.out


def test_a_job_that_does_not_fit_exits_with_3_and_says_what_would_help(tmp_path: Path, script: Path) -> None:
    script.write_text(SCRIPT.replace("--micro-batch-size 1", "--micro-batch-size 16"))
    done = run_dse("check", script, "system=dgx_h100", "--json", cwd=tmp_path)
    found = json.loads(done.out)
    assert (done.code, found["status"]) == (3, "does not fit")
    assert found["peak_memory_bytes"] > found["memory_bytes"]
    assert {change["memory"] for change in found["changes"]} <= {"fits", "may fit"}


def test_without_a_cluster_only_the_rules_are_checked(tmp_path: Path, script: Path) -> None:
    done = run_ok("check", script, cwd=tmp_path)
    assert done.out.startswith("legal: ")
    assert "no cluster is named: write system=NAME or gpu=NAME" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "nothing to check: give a FILE, or a command line of a framework behind --"),
        (("missing.sh",), "missing.sh"),
        (("train.sh", "system=dgx"), "system is 'dgx', which is unknown"),
        (("train.sh", "system=dgx_h100", "gpu=h100"), "gpu"),
        (("train.sh", "npus=32"), "npus is 32, but"),
        (("train.sh", "set=NODES"), "set has 'NODES'; it must be NAME=VALUE"),
        (("train.sh", "framework=megatron"), "megatron"),
        (("--", "pretrain_gpt.py"), "'pretrain_gpt.py' is no file, and has no options to check"),
        (("--", "pretrain_gpt.py", "--tensor-parallel-size", "8"), "--tensor-model-parallel-size"),
    ],
)
def test_wrong_input_is_one_line(tmp_path: Path, script: Path, words: tuple[str, ...], message: str) -> None:
    assert message in error_of("check", *words, cwd=script.parent)
    assert tmp_path == script.parent


def test_a_script_is_read_and_never_run(tmp_path: Path) -> None:
    path = tmp_path / "evil.sh"
    path.write_text(f"touch {tmp_path}/made\nX=$(touch {tmp_path}/made)\n{SCRIPT}")
    run_dse("check", path, cwd=tmp_path)
    assert not (tmp_path / "made").exists()
