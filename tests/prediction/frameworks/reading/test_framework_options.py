"""Options of frameworks on command lines: values, kinds, and which framework they are for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.prediction.frameworks.reading import read_document
from dse.prediction.frameworks.reading.options import megatron_options

_FLAGS = Path(__file__).parents[5] / "shared" / "golden" / "launch" / "megatron_flags.json"


def read(line: str, framework: str = "") -> tuple[str, dict[str, Any]]:
    document = read_document(line.split(" "), framework)
    return document.framework, dict(document.settings)


@pytest.mark.skipif(not _FLAGS.is_file(), reason=f"{_FLAGS} is not here")
def test_the_table_has_every_option_of_the_parser() -> None:
    facts = {name: row for name, row in json.loads(_FLAGS.read_text()).items() if row[0] != "help"}
    assert {
        name: [*option[:2], list(option.choices) or None] for name, option in megatron_options().items()
    } == facts


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        (
            "pretrain_gpt.py --num-layers 32 --bf16 --lr 3e-4",
            {"--num-layers": 32, "--bf16": True, "--lr": 3e-4},
        ),
        ("--seq-length=4096 --init-method-std=0.02", {"--seq-length": 4096, "--init-method-std": 0.02}),
        ("--cp-comm-type p2p a2a --seed -1", {"--cp-comm-type": ["p2p", "a2a"], "--seed": -1}),
        ("--cp-comm-type a2a", {"--cp-comm-type": "a2a"}),
        ("--recompute-modules core_attn mlp", {"--recompute-modules": ["core_attn", "mlp"]}),
        ("--attention-backend flash", {"--attention-backend": "flash"}),
        ("--cuda-graph-impl none", {"--cuda-graph-impl": "none"}),
        ("--data-path 0.5 a 0.5 b", {"--data-path": [0.5, "a", 0.5, "b"]}),
        ("--num-layers 2 --num-layers 4", {"--num-layers": 4}),
        (
            "--recompute-activations --use-cpu-initialization",
            {"--recompute-activations": True, "--use-cpu-initialization": True},
        ),
        (
            "--checkpoint-activations --DDP-impl local --batch-size 4",
            {"--checkpoint-activations": True, "--DDP-impl": "local", "--batch-size": 4},
        ),
        (
            "--activations-checkpoint-method uniform --num-layers 4",
            {"--activations-checkpoint-method": "uniform", "--num-layers": 4},
        ),
        ("--moe-layer-freq ([0]*3+[1]*58)", {"--moe-layer-freq": "([0]*3+[1]*58)"}),
    ],
)
def test_options_of_megatron(line: str, settings: dict[str, Any]) -> None:
    assert read(line) == ("megatron-lm", settings)


def test_old_options_are_noted() -> None:
    notes = read_document(["--activations-checkpoint-method", "uniform", "--num-layers", "4"]).notes
    assert notes == (
        "--activations-checkpoint-method is read though it is no option of today (2021: all of a layer is "
        "recomputed; now --recompute-granularity full)",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "--tensor-model-paralel-size 4 --bf16",
            "--tensor-model-paralel-size is no option of Megatron-LM; did you mean "
            "'--tensor-model-parallel-size'?",
        ),
        (
            "--tensor-model-parallel 4 --num-layers 2",
            "--tensor-model-parallel is no option of Megatron-LM; did you mean",
        ),
        (
            "--recompute-granularity ful",
            "--recompute-granularity is 'ful'; did you mean 'full'? Allowed are full, selective",
        ),
        ("--num-layers 4 --recompute-method", "--recompute-method needs a value; allowed are uniform, block"),
        ("--num-layers 4 --hidden-size", "--hidden-size needs a value"),
        ("--num-layers 4 --bf16 true", "'true' stands after --bf16, which is a flag"),
        ("--tensor-model-parallel-size 4 8", "'8' stands after --tensor-model-parallel-size 4"),
        ("pretrain_gpt.py x --num-layers 4", "'x' stands before the first option"),
    ],
)
def test_what_megatron_would_refuse_is_refused(line: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read(line)
    assert f"the command line: {message}" in str(refused.value)


@pytest.mark.parametrize(
    ("line", "framework", "settings"),
    [
        (
            "--module llama3 --config llama3_8b --parallelism.tensor-parallel-degree 4",
            "torchtitan",
            {"module": "llama3", "config": "llama3_8b", "parallelism.tensor_parallel_degree": 4},
        ),
        (
            "torchrun --nproc-per-node 8 -m torchtitan.train --training.seq_len=8192 "
            "--compile.no-enable --compile.x",
            "torchtitan",
            {"training.seq_len": 8192, "compile.enable": False, "compile.x": True},
        ),
        (
            "--config llama3_8b activation-checkpoint:selective --training.steps None",
            "torchtitan",
            {"config": "llama3_8b", "activation_checkpoint": "selective", "training.steps": None},
        ),
        (
            "python -m maxtext.train base.yml model_name=llama3-8b "
            "ici_fsdp_parallelism=-1 per_device_batch_size=2.5",
            "maxtext",
            {"model_name": "llama3-8b", "ici_fsdp_parallelism": -1, "per_device_batch_size": 2.5},
        ),
        (
            "x.py per_device_batch_size=4 scan_layers: False max_target_length=2048",
            "maxtext",
            {"per_device_batch_size": 4, "scan_layers": False, "max_target_length": 2048},
        ),
        (
            "run.py --recipe r_pretrain_config model.tensor_model_parallel_size=4 +model.foo=null ~ddp.x",
            "megatron-bridge",
            {"model.tensor_model_parallel_size": 4, "model.foo": None, "ddp.x": None},
        ),
        (
            "model.recompute_modules=[core_attn,2,'x'] train.micro_batch_size=two "
            "model.sequence_parallel=true",
            "megatron-bridge",
            {
                "model.recompute_modules": ["core_attn", 2, "x"],
                "train.micro_batch_size": "two",
                "model.sequence_parallel": True,
            },
        ),
        (
            "t.py --per_device_train_batch_size 2 --bf16 True --gradient_checkpointing --fsdp full_shard",
            "accelerate",
            {
                "--per_device_train_batch_size": 2,
                "--bf16": True,
                "--gradient_checkpointing": True,
                "--fsdp": "full_shard",
            },
        ),
        (
            "accelerate launch --num_processes 8 --fsdp_version 2 --parallelism_config_tp_size 4 t.py --x 1",
            "accelerate",
            {"num_processes": 8, "fsdp_config.fsdp_version": 2, "parallelism_config.tp_size": 4, "--x": 1},
        ),
    ],
)
def test_options_of_others(line: str, framework: str, settings: dict[str, Any]) -> None:
    assert read(line) == (framework, settings)


def test_names_of_models_and_counts() -> None:
    line = "torchrun --nnodes 2 --nproc-per-node 8 -m torchtitan.train --module llama3 --config llama3_8b"
    document = read_document(line.split(" "))
    assert (document.model, document.npus, document.version) == ("llama3_8b", 16, "")
    assert read_document(["r.py", "--recipe=x_config", "train.micro_batch_size=1"]).model == "x_config"
    assert read_document(["per_device_batch_size=1", "model_name=mixtral-8x7b"]).model == "mixtral-8x7b"
    assert read_document(["--fsdp", "full_shard", "--model_name_or_path", "meta/x"]).model == "meta/x"


@pytest.mark.parametrize(
    ("words", "framework", "message"),
    [
        (
            ["--foo", "1"],
            "",
            "the command line: its framework is unclear: hardly any of its keys is known; write "
            "framework=NAME, one of "
            "megatron-lm, megatron-bridge, torchtitan, deepspeed, maxtext, accelerate",
        ),
        (
            ["--bf16"],
            "",
            "the command line: its framework is unclear: its keys fit megatron-lm and "
            "accelerate alike; write",
        ),
        (
            ["--bf16"],
            "megatron",
            "framework 'megatron' is unknown; did you mean 'megatron-lm'? Allowed are megatron-lm, ",
        ),
        ([], "", "nothing to read; write FILE, or the words of a command"),
        (["a\0b"], "", "holds NUL or half a character"),
        (["x"], "maxtext", "x: no such file; write a file of .sh, "),
        (["."], "maxtext", ".: is a folder; write a file of .sh, "),
        (["train.micro_batch_size=1", "x"], "", "'x' is no override; write key=value"),
        (["--config", "c", "--training.steps", "1", "-x"], "", "-x is no option of torchtitan"),
        (["t.py", "x", "--config", "c"], "", "'x' belongs to no option; write --section.key value"),
        (
            ["--config", "c", "activation-checkpoint:ful"],
            "",
            "activation-checkpoint:ful is unknown; did you mean 'full'?",
        ),
        (["model.x=[a", "train.y=1"], "", None),
        (["model.x=[a]]", "train.y=1"], "", "the command line: model.x: malformed YAML"),
    ],
)
def test_what_is_unclear_or_unknown_is_refused(words: list[str], framework: str, message: str | None) -> None:
    if message is None:
        assert read_document(words, framework).settings["model.x"] == "[a"
        return
    with pytest.raises(InputError) as refused:
        read_document(words, framework)
    assert message in str(refused.value)
