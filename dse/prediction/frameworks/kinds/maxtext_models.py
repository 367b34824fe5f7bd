"""The model of a job, in MaxText's facts and in the keys of conf/model, both ways."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from dse.inputs.models import LatentAttention, ModelSpec
from dse.prediction.frameworks.job import Lack
from dse.prediction.frameworks.models import model_from, model_of_framework
from dse.prediction.frameworks.models import model_values as conf_values
from dse.prediction.frameworks.rules import Facts

NAMES = {
    "llama3_8b": "llama3-8b",
    "llama3_70b": "llama3-70b",
    "llama3_405b": "llama3.1-405b",
    "mixtral_8x7b": "mixtral-8x7b",
    "mixtral_8x22b": "mixtral-8x22b",
    "deepseek_v2": "deepseek2-236b",
    "deepseek_v3": "deepseek3-671b",
    "deepseek_v3_2": "deepseek3.2-671b",
    "qwen3_8b": "qwen3-8b",
    "qwen3_32b": "qwen3-32b",
    "qwen3_30b_a3b": "qwen3-30b-a3b",
    "qwen3_235b_a22b": "qwen3-235b-a22b",
    "gpt3_175b": "gpt3-175b",
    "gemma3_12b": "gemma3-12b",
    "gemma3_27b": "gemma3-27b",
    "gpt_oss_20b": "gpt-oss-20b",
    "gpt_oss_120b": "gpt-oss-120b",
    "kimi_k2": "kimi-k2-1t",
    "llama4_scout": "llama4-17b-16e",
    "llama4_maverick": "llama4-17b-128e",
}
"""Names in MaxText of models in conf/model."""

SIZES = frozenset(
    {
        "decoder", "layers", "hidden", "heads", "kv_heads", "ffn", "head_dim", "activations", "vocab", "tied",
        "qk_norms", "qkv_biases", "sinks", "positions", "dropout", "experts", "top_k", "expert_ffn", "shared",
        "dense_layers", "every", "router_groups", "router_top_groups", "capacity", "attention_type", "q_rank",
        "kv_rank", "nope_dim", "rope_dim", "value_dim", "mtp",
    }
)  # fmt: skip
"""Facts of a model that its name says, too."""

FIXED = frozenset({"decoder", "layers", "hidden", "heads", "kv_heads", "ffn", "activations", "vocab"})
"""Facts that a file may change in a named model only if it says so."""

_UNSAID = ("windows", "sparse_attention", "state_space", "layer_pattern", "lora", "post_norms")
_GATED = ("silu", "linear")
_SCALED_STEPS = 3  # a scale of 8 doubles every size once


def scaled(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts with the sizes that global_parameter_scale multiplies; powers of two only."""
    scale = facts["scale"]
    if scale <= 1 or "hidden" not in facts or scale & (scale - 1):
        return facts
    steps, rest = divmod(scale.bit_length() - 1, _SCALED_STEPS)
    wider = steps + (rest > 0)
    powers = {"hidden": steps + (rest > 1), "heads": wider, "kv_heads": wider, "ffn": wider, "layers": steps}
    return {**facts, **{name: facts[name] << power for name, power in powers.items()}}


def model_values(facts: Facts) -> dict[str, Any]:
    """Return the keys of the model that completed facts say; of a named one the sequences and the batch."""
    values = {"seq_len": facts["seq"], "batch_size": facts.get("gbs")}
    if not facts["has_sizes"]:
        return {key: value for key, value in values.items() if value is not None}
    heads, hidden, kv_heads = facts["heads"], facts["hidden"], facts["kv_heads"]
    has_biases = facts["decoder"] == "gpt3"
    is_latent = facts["attention_type"] == "mla"
    width = facts["head_dim"]
    values |= {
        "num_layers": facts["layers"],
        "d_model": hidden,
        "num_heads": heads,
        "d_ff": facts["ffn"],
        "gated_mlp": len(facts["activations"]) > 1,
        "input_dim": facts["vocab"],
        "output_dim": facts["vocab"],
        "tied_embeddings": facts["tied"],
        "biases": has_biases,
        "qkv_biases": facts["qkv_biases"] and not has_biases and not is_latent,
        "query_key_norms": facts["qk_norms"] and not is_latent,
        "attention_sinks": facts["sinks"],
        "learned_positions": max(0, facts["positions"]),
        "dropout": facts["dropout"] > 0,
        "prediction_layers": facts["mtp"],
    }
    if is_latent:
        values["latent_attention"] = {
            "key_value_rank": facts["kv_rank"],
            "query_rank": facts["q_rank"] or None,
            "nope_dim": facts["nope_dim"],
            "rope_dim": facts["rope_dim"],
            "value_dim": facts["value_dim"],
        }
    else:
        values["head_dim"] = None if width * heads == hidden else width
        values["num_kv_heads"] = None if kv_heads == heads else kv_heads
    if facts["experts"]:
        values["experts"] = {
            "count": facts["experts"],
            "top_k": facts["top_k"],
            "d_ff": facts["expert_ffn"] if facts["expert_ffn"] > 0 else facts["ffn"],
            "shared": facts["shared"],
            "dense_layers": facts["dense_layers"],
            "every": facts["every"],
            "capacity_factor": facts["capacity"] if facts["capacity"] > 0 else None,
            "groups": facts["router_groups"] if facts["router_groups"] > 0 else None,
            "top_groups": facts["router_top_groups"] if facts["router_top_groups"] > 0 else None,
        }
    return values


