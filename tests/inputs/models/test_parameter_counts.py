"""Parameters and operations of models, against published figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dse.inputs.models import (
    AttentionWindows,
    LatentAttention,
    LowRankAdapters,
    MixtureOfExperts,
    ModelSpec,
    SparseAttention,
    StateSpace,
)
from dse.inputs.models.counts import layer_parameters, parameters
from dse.inputs.models.flops import training_flops, training_flops_per_token
from dse.inputs.models.matrices import layer_kinds, matrices, mean_keys


def model(
    layers: int, d_model: int, d_ff: int, heads: int, vocabulary: int, seq_len: int, **others: Any
) -> ModelSpec:
    return ModelSpec(
        "m", vocabulary, vocabulary, d_model, d_ff, heads, seq_len, 1, layers, fidelity="realistic", **others
    )


def gpt(layers: int, d_model: int, heads: int, vocabulary: int = 51200) -> ModelSpec:
    """A model as GPT-2 and GPT-3 are: learned positions, biases, tied embeddings."""
    return model(
        layers,
        d_model,
        4 * d_model,
        heads,
        vocabulary,
        2048,
        tied_embeddings=True,
        biases=True,
        learned_positions=2048,
    )


LLAMA3_8B = model(32, 4096, 14336, 32, 128256, 4096, num_kv_heads=8, gated_mlp=True)
LLAMA3_405B = model(126, 16384, 53248, 128, 128256, 4096, num_kv_heads=8, gated_mlp=True)
MIXTRAL_8X7B = model(
    32, 4096, 14336, 32, 32000, 4096, num_kv_heads=8, gated_mlp=True, experts=MixtureOfExperts(8, 2, 14336)
)
DEEPSEEK_V2 = model(
    60,
    5120,
    12288,
    128,
    102400,
    4096,
    gated_mlp=True,
    experts=MixtureOfExperts(160, 6, 1536, shared=2, dense_layers=1),
    latent_attention=LatentAttention(512, 1536, 128, 64, 128),
)
DEEPSEEK_V3 = model(
    61,
    7168,
    18432,
    128,
    129280,
    4096,
    gated_mlp=True,
    experts=MixtureOfExperts(256, 8, 2048, shared=1, dense_layers=3),
    latent_attention=LatentAttention(512, 1536, 128, 64, 128),
    prediction_layers=1,
)


@pytest.mark.parametrize(
    ("layers", "d_model", "heads", "billions"),
    [
        (24, 2304, 24, "1.7"),
        (30, 3072, 32, "3.6"),
        (36, 4096, 32, "7.5"),
        (40, 6144, 48, "18.4"),
        (48, 8192, 64, "39.1"),
        (60, 10240, 80, "76.1"),
        (80, 12288, 96, "145.6"),
        (96, 16384, 128, "310.1"),
        (105, 20480, 128, "529.6"),
        (128, 25600, 160, "1008.0"),
    ],
)
def test_megatrons_scaling_family_has_the_parameters_of_its_table(
    layers: int, d_model: int, heads: int, billions: str
) -> None:
    """Table 1 of Narayanan et al. 2021, https://arxiv.org/abs/2104.04473."""
    assert f"{parameters(gpt(layers, d_model, heads)).total / 1e9:.1f}" == billions


@pytest.mark.parametrize(("layers", "d_model", "heads"), [(24, 2304, 24), (80, 12288, 96)])
def test_parameters_and_operations_are_megatrons_formulas(layers: int, d_model: int, heads: int) -> None:
    """Equations 2 and 3 of Narayanan et al. 2021, the latter without recompute and with all scores."""
    spec = gpt(layers, d_model, heads)
    inner = 12 * layers * d_model**2
    biases_and_norms = 13 * layers * d_model + 2 * d_model  # the paper leaves out the last norm
    assert parameters(spec).total == inner + biases_and_norms + (51200 + 2048) * d_model
    expected = 6 * inner * (1 + 2048 / (6 * d_model) + 51200 / (12 * layers * d_model))
    assert training_flops_per_token(spec, "full").total == pytest.approx(expected, rel=1e-12)


def test_models_with_published_weights_have_as_many_parameters() -> None:
    """As the index of each checkpoint on the Hugging Face Hub counts them."""
    assert parameters(LLAMA3_8B).total == 8_030_261_248
    assert parameters(LLAMA3_405B).total == 405_853_388_800
    assert parameters(MIXTRAL_8X7B).total == 46_702_792_704


def test_a_token_meets_the_published_share_of_a_mixture_of_experts() -> None:
    """12.9 of 46.7e9 (https://arxiv.org/abs/2401.04088), 21 of 236 (2405.04434), 37 of 671 (2412.19437)."""
    counts = [parameters(spec) for spec in (MIXTRAL_8X7B, DEEPSEEK_V2, DEEPSEEK_V3)]
    assert [f"{entry.total / 1e9:.1f}" for entry in counts] == ["46.7", "235.7", "671.0"]
    assert [f"{entry.active / 1e9:.1f}" for entry in counts] == ["12.9", "21.4", "37.6"]


