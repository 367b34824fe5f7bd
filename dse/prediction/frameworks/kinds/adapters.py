"""Low-rank adapters as arguments of a Trainer say them, in the keys of conf/model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.inputs.models.blocks import TARGETS
from dse.prediction.frameworks.rules import Facts

_KINDS = ("lora", "qlora")
_RANK = 8  # of peft, where an argument does not say it
_ALL = ("all", "all-linear")
_OF_PEFT = ("qkv",)  # where nothing names modules
_NAMES = {
    "qkv": "q_proj k_proj v_proj qkv_proj c_attn query_key_value wqkv",
    "output": "o_proj out_proj wo dense c_proj",
    "feed_forward": """gate_proj up_proj down_proj gate_up_proj w1 w2 w3 fc1 fc2 dense_h_to_4h dense_4h_to_h
        c_fc c_proj""",
}
"""Modules of models of Hugging Face by target; GPT-2 calls two of them c_proj."""


def adapters_of(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    """Return the model's adapters; empty where all weights are trained.

    Raises:
        InputError: the kind of training is not modelled, or none of the modules is known.
    """
    kind = str(facts.get("adapter") or "").lower()
    if kind and kind not in (*_KINDS, "full", "none"):
        raise InputError(f"training of {kind} is not modelled; known are full, {', '.join(_KINDS)}")
    flag = facts.get("lora_flag")
    is_said = kind in _KINDS or flag is True
    if not is_said and (flag is False or kind or facts.get("lora_rank") is None):
        return {}
    rank = facts.get("lora_rank") or _RANK
    targets = _targets(facts, is_kind=bool(kind), assumed=assumed)
    assumed.append(f"adapters of rank {rank} on {' and '.join(targets)}; all other weights are frozen")
    return {"lora": {"rank": rank, "targets": "+".join(targets)}}


def _targets(facts: Facts, *, is_kind: bool, assumed: list[str]) -> Sequence[str]:
    """The matrices with adapters: those of named modules, else all of them or the choice of peft."""
    named = [str(name).strip() for name in facts.get("lora_targets") or ()]
    if facts.get("lora_linear") or set(named) & set(_ALL) or (is_kind and not named):
        return TARGETS
    modules = {target: names.split() for target, names in _NAMES.items()}
    others = [name for name in named if not any(_last(name) in names for names in modules.values())]
    found = [target for target in TARGETS if any(_last(name) in modules[target] for name in named)]
    if others and not found:
        known = " ".join(_NAMES.values()).split()
        raise InputError(
            f"adapters on {excerpt(' and '.join(others))} are not modelled; known are "
            f"{', '.join(dict.fromkeys(known))} and {', '.join(_ALL)}"
        )
    if others:
        assumed.append(f"no adapters on {excerpt(' and '.join(others))}, which are not known")
    return found or _OF_PEFT


def _last(name: str) -> str:
    """The last name of a path of modules."""
    return name.rpartition(".")[2]
