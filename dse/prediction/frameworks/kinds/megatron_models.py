"""The model of a job, in Megatron's facts and in the keys of conf/model, both ways."""

from __future__ import annotations

import ast
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.inputs.models import LatentAttention, ModelSpec
from dse.prediction.frameworks.job import Lack
from dse.prediction.frameworks.reading.literals import OPEN, literal
from dse.prediction.frameworks.rules import Facts

_SIZES = {
    "layers": "num_layers",
    "hidden": "d_model",
    "heads": "num_heads",
    "seq": "seq_len",
    "gbs": "batch_size",
}
_USUAL_VOCAB = 51200  # of GPT-2, padded as Megatron pads it
_UNSAID = (
    *("windows", "sparse_attention", "state_space", "layer_pattern", "lora", "attention_sinks"),
    "post_norms",
)
_MOST_PATTERN = 1000


def model_values(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    """Return the keys of the model that completed facts say; empty without its width.

    A document that names a model by its name alone states none of its sizes.

    Raises:
        InputError: a pattern of layers with experts is not modelled.
    """
    values = {ours: facts[theirs] for theirs, ours in _SIZES.items() if facts.get(theirs) is not None}
    if "d_model" not in values or "num_heads" not in values:
        return values
    gated = bool(facts["gated"])
    hidden, heads = facts["hidden"], facts["heads"]
    values |= {
        "d_ff": facts.get("ffn") or _default_ffn(hidden, gated=gated),
        "gated_mlp": gated,
        "tied_embeddings": bool(facts["tied"]),
        "biases": bool(facts["biases"]),
        "qkv_biases": bool(facts["qkv_biases"]) and not facts["biases"],
        "query_key_norms": bool(facts["qk_norms"]) and not facts["mla"],
        "learned_positions": facts["max_positions"] or 0 if facts["positions"] == "learned_absolute" else 0,
        "dropout": facts["attention_dropout"] > 0 or facts["hidden_dropout"] > 0,
        "rms_norm": facts["normalization"] == "RMSNorm" and bool(facts["biases"]),
        "prediction_layers": facts.get("mtp") or 0,
    }
    vocab = facts.get("vocab")
    if vocab is None and "num_layers" in values:  # a tokenizer has it
        vocab = _USUAL_VOCAB
        assumed.append(f"a vocabulary of {vocab}, as --vocab-size does not say it")
    if vocab is not None:
        values |= {"input_dim": vocab, "output_dim": vocab}
    if facts["mla"]:
        values["latent_attention"] = {
            "key_value_rank": facts["kv_rank"],
            "query_rank": facts.get("q_rank"),
            "nope_dim": facts["nope_dim"],
            "rope_dim": facts["rope_dim"],
            "value_dim": facts["value_dim"],
        }
    else:
        width = facts.get("head_dim")
        values |= {
            "head_dim": None if width in (None, hidden // heads) else width,
            "num_kv_heads": _kv_heads(facts, assumed),
        }
    if facts["has_experts"]:
        values["experts"] = _experts(facts)
    return values


def _kv_heads(facts: Facts, assumed: list[str]) -> int | None:
    count, heads = facts["kv_heads"], facts["heads"]
    if not facts["grouped"] and count != heads:
        assumed.append(f"{count} groups of queries, although --group-query-attention is not set")
    return None if count == heads else int(count)


def _default_ffn(hidden: int, *, gated: bool) -> int:
    return int(4 * hidden * 2 / 3) // 64 * 64 if gated else 4 * hidden


def _experts(facts: Facts) -> dict[str, Any]:
    width = (
        facts.get("expert_ffn")
        or facts.get("ffn")
        or _default_ffn(facts["hidden"], gated=bool(facts["gated"]))
    )
    shared_width = facts.get("shared_ffn") or 0
    shared = shared_width // width if shared_width % width == 0 else 1
    dense, every = _frequency(str(facts["moe_freq"]))
    return {
        "count": facts["experts"],
        "top_k": facts["top_k"],
        "d_ff": width,
        "shared": shared,
        "shared_d_ff": shared_width if shared_width and shared_width != shared * width else None,
        "dense_layers": dense,
        "every": every,
        "capacity_factor": facts.get("capacity"),
        "groups": facts.get("router_groups"),
        "top_groups": facts.get("router_top_groups"),
    }


def has_dense_layers(facts: Facts) -> bool:
    """Whether a model with experts has layers without them, first or between."""
    dense, every = _frequency(str(facts.get("moe_freq", 1)))
    return bool(dense or facts.get("dense_layers")) or max(every, facts.get("every") or 1) > 1


def _frequency(text: str) -> tuple[int, int]:
    """Dense layers first, and every how many layers experts come after them."""
    if text.isdecimal() and int(text):
        return 0, int(text)
    layers = _listed(text.strip("'\" "))
    dense = layers.index(1) if 1 in layers else 0
    every = layers.index(1, 1) if layers[:1] == [1] and 1 in layers[1:] else 1
    if layers and layers == [0] * dense + [1] * (len(layers) - dense):
        return dense, 1
    if layers and layers == [int(at % every == 0) for at in range(len(layers))]:
        return 0, every
    raise InputError(
        f"--moe-layer-freq is {excerpt(text)}; known are a number N, and lists of layers as [0]*N+[1]*M, "
        "or with 1 at every N-th layer from the first"
    )


def _listed(text: str) -> list[Any]:
    """The list that an expression such as [0]*3+[1]*58 stands for; empty where it is none."""
    try:
        value = literal(ast.parse(text, mode="eval").body, {}) if len(text) <= _MOST_PATTERN else OPEN
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return value if isinstance(value, list) else []


def model_facts(model: ModelSpec, lacks: list[Lack]) -> dict[str, Any]:
    """Return the facts that say a model; what Megatron's options lack is added to `lacks`."""
    for name in _UNSAID:
        if getattr(model, name):
            lacks.append(
                Lack(f"model.{name}", "set", "none", "it has options of its own that are not written here")
            )
    facts: dict[str, Any] = {
        "layers": model.num_layers, "hidden": model.d_model, "heads": model.num_heads,
        "ffn": model.d_ff, "gated": model.gated_mlp, "vocab": model.output_dim, "vocab_multiple": 1,
        "seq": model.seq_len, "max_positions": max(model.seq_len, model.learned_positions),
        "tied": model.tied_embeddings, "biases": model.biases, "qkv_biases": model.qkv_biases,
        "qk_norms": model.query_key_norms,
        "positions": "learned_absolute" if model.learned_positions else "rope",
        "normalization": "LayerNorm" if model.biases and not model.rms_norm else "RMSNorm",
        "attention_dropout": 0.1 if model.dropout else 0.0,
        "hidden_dropout": 0.1 if model.dropout else 0.0,
        "mtp": model.prediction_layers or None,
    }  # fmt: skip
    if model.input_dim != model.output_dim:
        lacks.append(
            Lack("model.input_dim", model.input_dim, model.output_dim, "Megatron has one vocabulary")
        )
    if model.latent_attention is not None:
        facts |= _latent_facts(model.latent_attention)
    else:
        facts |= {"grouped": model.key_value_heads != model.num_heads, "kv_heads": model.key_value_heads}
        facts["head_dim"] = model.head_dim
        if model.key_value_heads == model.num_heads:
            facts["kv_heads"] = None
    return {**facts, **_expert_facts(model, lacks)}


def _latent_facts(latent: LatentAttention) -> dict[str, Any]:
    return {
        "mla": True,
        "q_rank": latent.query_rank,
        "kv_rank": latent.key_value_rank,
        "nope_dim": latent.nope_dim,
        "rope_dim": latent.rope_dim,
        "value_dim": latent.value_dim,
    }


def _expert_facts(model: ModelSpec, lacks: list[Lack]) -> dict[str, Any]:
    experts = model.experts
    if experts is None:
        return {}
    if experts.dense_layers and experts.every > 1:
        lacks.append(
            Lack("model.experts.every", experts.every, 1, "dense layers first need an explicit list")
        )
    dense, layers = experts.dense_layers, model.num_layers
    return {
        "experts": experts.count,
        "grouped_gemm": True,
        "top_k": experts.top_k,
        "expert_ffn": experts.d_ff,
        "shared_ffn": experts.shared_width or None,
        "moe_freq": f"([0]*{dense}+[1]*{layers - dense})" if dense else str(experts.every),
        "capacity": experts.capacity_factor,
        "router_groups": experts.groups,
        "router_top_groups": experts.top_groups,
    }
