"""Configurations of NeMo's launcher (1.x) under the keys of Megatron Bridge, which came after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.base.errors import excerpt

_SIZES = ("trainer.devices", "trainer.num_nodes")
_OWN = ("model.micro_batch_size", "model.global_batch_size")
_RENAMED = {
    "model.micro_batch_size": "train.micro_batch_size",
    "model.global_batch_size": "train.global_batch_size",
    "model.encoder_seq_length": "model.seq_length",
    "model.activations_checkpoint_granularity": "model.recompute_granularity",
    "model.activations_checkpoint_method": "model.recompute_method",
    "model.activations_checkpoint_num_layers": "model.recompute_num_layers",
    "model.optim.overlap_grad_sync": "ddp.overlap_grad_reduce",
    "model.optim.overlap_param_sync": "ddp.overlap_param_gather",
    "model.ub_tp_comm_overlap": "comm_overlap.tp_comm_overlap",
}
_PRECISIONS = {"bf16": "bf16_mixed", "bf16-mixed": "bf16_mixed", "16": "fp16_mixed", "16-mixed": "fp16_mixed"}
_SHARDED = ("distributed_fused_adam", "mcore_distributed_optim")


def is_nemo(settings: Mapping[str, Any]) -> bool:
    """Return whether settings have the trainer of NeMo's launcher and its batches of a model."""
    return any(key in settings for key in _SIZES) and any(key in settings for key in _OWN)


def from_nemo(settings: Mapping[str, Any], notes: list[str]) -> tuple[dict[str, Any], int | None]:
    """Return settings under the keys of Megatron Bridge, and the number of GPUs."""
    notes.append("NeMo's launcher is read as megatron-bridge, which came after it")
    found = {_RENAMED.get(key, key): value for key, value in settings.items()}
    precision = str(found.pop("trainer.precision", "")).lower()
    if found.pop("model.fp8", False) is True:
        found["mixed_precision"] = "bf16_with_fp8_delayed_scaling_mixed"
    elif precision in _PRECISIONS:
        found["mixed_precision"] = _PRECISIONS[precision]
    elif precision:
        notes.append(f"trainer.precision {excerpt(precision)} is not read: bf16 is taken")
    found.setdefault("ddp.overlap_grad_reduce", False)  # Bridge overlaps it where nothing is said
    if "model.optim.name" in found:
        found["ddp.use_distributed_optimizer"] = found["model.optim.name"] in _SHARDED
    counts = [found.pop(key, None) for key in _SIZES]
    devices, nodes = (each if type(each) is int and 0 < each < 1 << 20 else None for each in counts)
    return found, devices * nodes if devices and nodes else None
