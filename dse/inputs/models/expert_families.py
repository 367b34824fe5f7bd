"""Families of models with experts: what each calls its sizes in a Hugging Face configuration."""

from __future__ import annotations

from typing import Any

from dse.base.errors import InputError
from dse.base.records import shown
from dse.inputs.models.dense_families import full_every, llama, qwen2, qwen3, usual, whole_norms
from dse.inputs.models.entries import Entries, Values


def mixtral(read: Entries) -> Values:
    """Llama with experts of its feed-forward width on every layer."""
    return _with_experts(llama(read), read, "num_local_experts")


def _with_experts(values: Values, read: Entries, count: str) -> Values:
    """All feed-forward blocks are those of experts, whose number has the entry `count`."""
    experts = {
        "count": read.count(count),
        "top_k": read.count("num_experts_per_tok"),
        "d_ff": values["d_ff"],
    }
    return {**values, "experts": experts}


def qwen3_moe(read: Entries) -> Values:
    """Qwen3 with fine-grained experts on every layer, or every few."""
    return {**qwen3(read), "experts": _qwen_experts(read)}


def qwen2_moe(read: Entries) -> Values:
    """Qwen2 with fine-grained experts, and one of a width of its own that sees every token."""
    shared = {"shared": 1, "shared_d_ff": read.count("shared_expert_intermediate_size")}
    read.notes.append("the gate of the expert that sees every token is not counted")
    return {**qwen2(read), "experts": {**_qwen_experts(read), **shared}}


def _qwen_experts(read: Entries) -> Values:
    dense = read.values.get("mlp_only_layers") or []
    if not isinstance(dense, list) or dense != list(range(len(dense))):
        raise InputError(
            f"{read.where}: mlp_only_layers is {shown(dense)}; only the first layers can be without experts, "
            "as in [0, 1]"
        )
    return {
        "count": read.count("num_experts"),
        "top_k": read.count("num_experts_per_tok"),
        "d_ff": read.count("moe_intermediate_size"),
        "dense_layers": len(dense),
        "every": read.count("decoder_sparse_step", 1),
    }


def olmoe(read: Entries) -> Values:
    """Llama with norms of queries and keys, and experts of its feed-forward width on every layer."""
    return _with_experts(whole_norms(llama(read), read), read, "num_experts")


def minimax_m2(read: Entries) -> Values:
    """Mixtral with norms of queries and keys, and layers that predict further tokens."""
    values = mixtral(read)
    if read.switch("use_qk_norm"):
        values = whole_norms(values, read)
    further = read.count("num_mtp_modules", 0) if read.switch("use_mtp") else 0
    return {**values, "prediction_layers": further}


def ernie_moe(read: Entries) -> Values:
    """Llama with one embedding, and with experts, of which some see every token, from some layer on."""
    read.refuse_unless("use_bias", False, False)
    experts = {
        "count": read.count("moe_num_experts"),
        "top_k": read.count("moe_k"),
        "d_ff": read.count("moe_intermediate_size"),
        "shared": read.count("moe_num_shared_experts", 0),
        "dense_layers": read.count("moe_layer_start_index", 0),
        "every": read.count("moe_layer_interval", 1),
    }
    values = llama(read, tied=True)
    last = read.values.get("moe_layer_end_index")  # -1 is the last layer, as null is
    if last is not None and last != -1 and read.count("moe_layer_end_index") < values["num_layers"] - 1:
        read.refuse_unless("moe_layer_end_index", -1, -1)
    return {**values, "experts": experts}


def dots1(read: Entries) -> Values:
    """Qwen3 with experts as DeepSeek's."""
    read.refuse_unless("moe_layer_freq", 1, 1)
    return {**qwen3(read), "experts": _fine_grained(read)}


def deepseek(read: Entries) -> Values:
    """Latent attention and fine-grained experts, of which some see every token."""
    read.refuse_unless("moe_layer_freq", 1, 1)
    latent = {
        "key_value_rank": read.count("kv_lora_rank"),
        "query_rank": read.optional("q_lora_rank"),
        "nope_dim": read.count("qk_nope_head_dim"),
        "rope_dim": read.count("qk_rope_head_dim"),
        "value_dim": read.count("v_head_dim"),
    }
    return {
        **usual(read, read.count("intermediate_size")),
        "gated_mlp": True,
        "tied_embeddings": read.switch("tie_word_embeddings"),
        "latent_attention": latent,
        "experts": _fine_grained(read),
        "prediction_layers": read.count("num_nextn_predict_layers", 0),
    }


