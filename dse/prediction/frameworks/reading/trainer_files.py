"""Files with arguments of a Trainer: of LLaMA-Factory, TRL and others, and of Axolotl by other names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dse.base.errors import InputError

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
    r"(?:.*/)?(?:axolotl|llamafactory-cli|lmf|trl)|(?:axolotl|llamafactory|trl)\.[\w.]{1,200}"
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


def trainer_arguments(settings: Mapping[str, Any], where: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what accelerate's file says and the arguments of a Trainer, of the settings of such a file.

    Raises:
        InputError: settings of DeepSpeed stand within it.
    """
    names = _AXOLOTL if _is_axolotl(settings) else {}
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if value is None:
            continue
        if key.startswith("deepspeed."):
            raise InputError(f"{where}: deepspeed is written within it; name a file of DeepSpeed there")
        if key.startswith(_GROUP):
            name = key.removeprefix(_GROUP)
            found[f"{_GROUP}{name if name.startswith('fsdp_') else f'fsdp_{name}'}"] = value
        elif key == "fsdp" and isinstance(value, list):
            found["--fsdp"] = " ".join(map(str, value))
        elif value != "auto":  # which a program finds out: bf16 wherever it can
            found[names.get(key, f"--{key}")] = value
        elif key == "bf16":
            found["--bf16"] = True
    options = {key: value for key, value in found.items() if not key.startswith("--")}
    return options, {key: value for key, value in found.items() if key.startswith("--")}
