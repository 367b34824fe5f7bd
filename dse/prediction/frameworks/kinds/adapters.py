"""Low-rank adapters as arguments of a Trainer say them, in the keys of conf/model."""

from __future__ import annotations

from typing import Any

from dse.base.errors import InputError
from dse.inputs.models.blocks import TARGETS
from dse.prediction.frameworks.rules import Facts

_KINDS = ("lora", "qlora")
_RANK = 8  # of peft, where an argument does not say it
_ALL = ("all", "all-linear")
_MODULES = {
    **dict.fromkeys(("q_proj", "k_proj", "v_proj", "qkv_proj", "c_attn", "query_key_value", "wqkv"), "qkv"),
    **dict.fromkeys(("o_proj", "out_proj", "wo"), "output"),
    **dict.fromkeys(
        ("gate_proj", "up_proj", "down_proj", "gate_up_proj", "w1", "w2", "w3", "fc1", "fc2"), "feed_forward"
    ),
}


def adapters_of(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    """Return the model's adapters; empty where all weights are trained.

    Raises:
        InputError: the kind of training is not modelled.
    """
    kind = str(facts.get("adapter") or "").lower()
    if kind and kind not in (*_KINDS, "full", "none"):
        raise InputError(f"training of {kind} is not modelled; known are full, {', '.join(_KINDS)}")
    flag = facts.get("lora_flag")
    is_said = kind in _KINDS or flag is True
    if not is_said and (flag is False or kind or facts.get("lora_rank") is None):
        return {}
    rank = facts.get("lora_rank") or _RANK
    named = [str(name).strip() for name in facts.get("lora_targets") or ()]
    known = {_MODULES[name] for name in named if name in _MODULES} if named or kind else {"qkv"}
    targets = [name for name in TARGETS if name in known] if known and not set(named) & set(_ALL) else TARGETS
    assumed.append(f"adapters of rank {rank} on {' and '.join(targets)}; all other weights are frozen")
    return {"lora": {"rank": rank, "targets": "+".join(targets)}}
