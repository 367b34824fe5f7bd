"""Configuration files of frameworks as documents, and every configuration of the corpus in its own form."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from dse.base.errors import InputError
from dse.prediction.frameworks.reading import read_document
from dse.prediction.frameworks.reading.configurations import flattened

_CORPUS = Path(__file__).parents[5] / "shared" / "golden" / "launch" / "corpus.jsonl"
_ROWS = [json.loads(line) for line in _CORPUS.read_text().splitlines()] if _CORPUS.is_file() else []
_needs_corpus = pytest.mark.skipif(not _ROWS, reason=f"{_CORPUS} is not here")


def written(path: Path, text: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def nested(settings: dict[str, Any]) -> dict[str, Any]:
    """Keys with dots as groups."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        *groups, last = key.split(".")
        inner = found
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = value
    return found


def script_of(settings: dict[str, Any], gpus: int | None) -> str:
    """A script for bash with an array of options."""
    lines = ["#!/bin/bash", f"GPUS=${{GPUS:-{gpus or 8}}}", "NODES=$((GPUS / 8))", "ARGS=("]
    for key, value in settings.items():
        values = [] if value is True else value if isinstance(value, list) else [value]
        lines.append(f"    {key} {' '.join(shlex.quote(str(one)) for one in values)}  # an option")
    return "\n".join(
        [*lines, ")", "torchrun --nnodes $NODES --nproc-per-node 8 \\", '    train.py "${ARGS[@]}"', ""]
    )


def recipe_of(settings: dict[str, Any], name: str) -> str:
    lines = [f"    cfg.{key} = {value!r}" for key, value in settings.items()]
    return "\n".join([f"def {name}():", "    cfg = base()", *lines, "    return cfg", ""])


def registry_of(settings: dict[str, Any], name: str) -> str:
    """A function of torchtitan's registry: groups are calls of the classes of sections."""
    lines = []
    for section, value in nested(settings).items():
        if isinstance(value, dict):
            keywords = ", ".join(f"{key}={entry!r}" for key, entry in value.items())
            lines.append(f"        {section}={section.title().replace('_', '')}Config({keywords}),")
        elif section == "activation_checkpoint":
            lines.append(f"        {section}={value}(),")
        else:
            lines.append(f"        {section}={value!r},")
    return "\n".join([f"def {name}() -> Trainer.Config:", "    return Trainer.Config(", *lines, "    )", ""])


def file_of(row: dict[str, Any], settings: dict[str, Any], folder: Path) -> str:
    framework = row["framework"]
    if framework == "megatron-lm":
        return written(folder / "train.sh", script_of(settings, row["gpus"]))
    if framework == "deepspeed":
        return written(folder / "ds.json", "// of the user\n" + json.dumps(nested(settings), indent=1))
    if framework in ("maxtext", "accelerate"):
        return written(folder / "c.yaml", yaml.safe_dump(nested(settings)))
    form = recipe_of if framework == "megatron-bridge" else registry_of
    return written(folder / "r.py", form(settings, row["model"]))


@_needs_corpus
def test_the_corpus_is_whole() -> None:
    assert len(_ROWS) >= 143


@_needs_corpus
@pytest.mark.parametrize("framework", sorted({row["framework"] for row in _ROWS}))
def test_every_configuration_of_the_corpus_is_read_in_its_own_form(framework: str, tmp_path: Path) -> None:
    for row in (row for row in _ROWS if row["framework"] == framework):
        settings = flattened(row["flags"], "the row")
        document = read_document([file_of(row, settings, tmp_path)])
        assert dict(document.settings) == settings, row["id"]
        assert document.framework == framework, row["id"]
        if framework in ("megatron-lm", "accelerate"):
            assert document.npus == row["gpus"], row["id"]
        if framework in ("megatron-bridge", "torchtitan"):
            assert document.model == row["model"], row["id"]


@_needs_corpus
def test_records_of_configurations_are_read_as_they_are(tmp_path: Path) -> None:
    for row in _ROWS:
        document = read_document([written(tmp_path / "row.json", json.dumps(row))])
        assert (document.framework, document.version, document.model, document.npus) == (
            row["framework"],
            row["version"],
            row["model"],
            row["gpus"],
        )
        assert dict(document.settings) == flattened(row["flags"], "the row")


