"""Files with arguments of a Trainer, its adapters, tasks of SkyPilot, and files that are not read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.prediction.frameworks.jobs import read_job
from dse.prediction.frameworks.reading import read_document

FACTORY = {
    "model_name_or_path": "meta-llama/Meta-Llama-3-8B", "stage": "sft", "finetuning_type": "full",
    "deepspeed": "ds.json", "cutoff_len": 2048, "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 4, "bf16": True, "learning_rate": 1.0e-5,
}  # fmt: skip
AXOLOTL = {
    "base_model": "NousResearch/Llama-2-7b-hf", "sequence_len": 4096, "micro_batch_size": 1, "bf16": "auto",
    "gradient_accumulation_steps": 4, "gradient_checkpointing": True, "fsdp": ["full_shard", "auto_wrap"],
    "fsdp_config": {"fsdp_offload_params": False, "sharding_strategy": "SHARD_GRAD_OP"},
}  # fmt: skip


def _written(folder: Path, name: str, values: object) -> str:
    path = folder / name
    path.write_text(values if isinstance(values, str) else json.dumps(values))
    return str(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    stage = {
        "zero_optimization": {"stage": 3},
        "train_micro_batch_size_per_gpu": "auto",
        "bf16": {"enabled": "auto"},
    }
    _written(tmp_path, "ds.json", stage)
    return tmp_path


def test_a_file_of_llama_factory_is_its_arguments(folder: Path) -> None:
    reading = read_job(read_document([_written(folder, "a.yaml", FACTORY)]), "llama3_8b", batch=64)
    document = reading.document
    assert (document.framework, document.settings["zero_optimization.stage"]) == ("deepspeed", 3)
    assert document.settings["train_micro_batch_size_per_gpu"] == 2
    assert document.settings["--gradient_checkpointing"] is True


def test_a_command_changes_what_its_file_says(folder: Path) -> None:
    _written(folder, "a.yaml", FACTORY)
    line = "FORCE_TORCHRUN=1 llamafactory-cli train a.yaml per_device_train_batch_size=8 deepspeed=null\n"
    line += "accelerate launch --num_processes 8 -m axolotl.cli.train b.yml --per_device_train_batch_size 2\n"
    document = read_document([_written(folder, "run.sh", line.splitlines()[0])])
    assert document.framework == "accelerate"
    assert document.settings["--per_device_train_batch_size"] == 8
    _written(folder, "b.yml", AXOLOTL)
    document = read_document([_written(folder, "run.sh", line.splitlines()[1])])
    assert (document.framework, document.npus) == ("accelerate", 8)
    assert document.settings["--per_device_train_batch_size"] == 2


@pytest.mark.parametrize(
    "line",
    [
        "trl sft --config=t.yaml --max_length 512",
        "trl sft --max_length 512 --config t.yaml",
        "trl sft --config t.yaml --max_length 512",
        "accelerate launch --num_processes 8 sft.py --max_length=512 --config=t.yaml",
    ],
)
@pytest.mark.parametrize("batch", ["${oc.env:BS,4}", 4])
def test_the_file_behind_config_is_read_wherever_it_stands(line: str, batch: object, tmp_path: Path) -> None:
    _written(tmp_path, "t.yaml", {"per_device_train_batch_size": batch, "max_length": 64, "bf16": True})
    document = read_document([_written(tmp_path, "run.sh", line)])
    assert document.framework == "accelerate"
    assert document.settings["--per_device_train_batch_size"] == 4
    assert document.settings["--max_length"] == 512
    assert "--config" not in document.settings
    said = ["per_device_train_batch_size is 4, unless BS says another value"] if batch != 4 else []
    assert [note for note in document.notes if "unless" in note] == said


def test_defaults_of_variables_in_a_file_of_a_trainer_are_noted(folder: Path) -> None:
    name = _written(folder, "a.yaml", {**FACTORY, "per_device_train_batch_size": "${oc.env:BS,4}"})
    for read in (name, _written(folder, "run.sh", "llamafactory-cli train a.yaml")):
        document = read_document([read])
        assert document.settings["--per_device_train_batch_size"] == 4
        assert "per_device_train_batch_size is 4, unless BS says another value" in document.notes


@pytest.mark.parametrize("program", ["trl sft", "python -m trl.scripts.sft", "/opt/bin/trl dpo"])
def test_a_program_of_a_trainer_is_of_no_other_framework(program: str, tmp_path: Path) -> None:
    line = f"{program} --max_length 512 --training.seq_len 4096 --parallelism.tensor_parallel_degree 8"
    assert read_document([_written(tmp_path, "run.sh", line)]).framework == "accelerate"
    with pytest.raises(InputError, match=r"t\.yaml"):
        read_document([_written(tmp_path, "run.sh", f"{program} --config t.yaml")])
    with pytest.raises(InputError, match="--config needs CFG, which has no value; write set=CFG=VALUE"):
        read_document([_written(tmp_path, "run.sh", f"{program} --config $CFG")])


def test_a_file_of_axolotl_has_other_names(folder: Path) -> None:
    reading = read_job(read_document([_written(folder, "b.yml", AXOLOTL), "num_processes=8"]), "llama3_8b")
    assert reading.job is not None, (reading.broken, reading.no_job)
    plan, model = reading.job.plan, reading.job.model
    assert (plan.dp, plan.zero, plan.micro_batch, plan.recompute) == (8, 2, 1, "full")
    assert (model.seq_len, model.batch_size) == (4096, 32)


def test_a_message_names_a_key_as_its_writer_spells_it(folder: Path) -> None:
    wrong = {"gradient_checkpointing": "unsloth"}, {"micro_batch_size": "many"}
    said = "gradient_checkpointing is 'unsloth'; it must be true", "micro_batch_size is 'many'; it must be an"
    for values, message in zip(wrong, said, strict=True):
        name = _written(folder, "b.yml", {**AXOLOTL, **values})
        for line in (name, _written(folder, "run.sh", "axolotl train b.yml --max_steps 5")):
            with pytest.raises(InputError, match=rf"b.yml: {message}|run.sh.*: {message}"):
                read_job(read_document([line, *["num_processes=8"] * (line == name)]), "llama3_8b")
    _written(folder, "b.yml", AXOLOTL)
    line = "axolotl train b.yml --gradient_checkpointing unsloth"
    with pytest.raises(InputError, match=r": --gradient_checkpointing is 'unsloth'"):
        read_job(read_document([_written(folder, "run.sh", line)]), "llama3_8b")
    line = "torchrun --nproc_per_node 8 t.py --bf16 True --fsdp full_shard --torch_compile perhaps"
    with pytest.raises(InputError, match="--torch_compile is 'perhaps'; it must be true or false"):
        read_job(read_document([_written(folder, "run.sh", line)]), "llama3_8b")


@pytest.mark.parametrize(
    ("arguments", "adapters"),
    [
        ("--use_peft True --lora_r 16", (16, "qkv")),
        ("--lora_r 4 --lora_target_modules q_proj o_proj", (4, "qkv+output")),
        ("--finetuning_type lora --lora_rank 32", (32, "qkv+output+feed_forward")),
        ("--use_lora --lora_target_modules all-linear", (8, "qkv+output+feed_forward")),
        ("--lora_r 4 --lora_target_modules dense dense_h_to_4h", (4, "output+feed_forward")),
        ("--lora_r 4 --lora_target_modules c_attn c_proj", (4, "qkv+output+feed_forward")),
        ("--lora_r 4 --lora_target_modules self_attn.v_proj", (4, "qkv")),
        ("--adapter lora --lora_target_modules q_proj", (8, "qkv")),
        (
            "--adapter lora --lora_target_modules q_proj --lora_target_linear true",
            (8, "qkv+output+feed_forward"),
        ),
        ("--use_peft False --lora_r 16", None),
        ("--finetuning_type full --lora_rank 8", None),
    ],
)
@pytest.mark.parametrize("more", ["--fsdp full_shard", "--deepspeed ds.json"])
def test_adapters_are_trained_alone(
    arguments: str, adapters: tuple[int, str] | None, more: str, folder: Path
) -> None:
    line = f"torchrun --nproc_per_node 8 t.py --per_device_train_batch_size 1 --max_length 2048 --bf16 {more}"
    reading = read_job(read_document([_written(folder, "run.sh", f"{line} {arguments}")]), "llama3_8b")
    assert reading.job is not None, (reading.broken, reading.no_job)
    found = reading.job.model.lora
    assert (found and (found.rank, found.targets)) == adapters


def test_modules_that_are_not_known_are_named_or_refused(folder: Path) -> None:
    line = "torchrun --nproc_per_node 8 t.py --bf16 --max_length 512 --lora_r 4 --lora_target_modules"
    reading = read_job(read_document([_written(folder, "run.sh", f"{line} q_proj mixer")]), "llama3_8b")
    assert "no adapters on mixer, which are not known" in reading.assumed
    reading = read_job(read_document([_written(folder, "run.sh", f"{line} mixer")]), "llama3_8b")
    assert reading.job is None
    assert reading.no_job.startswith("adapters on mixer are not modelled; known are q_proj, k_proj")


@pytest.mark.parametrize(
    ("argument", "framework", "unmodelled"),
    [
        ("--torch_compile True", "torchtitan-compiled", []),
        ("--torch_compile False", "torchtitan", []),
        ("--torch_compile 1", "torchtitan-compiled", []),
        ("--torch_compile yes", "torchtitan-compiled", []),
        ("--torch_compile 0", "torchtitan", []),
        ("--use_liger_kernel True --tp_size 2", "torchtitan", ["--use_liger_kernel", "--tp_size"]),
        ("--load_in_4bit False", "torchtitan", []),
    ],
)
def test_arguments_that_change_time_or_memory_count_or_are_named(
    argument: str, framework: str, unmodelled: list[str], folder: Path
) -> None:
    line = f"torchrun --nproc_per_node 8 t.py --bf16 True --max_length 512 --fsdp full_shard {argument}"
    reading = read_job(read_document([_written(folder, "run.sh", line)]), "llama3_8b")
    assert reading.job is not None, (reading.broken, reading.no_job)
    assert reading.job.plan.framework == framework
    assert [text.split()[0] for text in reading.assumed if "is not modelled" in text] == unmodelled


def test_another_kind_of_training_is_not_predicted(folder: Path) -> None:
    line = "torchrun --nproc_per_node 8 t.py --per_device_train_batch_size 1 --bf16 --finetuning_type freeze"
    reading = read_job(read_document([_written(folder, "run.sh", line)]), "llama3_8b")
    assert "training of freeze is not modelled" in reading.no_job


def test_settings_of_deepspeed_within_a_file_are_asked_for_as_a_file(folder: Path) -> None:
    inside = {**FACTORY, "deepspeed": {"zero_optimization": {"stage": 3}}}
    with pytest.raises(InputError, match="deepspeed is written within it; name a file of DeepSpeed there"):
        read_document([_written(folder, "a.yaml", inside)])


@pytest.mark.parametrize("kinds", ["H100:8", "{H100: 8}", "[H100:8]"])
def test_a_task_of_skypilot_has_its_nodes_and_gpus(kinds: str, tmp_path: Path) -> None:
    task = f"resources:\n  accelerators: {kinds}\nnum_nodes: 2\nenvs: {{TP: 4}}\nrun: |\n  cd x\n"
    task += "  torchrun --nnodes=$SKYPILOT_NUM_NODES --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE \\\n"
    task += "    pretrain_gpt.py --tensor-model-parallel-size $TP --num-layers 32\n"
    document = read_document([_written(tmp_path, "task.yaml", task)])
    assert (document.npus, document.settings["--tensor-model-parallel-size"]) == (16, 4)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"pipe-parallel-size": 4, "zero_optimization": {"stage": 1}, "steps_per_print": 2}, "GPT-NeoX"),
        ({"train": {"micro_batch_size": 4, "global_batch_size": 512, "max_tokens": 9}}, "LitGPT"),
        ({"model": {"_component_": "torchtune.models.llama3_1.llama3_1_8b"}, "batch_size": 2}, "torchtune"),
        ({"global_train_batch_size": 1024, "device_train_microbatch_size": 8}, "LLM Foundry"),
        ({"parallelism": {"dp": 4, "tp": 4, "pp_engine": "1f1b"}}, "nanotron"),
        ({"actor_rollout_ref": {"model": {"path": "x"}}}, "verl"),
    ],
)
def test_files_of_other_frameworks_are_named_not_judged(values: object, name: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=rf"x.yaml: is of {name}, as .* says, which is not read; write the job"
    ):
        read_document([_written(tmp_path, "x.yaml", values)])


def test_two_keys_of_one_setting_that_differ_are_both_named(folder: Path) -> None:
    plan = {"distributed_type": "DEEPSPEED", "num_processes": 8, "mixed_precision": "bf16"}
    plan |= {"deepspeed_config": {"zero_stage": 3, "gradient_accumulation_steps": 8}}
    _written(folder, "accel.yaml", plan)
    line = "accelerate launch --config_file accel.yaml t.py --gradient_accumulation_steps 4 --bf16"
    with pytest.raises(
        InputError, match=r"--gradient_accumulation_steps is 4, but deepspeed_config\.\w+ is 8"
    ):
        read_job(read_document([_written(folder, "run.sh", line)]), "llama3_8b")