def model_facts(model: ModelSpec, lacks: list[Lack]) -> dict[str, Any]:
    """Return the facts that say a model: its name where MaxText has it, else its sizes.

    A field that MaxText has no keys for is added to `lacks`.
    """
    known = model_of_framework(model.name)
    if known in NAMES and is_of_conf(model, known):
        return {"model_name": NAMES[known]}
    for name in _UNSAID:
        if getattr(model, name):
            lacks.append(
                Lack(f"model.{name}", "set", "none", "it has keys of its own that are not written here")
            )
    if model.input_dim != model.output_dim:
        lacks.append(Lack("model.input_dim", model.input_dim, model.output_dim, "MaxText has one vocabulary"))
    facts: dict[str, Any] = {
        "decoder": "gpt3" if model.biases else "llama2",
        "layers": model.num_layers,
        "hidden": model.d_model,
        "heads": model.num_heads,
        "kv_heads": model.key_value_heads,
        "ffn": model.d_ff,
        "activations": _GATED if model.gated_mlp else ("gelu",),
        "vocab": model.output_dim,
        "tied": model.tied_embeddings,
        "qkv_biases": model.qkv_biases,
        "qk_norms": model.query_key_norms,
        "sinks": model.attention_sinks,
        "positions": model.learned_positions or -1,
        "dropout": 0.1 if model.dropout else 0,
        "mtp": model.prediction_layers,
        "head_dim": model.head_dim or model.d_model // model.num_heads,
    }
    if model.latent_attention is not None:
        facts |= {"decoder": "deepseek", **_latent_facts(model.latent_attention)}
    return {**facts, **_expert_facts(model, str(facts["decoder"]), lacks)}


def is_of_conf(model: ModelSpec, name: str) -> bool:
    """Whether a model has all sizes of the one in conf/model; sequences and the batch are a job's own."""
    same = replace(
        _listed(name),
        name=model.name,
        micro_batches=model.micro_batches,
        seq_len=model.seq_len,
        batch_size=model.batch_size,
    )
    return same == model


@functools.cache
def _listed(name: str) -> ModelSpec:
    return model_from(conf_values(name))


def _latent_facts(latent: LatentAttention) -> dict[str, Any]:
    return {
        "attention_type": "mla",
        "q_rank": latent.query_rank or 0,
        "kv_rank": latent.key_value_rank,
        "nope_dim": latent.nope_dim,
        "rope_dim": latent.rope_dim,
        "value_dim": latent.value_dim,
    }


def _expert_facts(model: ModelSpec, decoder: str, lacks: list[Lack]) -> dict[str, Any]:
    experts = model.experts
    if experts is None:
        return {}
    if experts.shared_d_ff not in (None, experts.shared * experts.d_ff):
        lacks.append(
            Lack(
                "model.experts.shared_d_ff",
                experts.shared_d_ff,
                experts.shared * experts.d_ff,
                "shared ones are alike",
            )
        )
    return {
        "decoder": decoder if decoder == "deepseek" else "mixtral",
        "experts": experts.count,
        "top_k": experts.top_k,
        "expert_ffn": experts.d_ff,
        "shared": experts.shared,
        "dense_layers": experts.dense_layers,
        "every": experts.every,
        "capacity": experts.capacity_factor if experts.capacity_factor is not None else -1,
        "router_groups": experts.groups or -1,
        "router_top_groups": experts.top_groups or -1,
    }