@_needs_corpus
def test_overrides_say_the_same_as_recipes() -> None:
    for row in (row for row in _ROWS if row["framework"] in ("megatron-bridge", "maxtext")):
        words = [f"{key}={override(value)}" for key, value in row["flags"].items()]
        document = read_document(words)
        assert (document.framework, dict(document.settings)) == (row["framework"], row["flags"]), row["id"]


def override(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    return "null" if value is None else str(value)


@pytest.mark.parametrize(
    ("name", "text", "framework", "settings"),
    [
        (
            "ds.json",
            '{"train_batch_size": 8, // all\n # as Hjson\n "zero_optimization": {"stage": 3, '
            '"reduce_bucket_size": 5e8,},\n /* two\n lines */ "a": "http://x", "b": "\\"// no",\n}',
            "deepspeed",
            {
                "train_batch_size": 8,
                "zero_optimization.stage": 3,
                "zero_optimization.reduce_bucket_size": 5e8,
                "a": "http://x",
                "b": '"// no',
            },
        ),
        (
            "t.toml",
            '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nseq_len = '
            '8192\n[activation_checkpoint]\nmode = "full"\n',
            "torchtitan",
            {
                "model.name": "llama3",
                "model.flavor": "8B",
                "training.seq_len": 8192,
                "activation_checkpoint.mode": "full",
            },
        ),
        (
            "m.yml",
            "model_name: llama3-8b\nlearning_rate: 3e-5\nici_fsdp_parallelism: -1\n",
            "maxtext",
            {"model_name": "llama3-8b", "learning_rate": 3e-5, "ici_fsdp_parallelism": -1},
        ),
        (
            "a.yaml",
            "distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n",
            "accelerate",
            {"distributed_type": "FSDP", "num_processes": 8, "fsdp_config.fsdp_version": 2},
        ),
        (
            "b.yaml",
            "model:\n  tensor_model_parallel_size: 4\ntrain:\n  micro_batch_size: 1\n",
            "megatron-bridge",
            {"model.tensor_model_parallel_size": 4, "train.micro_batch_size": 1},
        ),
        (
            "y.yaml",
            "language_model:\n  num_layers: 32\n  hidden_size: 4096\n  "
            "perform_initialization: false\n  bf16: true\n"
            "  add_bias_linear: true\nmodel_parallel:\n  tensor_model_parallel_size: 2\n  "
            "sequence_parallel: false\n",
            "megatron-lm",
            {
                "--num-layers": 32,
                "--hidden-size": 4096,
                "--no-initialization": True,
                "--bf16": True,
                "--tensor-model-parallel-size": 2,
            },
        ),
    ],
)
def test_files_of_every_kind(
    name: str, text: str, framework: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    document = read_document([written(tmp_path / name, text)])
    assert (document.framework, dict(document.settings)) == (framework, settings)
    assert document.where == str(tmp_path / name)


def test_models_and_counts_of_files(tmp_path: Path) -> None:
    toml = written(tmp_path / "t.toml", '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nsteps = 1\n')
    assert read_document([toml]).model == "llama3_8b"
    assert read_document([written(tmp_path / "m.yml", "model_name: x\nsteps: 1\n")]).model == "x"
    assert read_document([written(tmp_path / "a.yml", "num_processes: 64\nnum_machines: 8\n")]).npus == 64


def test_overrides_take_the_place_of_settings(tmp_path: Path) -> None:
    maxtext = written(tmp_path / "m.yml", "model_name: x\nper_device_batch_size: 1\n")
    assert read_document([maxtext, "per_device_batch_size=4"]).settings == {
        "model_name": "x",
        "per_device_batch_size": 4,
    }
    toml = written(tmp_path / "t.toml", "[training]\nseq_len = 1\nsteps = 2\n")
    assert read_document([toml, "--training.seq-len", "4"]).settings == {
        "training.seq_len": 4,
        "training.steps": 2,
    }
    script = written(tmp_path / "s.sh", "python p.py --num-layers 2 --hidden-size 8\n")
    assert read_document([script, "--num-layers", "4"]).settings == {"--num-layers": 4, "--hidden-size": 8}
    taking = written(tmp_path / "u.sh", 'python p.py --num-layers 2 "$@"\n')
    assert read_document([taking, "--bf16"]).settings == {"--num-layers": 2, "--bf16": True}


def test_files_of_maxtext_complete_their_base(tmp_path: Path) -> None:
    written(tmp_path / "base.yml", "per_device_batch_size: 12\nremat_policy: full\n")
    path = written(tmp_path / "m.yml", "base_config: base.yml\nmodel_name: x\nremat_policy: minimal\n")
    expected = {"per_device_batch_size": 12, "remat_policy": "minimal", "model_name": "x"}
    assert read_document([path]).settings == expected
    command = ["python", "-m", "maxtext.train", path, "remat_policy=custom"]
    assert read_document(command).settings == {**expected, "remat_policy": "custom"}
    written(tmp_path / "base.yml", "base_config: m.yml\nsteps: 2\n")
    with pytest.raises(InputError, match="base_config names files in a circle, or more than 10"):
        read_document([path])


def test_files_that_a_trainer_names_stand_beside_its_script(tmp_path: Path) -> None:
    text = '{"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", '
    text += '"zero_optimization": {"stage": 2}}'
    written(tmp_path / "ds.json", text)
    line = "deepspeed --num_gpus 8 t.py --deepspeed ds.json --per_device_train_batch_size 4\n"
    document = read_document([written(tmp_path / "s.sh", line)])
    assert (document.framework, document.npus) == ("deepspeed", 8)
    assert document.settings == {
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": "auto",
        "zero_optimization.stage": 2,
        "--per_device_train_batch_size": 4,
    }
    written(tmp_path / "f.json", '{"version": 2, "fsdp_transformer_layer_cls_to_wrap": "L"}')
    written(tmp_path / "a.yaml", "num_processes: 16\nmixed_precision: bf16\n")
    line = "accelerate launch --config_file a.yaml t.py --fsdp full_shard --fsdp_config f.json\n"
    document = read_document([written(tmp_path / "s.sh", line)])
    assert (document.framework, document.npus) == ("accelerate", 16)
    assert document.settings == {
        "num_processes": 16,
        "mixed_precision": "bf16",
        "fsdp_config.fsdp_version": 2,
        "fsdp_config.fsdp_transformer_layer_cls_to_wrap": "L",
        "--fsdp": "full_shard",
    }


def test_open_values_are_asked_for_where_they_matter(tmp_path: Path) -> None:
    text = "torchrun --nnodes $N --nproc-per-node 8 p.py --num-layers 2 --save $OUT/x --hidden-size $H\n"
    path = written(tmp_path / "s.sh", text)
    with pytest.raises(InputError) as refused:
        read_document([path])
    assert (
        str(refused.value) == f"{path}: line 1: --hidden-size needs H, which has no value; write set=H=VALUE"
    )
    document = read_document([path], given={"H": "64"})
    assert document.settings == {"--num-layers": 2, "--save": "$OUT/x", "--hidden-size": 64}
    assert document.npus is None
    assert document.notes == ("--save is $OUT/x, which has no value and changes no prediction",)
    assert read_document([path], given={"H": "64", "N": "4"}).npus == 32


def test_the_last_program_of_a_framework_counts(tmp_path: Path) -> None:
    path = written(
        tmp_path / "s.sh", "python prepare.py --x 1\npython p.py --num-layers 2\npython after.py --y 3\n"
    )
    document = read_document([path])
    assert document.settings == {"--num-layers": 2}
    assert document.notes == ("launches 3 programs; the one of line 2 is read",)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.json", "{", "x.json: malformed JSON at line 1"),
        ("x.json", "// a\n{\n'a': 1}", "x.json: malformed JSON at line 3"),
        ("x.json", "[1]", "x.json: holds list; it must hold keys with values"),
        ("x.json", '{"foo": 1}', "x.json: its framework is unclear: hardly any of its keys is known"),
        (
            "x.json",
            '{"framework": "foo", "flags": {}}',
            "x.json: framework is 'foo'; allowed are megatron-lm, ",
        ),
        (
            "x.json",
            '{"framework": "maxtext", "flags": {}, "gpus": 0}',
            "x.json: gpus is 0; it must be a positive integer",
        ),
        ("x.json", '{"a.b": 1, "a": {"b": 2}, "train_batch_size": 1}', "x.json: a.b occurs twice"),
        ("x.toml", "a = [", "x.toml: malformed TOML: "),
        ("x.toml", "a = 1", "x.toml: its framework is unclear: hardly any of its keys is known"),
        ("x.yaml", "a: [", "x.yaml: malformed YAML at line"),
        ("x.yaml", "- 1", "x.yaml: holds list"),
        ("x.sh", "echo hello\n", "x.sh: launches no program"),
        ("x.sh", "A=1\nif [ $# -lt 1 ]; then\nexit 1\nfi\ntorchrun a", "and the script ends at line 3"),
        ("x.txt", "a", "x.txt: its name does not say what it holds; write a file of .sh, "),
    ],
)
def test_malformed_files_are_refused_in_one_line(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path / name, text)
    with pytest.raises(InputError) as refused:
        read_document([path])
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_of_another_framework_is_not_taken_for_one_that_knows_a_third_of_it(tmp_path: Path) -> None:
    recipe = "model: {_component_: llama3_1_8b}\nbatch_size: 2\nepochs: 1\ndtype: bf16\n"
    path = written(tmp_path / "tune.yaml", f"{recipe}gradient_accumulation_steps: 8\nshuffle: true\n")
    with pytest.raises(InputError, match=r"is of torchtune, as model\._component_ says, which is not read"):
        read_document([path])


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match="no such file"):
        read_document(["x" * 500])  # longer than a file system takes
    for name in ("no.json", "no.sh", "no.py", "no.toml", "no.yaml"):
        with pytest.raises(InputError, match=f"^{name}: cannot be read: No such file"):
            read_document([name])