def _fine_grained(read: Entries) -> Values:
    """Experts as DeepSeek's: some see every token, the first layers have none, groups limit the choice."""
    groups = read.optional("n_group") or 1
    limits = {"groups": groups, "top_groups": read.count("topk_group")} if groups > 1 else {}
    return {
        "count": read.count("n_routed_experts"),
        "top_k": read.count("num_experts_per_tok"),
        "d_ff": read.count("moe_intermediate_size"),
        "shared": read.optional("n_shared_experts") or 0,
        "dense_layers": read.count("first_k_dense_replace", 0),
        **limits,
    }


def deepseek_v32(read: Entries) -> Values:
    """DeepSeek-V3 with an indexer that chooses keys."""
    if (read.optional("index_topk_freq") or 1) > 1 or read.values.get("indexer_types"):
        read.notes.append("layers that share an indexer are counted with one each")
    sparse = {
        "heads": read.count("index_n_heads"),
        "head_dim": read.count("index_head_dim"),
        "top_k": read.count("index_topk"),
    }
    return {**deepseek(read), "sparse_attention": sparse}


def glm4_moe(read: Entries) -> Values:
    """Grouped queries with biases, and experts as DeepSeek's."""
    return {
        **llama(read, has_own_biases=True),
        "query_key_norms": read.switch("use_qk_norm"),
        "experts": _fine_grained(read),
        "prediction_layers": read.count("num_nextn_predict_layers", 0),
    }


def gpt_oss(read: Entries) -> Values:
    """Windows on every second layer, sinks, and biases in all matrices but none in norms."""
    values = llama(read.over(sliding_window_pattern=2), has_own_biases=True)
    read.refuse_unless("attention_bias", True, True)
    own = {"biases": True, "qkv_biases": False, "rms_norm": True, "attention_sinks": True}
    return _with_experts({**values, **own}, read, "num_local_experts")


def llama4(read: Entries) -> Values:
    """The text model: chunks on some layers, one shared expert, experts on some layers."""
    text = read.of_text("llama4_text")
    values = llama(text)
    layers, chunk = values["num_layers"], text.optional("attention_chunk_size")
    experts = {
        "count": text.count("num_local_experts"),
        "top_k": text.count("num_experts_per_tok"),
        "d_ff": values["d_ff"],
        "shared": 1,
        "every": text.count("interleave_moe_layer_step", 1),
    }
    windows = None
    if chunk and chunk < values["seq_len"]:
        every = _without_positions(text, layers)
        windows = None if every == 1 else {"size": chunk, "full_every": every, "chunked": True}
    return {**values, "d_ff": text.count("intermediate_size_mlp"), "experts": experts, "windows": windows}


def _without_positions(read: Entries, layers: int) -> int | None:
    """Layers without rotary positions see all tokens: every so many."""
    if (types := read.values.get("layer_types")) is not None:
        return full_every(read, "layer_types", types, "full_attention", layers)
    if kinds := read.values.get("no_rope_layers"):
        return full_every(read, "no_rope_layers", kinds, 0, layers)
    return read.count("no_rope_layer_interval", 4)


def nemotron_h(read: Entries) -> Values:
    """Layers of one block each, by a pattern; squared activations, so no gate."""
    read.refuse_unless("mamba_proj_bias", False, False)
    read.refuse_unless("attention_bias", False, False)
    read.refuse_unless("mlp_bias", False, False)
    read.refuse_unless("use_conv_bias", True, True)
    read.refuse_unless("moe_latent_size", None, None)
    pattern = read.values.get("hybrid_override_pattern")
    if not isinstance(pattern, str):
        read.missing.append("hybrid_override_pattern")
        pattern = ""
    width = read.optional("head_dim") or read.optional("attention_head_dim")
    values: dict[str, Any] = {
        **usual(read, read.count("intermediate_size")),
        "num_kv_heads": read.count("num_key_value_heads"),
        "head_dim": width,
        "tied_embeddings": read.switch("tie_word_embeddings"),
        "layer_pattern": pattern,
    }
    if "M" in pattern:
        values["state_space"] = {
            "heads": read.count("mamba_num_heads"),
            "head_dim": read.count("mamba_head_dim"),
            "state": read.count("ssm_state_size"),
            "groups": read.count("n_groups", 1),
            "conv": read.count("conv_kernel", 4),
        }
    if "E" in pattern:
        values["experts"] = _fine_grained(read)
        if shared := read.optional("moe_shared_expert_intermediate_size"):
            values["experts"]["shared_d_ff"] = shared
    return values