def test_a_prediction_layer_is_counted_apart() -> None:
    """The checkpoint of DeepSeek-V3 has 684.5e9 16- and 8-bit weights, with copies of both embeddings."""
    counts = parameters(DEEPSEEK_V3)
    assert counts.prediction == 11_610_067_968
    assert counts.trained == counts.total + counts.prediction
    assert f"{(counts.trained + counts.embeddings) / 1e9:.1f}" == "684.5"
    assert parameters(replace(DEEPSEEK_V3, prediction_layers=0)).total == counts.total


def test_the_parts_of_a_layer_are_those_of_the_model() -> None:
    dense, expert = (layer_parameters(DEEPSEEK_V3, kind) for kind in ("dense", "expert"))
    assert dense.attention == expert.attention == 187_105_280
    assert (dense.feed_forward, expert.feed_forward) == (3 * 7168 * 18432, 0)
    assert expert.experts == 256 * 3 * 7168 * 2048
    assert expert.active_experts == 8 * 3 * 7168 * 2048
    assert expert.shared_experts == 3 * 7168 * 2048
    assert expert.router == 256 * 7168
    assert expert.norms == 2 * 7168 + 1536 + 512
    counts = parameters(DEEPSEEK_V3)
    assert counts.total == counts.embeddings + counts.final_norm + 3 * dense.total + 58 * expert.total
    assert layer_kinds(DEEPSEEK_V3) == (("dense", 3), ("expert", 58), ("prediction", 1))


def test_queries_without_low_rank_are_one_matrix() -> None:
    """DeepSeek-V2-Lite, 15.7e9 parameters (2405.04434, appendix B), as its checkpoint has."""
    lite = model(
        27,
        2048,
        10944,
        16,
        102400,
        4096,
        gated_mlp=True,
        experts=MixtureOfExperts(64, 6, 1408, shared=2, dense_layers=1),
        latent_attention=LatentAttention(512, None, 128, 64, 128),
    )
    assert parameters(lite).total == 15_706_484_224
    assert [matrix.name for matrix in matrices(lite, "dense")][:2] == ["query", "key_value_down"]


def test_biases_of_queries_keys_and_values_alone_are_counted() -> None:
    """Qwen2-7B has 7,615,616,512 parameters: https://huggingface.co/Qwen/Qwen2-7B."""
    qwen2 = model(28, 3584, 18944, 28, 152064, 4096, num_kv_heads=4, gated_mlp=True, qkv_biases=True)
    assert parameters(qwen2).total == 7_615_616_512


@pytest.mark.parametrize(("spec", "gflops"), [(DEEPSEEK_V2, 155), (DEEPSEEK_V3, 250), (LLAMA3_405B, 2448)])
def test_training_operations_are_the_published_ones_within_two_percent(
    spec: ModelSpec, gflops: float
) -> None:
    """Table 2 of https://arxiv.org/abs/2505.09343: a token, causal, 4096 tokens, no further prediction."""
    total = training_flops_per_token(replace(spec, prediction_layers=0)).total
    assert total / 1e9 == pytest.approx(gflops, rel=0.02)


def test_operations_of_a_run_are_the_published_ones() -> None:
    """3.14e23 for 300e9 tokens (https://arxiv.org/abs/2005.14165, table D.1, which leaves out the scores).

    3.8e25 for 15.6e12 tokens (https://arxiv.org/abs/2407.21783, section 3.2).
    """
    gpt3 = training_flops_per_token(gpt(96, 12288, 96, vocabulary=50257))
    assert f"{(gpt3.total - gpt3.scores) * 300e9:.2e}" == "3.14e+23"
    llama = training_flops_per_token(LLAMA3_405B)
    assert f"{(llama.total - llama.scores) * 15.6e12:.1e}" == "3.8e+25"


def test_a_prediction_layer_costs_its_products_scores_and_logits() -> None:
    main = training_flops_per_token(replace(DEEPSEEK_V3, prediction_layers=0))
    both = training_flops_per_token(DEEPSEEK_V3)
    layer = layer_parameters(DEEPSEEK_V3, "prediction")
    assert both.matrix_products - main.matrix_products == 6 * (layer.active - layer.norms)
    assert both.scores - main.scores == 6 * 2048 * 128 * (192 + 128)
    assert both.logits == 2 * main.logits


def test_a_full_mask_has_twice_the_scores_and_a_step_all_tokens() -> None:
    causal, full = (training_flops_per_token(LLAMA3_8B, mask) for mask in ("causal", "full"))
    assert full.scores == 2 * causal.scores
    assert training_flops(replace(LLAMA3_8B, batch_size=3)) == causal.total * 4096 * 3