def test_a_launcher_and_a_command_in_texts_are_joined_by_another_shell(tmp_path: Path) -> None:
    script = """#!/bin/bash
#SBATCH -N 48 --gres=gpu:8
NNODES=$SLURM_NNODES
MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
ARGS=" \\
    --num-layers 70 \\
    "
export LAUNCHER="python -u -m torch.distributed.run --nproc_per_node 8 --nnodes $NNODES \\
    --rdzv_endpoint $MASTER_ADDR:$MASTER_PORT \\
    "
export CMD="`pwd`/train.py --tensor-model-parallel-size 4 $ARGS"
srun --jobid $SLURM_JOBID bash -c "$LAUNCHER --node_rank \\$SLURM_PROCID $CMD" 2>&1 | tee -a $LOGS/log
"""
    document = read_document([written(tmp_path / "job.slurm", script)])
    assert (document.framework, document.npus) == ("megatron-lm", 384)
    assert document.settings == {"--tensor-model-parallel-size": 4, "--num-layers": 70}


def test_a_script_may_choose_between_launches(tmp_path: Path) -> None:
    script = """set -ex
NGPU=${NGPU:-"8"}
MODE=${MODE:-""}
if [ -n "$MODE" ]; then
    NGPU="${NGPU}" python3 -m torchtitan.train --config ${CONFIG:-llama3_8b} "$@" --comm.mode=${MODE}
else
    torchrun --nproc_per_node=${NGPU} -m torchtitan.train --config ${CONFIG:-llama3_8b} "$@"
fi
"""
    path = written(tmp_path / "run.sh", script)
    document = read_document([path, "--training.steps", "3"], given={"NGPU": "4"})
    assert (document.framework, document.npus, document.model) == ("torchtitan", 4, "llama3_8b")
    assert document.settings == {"config": "llama3_8b", "training.steps": 3}
    document = read_document([path], given={"MODE": "fake", "CONFIG": "x"})
    assert (document.npus, document.settings) == (8, {"config": "x", "comm.mode": "fake"})
