"""Families of models of the Hugging Face Hub by `model_type`: who reads them, and what no model here has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dse.inputs.models.dense_families import gemma, gpt2, gpt_neox, llama, mpt, opt, qwen2, qwen3
from dse.inputs.models.entries import Entries, Values
from dse.inputs.models.expert_families import (
    deepseek,
    deepseek_v32,
    glm4_moe,
    gpt_oss,
    llama4,
    mixtral,
    nemotron_h,
    qwen3_moe,
)

FAMILIES: Mapping[str, Callable[[Entries], Values]] = {
    "llama": llama,
    "mistral": llama,
    "granite": llama,
    "phi3": llama,
    "gemma": gemma,
    "qwen2": qwen2,
    "qwen3": qwen3,
    "mixtral": mixtral,
    "qwen3_moe": qwen3_moe,
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "deepseek_v32": deepseek_v32,
    "glm4_moe": glm4_moe,
    "gpt_oss": gpt_oss,
    "kimi_k2": deepseek,
    "llama4": llama4,
    "llama4_text": llama4,
    "nemotron_h": nemotron_h,
    "gpt2": gpt2,
    "gpt_neox": gpt_neox,
    "opt": opt,
    "mpt": mpt,
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
    "DeepseekV32ForCausalLM": "deepseek_v32",
    "Glm4MoeForCausalLM": "glm4_moe",
    "GptOssForCausalLM": "gpt_oss",
    "Llama4ForCausalLM": "llama4_text",
    "Llama4ForConditionalGeneration": "llama4",
    "NemotronHForCausalLM": "nemotron_h",
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
    "jamba": "state-space layers",
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