def test_a_window_leaves_its_share_of_the_scores() -> None:
    """Of 4096 tokens with a window of 128 each sees 126 on average, in chunks of 1024 half of these."""
    windows, chunks = AttentionWindows(128), AttentionWindows(1024, chunked=True)
    full = training_flops_per_token(LLAMA3_8B)
    sliding = training_flops_per_token(replace(LLAMA3_8B, windows=windows))
    chunked = training_flops_per_token(replace(LLAMA3_8B, windows=chunks))
    assert mean_keys(replace(LLAMA3_8B, windows=windows), "dense_window") == 126
    assert sliding.scores / full.scores == pytest.approx(126 / 2048)
    assert chunked.scores / full.scores == 0.25
    assert sliding.matrix_products == full.matrix_products
    half = training_flops_per_token(replace(LLAMA3_8B, windows=AttentionWindows(128, full_every=2)))
    assert half.scores == (full.scores + sliding.scores) / 2
    longer = replace(LLAMA3_8B, windows=AttentionWindows(10**6))
    assert training_flops_per_token(longer) == full


def test_sparse_attention_adds_an_indexer_and_takes_away_scores() -> None:
    """DeepSeek-V3.2: 64 heads of 128 score all keys, attention sees 2048 (2512.02556, section 2.1)."""
    dense = replace(DEEPSEEK_V3, seq_len=65536, prediction_layers=0)
    sparse = replace(dense, sparse_attention=SparseAttention(64, 128, 2048))
    layer = layer_parameters(sparse, "expert")
    assert layer.indexer == 1536 * 64 * 128 + 7168 * 128 + 7168 * 64
    assert layer.norms - layer_parameters(dense, "expert").norms == 256
    scores = 2 * (2048 - 2048**2 / (2 * 65536)) * 128 * (192 + 128)
    index_scores = 2 * 32768 * 64 * 128
    assert training_flops_per_token(sparse).scores == 3 * 61 * (scores + index_scores)


def test_a_state_space_layer_has_two_products_and_small_vectors() -> None:
    """As the tensors of a layer of Nemotron-H-8B: in_proj, out_proj, conv1d, A, D, dt_bias and two norms."""
    hybrid = model(
        4, 4096, 21504, 32, 131072, 8192, layer_pattern="M-M*", state_space=StateSpace(128, 64, 128, 8)
    )
    layer = layer_parameters(hybrid, "state_space")
    assert layer.state_space == 4096 * (8192 + 10240 + 128) + 8192 * 4096
    assert layer.vectors == 4 * 10240 + 10240 + 3 * 128
    assert layer.norms == 4096 + 8192
    assert (layer.attention, layer.feed_forward) == (0, 0)
    assert layer_kinds(hybrid) == (
        ("state_space", 1),
        ("feed_forward", 1),
        ("state_space", 1),
        ("attention", 1),
    )
    per_layer = 3 * 6 * 128 * 64 * 128
    attention = 3 * 2 * 4096 * 32 * 2 * 128
    assert training_flops_per_token(hybrid).scores == 2 * per_layer + attention


def test_adapters_are_trained_and_nothing_else() -> None:
    """MLPerf fine-tunes 44,564,480 parameters of Llama 2 70B (https://github.com/mlcommons/training)."""
    llama2 = model(80, 8192, 28672, 64, 32000, 8192, num_kv_heads=8, gated_mlp=True)
    lora = replace(llama2, lora=LowRankAdapters(16, "qkv+output"))
    counts = parameters(lora)
    assert counts.total == parameters(llama2).total
    assert counts.trained == 44_564_480 == 80 * 16 * ((8192 + 10240) + (8192 + 8192))
    assert parameters(llama2).trained == parameters(llama2).total
    every = replace(llama2, lora=LowRankAdapters(16))
    feed_forward = 16 * ((8192 + 2 * 28672) + (28672 + 8192))
    assert layer_parameters(every, "dense").adapters == counts.trained // 80 + feed_forward


def test_frozen_weights_need_no_gradients() -> None:
    full, lora = (training_flops_per_token(replace(LLAMA3_8B, lora=it)) for it in (None, LowRankAdapters(16)))
    adapters = parameters(replace(LLAMA3_8B, lora=LowRankAdapters(16))).trained
    assert lora.matrix_products == full.matrix_products * 2 / 3 + 6 * adapters
    assert (lora.scores, lora.logits) == (full.scores, full.logits * 2 / 3)


def test_an_adapter_of_experts_is_one_for_each() -> None:
    adapted = replace(MIXTRAL_8X7B, lora=LowRankAdapters(8, "feed_forward"))
    assert layer_parameters(adapted, "expert").adapters == 8 * 8 * ((4096 + 2 * 14336) + (14336 + 4096))
