"""Configurations of the Hugging Face Hub, and the parameters of their checkpoints."""

from __future__ import annotations

from typing import Any


def llama(model_type: str, *sizes: int, **others: Any) -> dict[str, Any]:
    names = ("vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers")
    keys = (*names, "num_key_value_heads", "max_position_embeddings")
    return {"model_type": model_type, **dict(zip(keys, sizes, strict=True)), **others}


MOE = {"num_experts_per_tok": 8, "norm_topk_prob": True}
LATENT = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024}
NEOX = llama("gpt_neox", 50432, 6144, 24576, 64, 44, 64, 2048)
QWEN3 = llama("qwen3_moe", 151936, 2048, 6144, 32, 48, 4, 40960)
MPT = {"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "max_seq_len": 2048}
MODELS: dict[str, tuple[dict[str, Any], int]] = {
    "Llama-2-7b": (llama("llama", 32000, 4096, 11008, 32, 32, 32, 4096), 6_738_415_616),
    "Llama-3.2-1B": (
        llama("llama", 128256, 2048, 8192, 32, 16, 8, 131072, head_dim=64, tie_word_embeddings=True),
        1_235_814_400,
    ),
    "Mistral-7B-v0.1": (
        llama("mistral", 32000, 4096, 14336, 32, 32, 8, 32768, sliding_window=4096),
        7_241_732_096,
    ),
    "Phi-3-mini-4k": (llama("phi3", 32064, 3072, 8192, 32, 32, 32, 4096), 3_821_079_552),
    "Qwen2-7B": (
        llama(
            "qwen2", 152064, 3584, 18944, 28, 28, 4, 131072, sliding_window=131072, use_sliding_window=False
        ),
        7_615_616_512,
    ),
    "Qwen3-8B": (llama("qwen3", 151936, 4096, 12288, 32, 36, 8, 40960, head_dim=128), 8_190_735_360),
    "gemma-2b": (llama("gemma", 256000, 2048, 16384, 8, 18, 1, 8192, head_dim=256), 2_506_172_416),
    "gemma-7b": (llama("gemma", 256000, 3072, 24576, 16, 28, 16, 8192, head_dim=256), 8_537_680_896),
    "gemma-2-9b": (
        llama("gemma2", 256000, 3584, 14336, 16, 42, 8, 8192, head_dim=256, sliding_window=4096),
        9_241_705_984,
    ),
    "gemma-3-1b": (
        llama("gemma3_text", 262144, 1152, 6912, 4, 26, 1, 32768, head_dim=256, sliding_window=512),
        999_885_952,
    ),
    "gemma-3-4b": (  # its text model: https://arxiv.org/abs/2503.19786, table 1, and 262208 rows of 2560
        {
            "model_type": "gemma3",
            "vision_config": {},
            "text_config": {
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "num_hidden_layers": 34,
                "sliding_window": 1024,
            },
        },
        3_880_263_168,
    ),
    "GLM-5": (
        llama(
            *("glm_moe_dsa", 154880, 6144, 12288, 64, 78, 64, 202752),
            kv_lora_rank=512,
            q_lora_rank=2048,
            qk_nope_head_dim=192,
            qk_rope_head_dim=64,
            v_head_dim=256,
            index_n_heads=32,
            index_head_dim=128,
            index_topk=2048,
            n_routed_experts=256,
            num_experts_per_tok=8,
            moe_intermediate_size=2048,
            n_shared_experts=1,
            first_k_dense_replace=3,
            num_nextn_predict_layers=1,
        ),
        743_911_199_232,
    ),
    "GLM-4-32B-0414": (
        llama("glm4", 151552, 6144, 23040, 48, 61, 2, 32768, head_dim=128),
        32_566_081_536,
    ),
    "Mistral-Small-3.1-24B": (  # its text model
        {
            "model_type": "mistral3",
            "vision_config": {},
            "text_config": llama("mistral", 131072, 5120, 32768, 32, 40, 8, 131072, head_dim=128),
        },
        23_572_403_200,
    ),
    "OLMo-2-7B": (llama("olmo2", 100352, 4096, 11008, 32, 32, 32, 4096), 7_298_617_344 - 253_952),
    "OLMo-3-7B": (
        llama(
            *("olmo3", 100278, 4096, 11008, 32, 32, 32, 65536),
            sliding_window=4096,
            layer_types=[*["sliding_attention"] * 3, "full_attention"] * 8,
        ),
        7_298_011_136 - 253_952,
    ),
    "Seed-OSS-36B": (
        llama("seed_oss", 155136, 5120, 27648, 80, 64, 8, 524288, head_dim=128, attention_out_bias=False),
        36_151_104_512,
    ),
    "SmolLM3-3B": (llama("smollm3", 128256, 2048, 11008, 16, 36, 4, 65536), 3_075_098_624),
    "starcoder2-15b": (
        llama(
            *("starcoder2", 49152, 6144, 24576, 48, 40, 4, 16384),
            sliding_window=4096,
            use_bias=True,
            tie_word_embeddings=False,
        ),
        15_957_889_024,
    ),
    "Qwen1.5-MoE-A2.7B": (
        llama(
            *("qwen2_moe", 151936, 2048, 5632, 16, 24, 16, 8192),
            num_experts=60,
            num_experts_per_tok=4,
            moe_intermediate_size=1408,
            shared_expert_intermediate_size=5632,
        ),
        14_315_784_192 - 24 * 2048,  # the gate
    ),
    "OLMoE-1B-7B": (
        llama("olmoe", 50304, 2048, 1024, 16, 16, 16, 4096, num_experts=64, num_experts_per_tok=8),
        6_919_161_856 - 61_440,
    ),
    "dots.llm1": (
        llama(
            *("dots1", 152064, 4096, 10944, 32, 62, 32, 32768),
            n_routed_experts=128,
            n_shared_experts=2,
            num_experts_per_tok=6,
            moe_intermediate_size=1408,
            first_k_dense_replace=1,
        ),
        142_774_373_888,
    ),
    "ERNIE-4.5-21B-A3B": (
        llama(
            *("ernie4_5_moe", 103424, 2560, 12288, 20, 28, 4, 131072),
            moe_num_experts=64,
            moe_k=6,
            moe_intermediate_size=1536,
            moe_num_shared_experts=2,
            moe_layer_start_index=1,
        ),
        21_825_436_160,
    ),
    "granite-3.0-3b-a800m": (
        llama(
            *("granitemoe", 49155, 1536, 512, 24, 32, 8, 4096),
            num_local_experts=40,
            num_experts_per_tok=8,
            tie_word_embeddings=True,
        ),
        3_298_793_472,
    ),
    "MiniMax-M2": (
        llama(
            *("minimax_m2", 200064, 3072, 1536, 48, 62, 8, 196608),
            head_dim=128,
            num_local_experts=256,
            num_experts_per_tok=8,
            use_qk_norm=True,
            use_mtp=True,
            num_mtp_modules=3,
        ),
        228_689_320_448,
    ),
    "Mixtral-8x7B": (
        llama("mixtral", 32000, 4096, 14336, 32, 32, 8, 32768, num_local_experts=8, num_experts_per_tok=2),
        46_702_792_704,
    ),
    "Qwen3-30B-A3B": (
        {**QWEN3, **MOE, "head_dim": 128, "num_experts": 128, "moe_intermediate_size": 768},
        30_532_122_624,
    ),
    "DeepSeek-V2-Lite": (
        llama(
            *("deepseek_v2", 102400, 2048, 10944, 16, 27, 16, 163840),
            **LATENT,
            q_lora_rank=None,
            n_routed_experts=64,
            num_experts_per_tok=6,
            moe_intermediate_size=1408,
            n_shared_experts=2,
            first_k_dense_replace=1,
        ),
        15_706_484_224,
    ),
    "DeepSeek-V3": (
        llama(
            *("deepseek_v3", 129280, 7168, 18432, 128, 61, 128, 163840),
            **LATENT,
            q_lora_rank=1536,
            n_routed_experts=256,
            num_experts_per_tok=8,
            moe_intermediate_size=2048,
            n_shared_experts=1,
            first_k_dense_replace=3,
            num_nextn_predict_layers=1,
        ),
        671_026_404_352,
    ),
    "Qwen3-32B": (llama("qwen3", 151936, 5120, 25600, 64, 64, 8, 40960, head_dim=128), 32_762_123_264),
    "gpt-oss-20b": (
        llama(
            *("gpt_oss", 201088, 2880, 2880, 64, 24, 8, 131072),
            head_dim=64,
            num_local_experts=32,
            num_experts_per_tok=4,
            sliding_window=128,
            layer_types=["sliding_attention", "full_attention"] * 12,
            attention_bias=True,
        ),
        20_914_757_184,
    ),
    "GLM-4.5-Air": (
        llama(
            *("glm4_moe", 151552, 4096, 10944, 96, 46, 8, 131072),
            head_dim=128,
            n_routed_experts=128,
            num_experts_per_tok=8,
            moe_intermediate_size=1408,
            n_shared_experts=1,
            first_k_dense_replace=1,
            n_group=1,
            topk_group=1,
            use_qk_norm=False,
            attention_bias=True,
            num_nextn_predict_layers=1,
        ),
        106_852_245_504,
    ),
    "Llama-4-Maverick": (
        {
            "model_type": "llama4",
            "vision_config": {"hidden_size": 1408},
            "text_config": llama(
                *("llama4_text", 202048, 5120, 8192, 40, 48, 8, 1048576),
                head_dim=128,
                intermediate_size_mlp=16384,
                num_local_experts=128,
                num_experts_per_tok=1,
                interleave_moe_layer_step=2,
                attention_chunk_size=8192,
                no_rope_layers=[1, 1, 1, 0] * 12,
            ),
        },
        400_711_848_960,
    ),
    "Nemotron-H-8B": (
        llama(
            *("nemotron_h", 131072, 4096, 21504, 32, 52, 8, 8192),
            attention_head_dim=128,
            hybrid_override_pattern="M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
            mamba_num_heads=128,
            mamba_head_dim=64,
            ssm_state_size=128,
            n_groups=8,
            conv_kernel=4,
        ),
        8_100_852_736,
    ),
    "Nemotron-3-Nano": (
        llama(
            *("nemotron_h", 131072, 2688, 1856, 32, 52, 2, 262144),
            head_dim=128,
            hybrid_override_pattern="MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
            mamba_num_heads=64,
            mamba_head_dim=64,
            ssm_state_size=128,
            n_groups=8,
            n_routed_experts=128,
            num_experts_per_tok=6,
            moe_intermediate_size=1856,
            n_shared_experts=1,
            moe_shared_expert_intermediate_size=3712,
        ),
        31_577_937_344,
    ),
    "DeepSeek-V3.2": (
        llama(
            *("deepseek_v32", 129280, 7168, 18432, 128, 61, 128, 163840),
            **LATENT,
            q_lora_rank=1536,
            n_routed_experts=256,
            num_experts_per_tok=8,
            moe_intermediate_size=2048,
            n_shared_experts=1,
            first_k_dense_replace=3,
            num_nextn_predict_layers=1,
            n_group=8,
            topk_group=4,
            index_n_heads=64,
            index_head_dim=128,
            index_topk=2048,
        ),
        671_877_929_216,
    ),
    "gpt2": ({**GPT2, "vocab_size": 50257, "n_inner": None}, 124_439_808),
    "gpt-neox-20b": ({**NEOX, "tie_word_embeddings": False}, 20_554_567_680),
    "opt-6.7b": (
        {**llama("opt", 50272, 4096, 0, 32, 32, 32, 2048), "ffn_dim": 16384, "word_embed_proj_dim": 4096},
        6_658_473_984,
    ),
    "mpt-7b": ({**MPT, "vocab_size": 50432, "expansion_ratio": 4, "no_bias": True}, 6_649_286_656),
}
"""The sizes in the config.json of each model, and its parameters as the Hub counts them.

Parameters that `dse` does not count are taken off.
"""
