"""Families of models: what each calls its sizes in a Hugging Face configuration, and what it always has.

One file, because a new family is written by reading its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.base.errors import InputError
from dse.base.records import shown

Values = dict[str, Any]


@dataclass
class Entries:
    """The entries of a configuration as they are read: what is missing is collected, to be named at once.

    `where` is how messages call the file; `notes` are what of the configuration the model does not show.
    """

    values: Mapping[str, Any]
    where: str
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def count(self, key: str, default: int | None = None) -> int:
        """Return an integer from 0; a missing one without `default` is remembered, and 1 for now.

        Raises:
            InputError: the entry is another value.
        """
        value = self.values.get(key)
        if value is None:
            if default is None:
                self.missing.append(key)
            return 1 if default is None else default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InputError(f"{self.where}: {key} is {shown(value)}; it must be an integer from 0")
        return value

    def optional(self, key: str) -> int | None:
        """Return an integer from 0, None for null or a missing one.

        Raises:
            InputError: the entry is another value.
        """
        return None if self.values.get(key) is None else self.count(key)

    def switch(self, key: str, default: bool = False) -> bool:
        """Return whether something is on.

        Raises:
            InputError: the entry is neither true nor false.
        """
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputError(f"{self.where}: {key} is {shown(value)}; it must be true or false")
        return value

    def rate(self, *keys: str, default: float = 0.0) -> bool:
        """Return whether any of some probabilities, as of dropout, is above 0; a missing one is `default`.

        Raises:
            InputError: the entry is no probability.
        """
        rates = []
        for key in keys:
            value = default if self.values.get(key) is None else self.values[key]
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise InputError(f"{self.where}: {key} is {shown(value)}; it must be a number from 0 to 1")
            rates.append(value)
        return any(rates)

    def refuse_unless(self, key: str, allowed: Any, default: Any) -> None:
        """Refuse an entry that says what no model here has.

        Raises:
            InputError: names the entry, and what it may be.
        """
        value = self.values.get(key, default)
        if value != allowed:
            raise InputError(
                f"{self.where}: {key} is {shown(value)}, which no model here can have; it may be "
                f"{shown(allowed)}"
            )


def _dims(
    read: Entries, vocabulary: str, width: str, heads: str, layers: str, seq_len: str, feed_forward: int
) -> Values:
    count = read.count(vocabulary)
    return {
        "input_dim": count,
        "output_dim": count,
        "d_model": read.count(width),
        "d_ff": feed_forward,
        "num_heads": read.count(heads),
        "num_layers": read.count(layers),
        "seq_len": read.count(seq_len),
    }


def _usual(read: Entries, feed_forward: int) -> Values:
    keys = ("vocab_size", "hidden_size", "num_attention_heads", "num_hidden_layers")
    return _dims(read, *keys, "max_position_embeddings", feed_forward)


def _llama(read: Entries, *, tied: bool = False) -> Values:
    """Rotary positions, grouped queries, a gate, RMSNorm, no biases but where `attention_bias` says so."""
    values = _usual(read, read.count("intermediate_size"))
    for key in ("attention_bias", "mlp_bias"):
        if read.switch(key):
            read.notes.append(
                "of its biases only those of queries, keys and values are counted"
                if key == "attention_bias"
                else "biases of the feed-forward are not counted"
            )
    _note_window(read)
    heads, width = values["num_heads"], values["d_model"]
    head_dim = read.optional("head_dim")
    return {
        **values,
        "num_kv_heads": read.count("num_key_value_heads", heads),
        "gated_mlp": True,
        "head_dim": None if head_dim is None or head_dim * heads == width else head_dim,
        "tied_embeddings": read.switch("tie_word_embeddings", tied),
        "qkv_biases": read.switch("attention_bias"),
        "dropout": read.rate("attention_dropout"),
    }


def _note_window(read: Entries) -> None:
    window = read.optional("sliding_window")
    if window and read.switch("use_sliding_window", True):
        read.notes.append(
            f"attention over a window of {window} tokens is not modelled: scores are those of all keys"
        )


def _qwen2(read: Entries) -> Values:
    return {**_llama(read), "qkv_biases": True}


def _qwen3(read: Entries) -> Values:
    return {**_llama(read), "query_key_norms": True}


def _gemma(read: Entries) -> Values:
    read.count("head_dim")
    return _llama(read, tied=True)


def _mixtral(read: Entries) -> Values:
    values = _llama(read)
    experts = {
        "count": read.count("num_local_experts"),
        "top_k": read.count("num_experts_per_tok"),
        "d_ff": values["d_ff"],
    }
    return {**values, "experts": experts}


def _qwen3_moe(read: Entries) -> Values:
    read.refuse_unless("decoder_sparse_step", 1, 1)
    dense = read.values.get("mlp_only_layers") or []
    if not isinstance(dense, list) or dense != list(range(len(dense))):
        raise InputError(
            f"{read.where}: mlp_only_layers is {shown(dense)}; only the first layers can be without experts, "
            "as in [0, 1]"
        )
    experts = {
        "count": read.count("num_experts"),
        "top_k": read.count("num_experts_per_tok"),
        "d_ff": read.count("moe_intermediate_size"),
        "dense_layers": len(dense),
    }
    return {**_qwen3(read), "experts": experts}


def _deepseek(read: Entries) -> Values:
    """Latent attention and fine-grained experts, of which some see every token."""
    read.refuse_unless("moe_layer_freq", 1, 1)
    latent = {
        "key_value_rank": read.count("kv_lora_rank"),
        "query_rank": read.optional("q_lora_rank"),
        "nope_dim": read.count("qk_nope_head_dim"),
        "rope_dim": read.count("qk_rope_head_dim"),
        "value_dim": read.count("v_head_dim"),
    }
    experts = {
        "count": read.count("n_routed_experts"),
        "top_k": read.count("num_experts_per_tok"),
        "d_ff": read.count("moe_intermediate_size"),
        "shared": read.optional("n_shared_experts") or 0,
        "dense_layers": read.count("first_k_dense_replace", 0),
    }
    return {
        **_usual(read, read.count("intermediate_size")),
        "gated_mlp": True,
        "tied_embeddings": read.switch("tie_word_embeddings"),
        "latent_attention": latent,
        "experts": experts,
        "prediction_layers": read.count("num_nextn_predict_layers", 0),
    }


def _gpt2(read: Entries) -> Values:
    width = read.count("n_embd")
    keys = ("vocab_size", "n_embd", "n_head", "n_layer", "n_positions")
    values = _dims(read, *keys, read.optional("n_inner") or 4 * width)
    return {
        **values,
        "biases": True,
        "learned_positions": values["seq_len"],
        "tied_embeddings": read.switch("tie_word_embeddings", True),
        "dropout": read.rate("attn_pdrop", "resid_pdrop", default=0.1),
    }


def _gpt_neox(read: Entries) -> Values:
    read.refuse_unless("attention_bias", True, True)
    return {
        **_usual(read, read.count("intermediate_size")),
        "biases": True,
        "tied_embeddings": read.switch("tie_word_embeddings"),
        "dropout": read.rate("attention_dropout", "hidden_dropout"),
    }


def _opt(read: Entries) -> Values:
    values = _usual(read, read.count("ffn_dim"))
    read.refuse_unless("word_embed_proj_dim", values["d_model"], values["d_model"])
    read.refuse_unless("enable_bias", True, True)
    return {
        **values,
        "biases": True,
        "learned_positions": values["seq_len"] + 2,  # its table begins with two rows for padding
        "tied_embeddings": read.switch("tie_word_embeddings", True),
        "dropout": read.rate("dropout", default=0.1),
    }


def _mpt(read: Entries) -> Values:
    """Positions as biases of the scores (ALiBi), which have no parameters."""
    read.refuse_unless("no_bias", True, False)
    width = read.count("d_model")
    keys = ("vocab_size", "d_model", "n_heads", "n_layers", "max_seq_len")
    return {
        **_dims(read, *keys, read.count("expansion_ratio", 4) * width),
        "tied_embeddings": read.switch("tie_word_embeddings", True),
        "dropout": read.rate("resid_pdrop"),
    }


FAMILIES: Mapping[str, Callable[[Entries], Values]] = {
    "llama": _llama,
    "mistral": _llama,
    "granite": _llama,
    "phi3": _llama,
    "gemma": _gemma,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "mixtral": _mixtral,
    "qwen3_moe": _qwen3_moe,
    "deepseek_v2": _deepseek,
    "deepseek_v3": _deepseek,
    "kimi_k2": _deepseek,
    "gpt2": _gpt2,
    "gpt_neox": _gpt_neox,
    "opt": _opt,
    "mpt": _mpt,
}
"""What reads the entries of a family, by `model_type`."""

ARCHITECTURES: Mapping[str, str] = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "GraniteForCausalLM": "granite",
    "Phi3ForCausalLM": "phi3",
    "GemmaForCausalLM": "gemma",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "MixtralForCausalLM": "mixtral",
    "Qwen3MoeForCausalLM": "qwen3_moe",
    "DeepseekV2ForCausalLM": "deepseek_v2",
    "DeepseekV3ForCausalLM": "deepseek_v3",
    "GPT2LMHeadModel": "gpt2",
    "GPTNeoXForCausalLM": "gpt_neox",
    "OPTForCausalLM": "opt",
    "MPTForCausalLM": "mpt",
}
"""The family of each architecture, for configurations without a `model_type` that is known."""

LACKING: Mapping[str, str] = {
    "bert": "encoders and masked-token prediction",
    "cohere": "attention and feed-forward that share a norm",
    "falcon": "attention and feed-forward that share a norm",
    "gemma2": "norms behind blocks and windows in every second layer",
    "gemma3": "an image encoder, norms behind blocks, and windows in most layers",
    "gemma3_text": "norms behind blocks and windows in most layers",
    "gpt_oss": "windows in every second layer and attention sinks",
    "jamba": "state-space layers",
    "llama4": "an image encoder and windows in most layers",
    "llama4_text": "windows in most layers",
    "mamba": "state-space layers",
    "mamba2": "state-space layers",
    "mllama": "an image encoder and cross-attention",
    "nemotron": "feed-forward blocks with squared activations and norms of their own kind",
    "qwen2_moe": "gates of shared experts",
    "qwen3_next": "linear-attention layers",
    "roberta": "encoders and masked-token prediction",
    "t5": "encoders and cross-attention",
    "whisper": "encoders and cross-attention",
}
"""What known model types have that no model here can show."""
