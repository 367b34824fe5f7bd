"""Files with arguments of a Trainer: of LLaMA-Factory, TRL and others, and of Axolotl by other names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from dse.base.errors import InputError
from dse.prediction.frameworks.reading.launchers import TRAINERS

_BATCH = "per_device_train_batch_size"
_AXOLOTL = {
    "base_model": "--model_name_or_path",
    "micro_batch_size": f"--{_BATCH}",
    "sequence_len": "--max_seq_length",
    "tensor_parallel_size": "parallelism_config.tp_size",
    "context_parallel_size": "parallelism_config.cp_size",
    "dp_shard_size": "parallelism_config.dp_shard_size",
    "dp_replicate_size": "parallelism_config.dp_replicate_size",
    "fsdp_version": "fsdp_config.fsdp_version",
}
_GROUP = "fsdp_config."
_PROGRAM = re.compile(
    rf"(?:.*/)?(?:{'|'.join(sorted(TRAINERS))})|(?:axolotl|llamafactory|trl)\.[\w.]{{1,200}}"
)


def is_trainer_program(program: str) -> bool:
    """Return whether a program, or a module that Python runs, is one of a Trainer, whatever its options."""
    return bool(_PROGRAM.fullmatch(program))


def is_trainer(settings: Mapping[str, Any]) -> bool:
    """Return whether settings are arguments of a Trainer, or a file of Axolotl."""
    return _BATCH in settings or _is_axolotl(settings)


def with_checkpointing(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with what LLaMA-Factory does unless they say otherwise: activations are recomputed."""
    is_off = arguments.get("--disable_gradient_checkpointing", False)
    implied = {"--gradient_checkpointing": not is_off} if "--finetuning_type" in arguments else {}
    return {**implied, **arguments}


def _is_axolotl(settings: Mapping[str, Any]) -> bool:
    return "base_model" in settings and "micro_batch_size" in settings


class TrainerFile(NamedTuple):
    """Options of accelerate's file, arguments of a Trainer, and their keys as their file spells them."""

    options: dict[str, Any]
    arguments: dict[str, Any]
    spelled: dict[str, str]


def trainer_file(settings: Mapping[str, Any], where: str) -> TrainerFile:
    """Return what the settings of a file with arguments of a Trainer say.

    Raises:
        InputError: settings of DeepSpeed stand within it.
    """
    names = _AXOLOTL if _is_axolotl(settings) else {}
    found: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for key, value in settings.items():
        if value is None:
            continue
        if key.startswith("deepspeed."):
            raise InputError(f"{where}: deepspeed is written within it; name a file of DeepSpeed there")
        if key.startswith(_GROUP):
            inner = key.removeprefix(_GROUP)
            name = f"{_GROUP}{inner if inner.startswith('fsdp_') else f'fsdp_{inner}'}"
        else:
            name = names.get(key, f"--{key}")
        if key == "fsdp" and isinstance(value, list):
            value = " ".join(map(str, value))
        if value == "auto" and key != "bf16" and not key.startswith(_GROUP):
            continue  # a program finds it out
        found[name] = True if value == "auto" and key == "bf16" else value  # bf16 wherever it can
        spelled[name] = key
    options = {key: value for key, value in found.items() if not key.startswith("--")}
    return TrainerFile(options, {key: value for key, value in found.items() if key.startswith("--")}, spelled)
