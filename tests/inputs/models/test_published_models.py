"""The files of conf/model against the figures of the papers that they name."""

from __future__ import annotations

import functools
from collections import Counter

import pytest

from dse.base.files import conf_folder
from dse.base.record_files import yaml_record
from dse.inputs.models import ModelSpec
from dse.inputs.models.counts import parameters
from dse.inputs.models.flops import training_flops_per_token
from dse.inputs.models.matrices import layer_kinds
from dse.studies.config import compose_config

# Parameters in 10^9 as published, all and those of a token, each to the digits that the source gives.
PUBLISHED = {
    "llama3_8b": ("8.03", "8.03"),  # 8,030,261,248: https://huggingface.co/meta-llama/Meta-Llama-3-8B
    "llama3_70b": ("70.55", "70.55"),  # 70,553,706,496: https://huggingface.co/meta-llama/Meta-Llama-3-70B
    "llama3_405b": ("405.85", "405.85"),  # 405,853,388,800: https://huggingface.co/meta-llama/Llama-3.1-405B
    "mixtral_8x7b": ("46.7", "12.9"),  # https://mistral.ai/news/mixtral-of-experts
    "mixtral_8x22b": ("140.6", "39"),  # https://mistral.ai/news/mixtral-8x22b
    "qwen3_235b_a22b": ("235", "22"),  # https://arxiv.org/abs/2505.09388, table 2
    "qwen3_8b": ("8.2", "8.2"),  # https://huggingface.co/Qwen/Qwen3-8B, and so on
    "qwen3_32b": ("32.8", "32.8"),
    "qwen3_30b_a3b": ("30.5", "3"),
    "gpt_oss_20b": ("20.91", "3.61"),  # https://arxiv.org/abs/2508.10925, table 1
    "gpt_oss_120b": ("116.83", "5.13"),
    "kimi_k2": ("1026", "33"),  # https://huggingface.co/moonshotai/Kimi-K2-Base
    "llama4_scout": ("108", "17"),  # https://huggingface.co/meta-llama/Llama-4-Scout-17B-16E, text model
    "llama4_maverick": ("401", "17"),
    "gemma3_12b": ("11.77", "11.77"),  # https://arxiv.org/abs/2503.19786, table 1: 10,759M and embeddings
    "gemma3_27b": ("27.01", "27.01"),  # 25,600M and embeddings
    "nemotron_h_8b": ("8.1", "8.1"),  # https://huggingface.co/nvidia/Nemotron-H-8B-Base-8K, and so on
    "nemotron_h_47b": ("46.8", "46.8"),
    "nemotron_h_56b": ("56.3", "56.3"),
    "nemotron_3_nano": ("31.6", "3.6"),  # https://arxiv.org/abs/2512.20848, 3.2 without embeddings
    "deepseek_v2": ("236", "21"),  # https://arxiv.org/abs/2405.04434, section 3.1.2
    "deepseek_v3": (
        "671",
        "37",
    ),  # https://arxiv.org/abs/2412.19437, section 4.2: 37 without the input embedding
    "deepseek_v3_2": ("672", "37"),
    "gpt3_175b": ("175", "175"),  # https://arxiv.org/abs/2005.14165, table 2.1
    "megatron_1.7b": ("1.7", "1.7"),  # https://arxiv.org/abs/2104.04473, table 1, and so on
    "megatron_3.6b": ("3.6", "3.6"),
    "megatron_7.5b": ("7.5", "7.5"),
    "megatron_18b": ("18.4", "18.4"),
    "megatron_39b": ("39.1", "39.1"),
    "megatron_76b": ("76.1", "76.1"),
    "megatron_145b": ("145.6", "145.6"),
    "megatron_310b": ("310.1", "310.1"),
    "megatron_530b": ("529.6", "529.6"),
    "megatron_1t": ("1008.0", "1008.0"),
    "megatron_22b": ("22", "22"),  # https://arxiv.org/abs/2205.05198, table 3
    "mt_nlg_530b": ("530", "530"),  # https://arxiv.org/abs/2201.11990, section 2.3
}

NO_INPUT_EMBEDDING = ("deepseek_v3", "deepseek_v3_2", "gpt_oss_20b", "gpt_oss_120b")
"""Models whose publications leave the input embedding out of the parameters of a token."""


@functools.cache
def model(name: str) -> ModelSpec:
    return yaml_record(conf_folder() / "model" / f"{name}.yaml", ModelSpec, "model")


def rounded(count: float, like: str) -> str:
    return f"{count / 1e9:.{len(like.partition('.')[2])}f}"


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_model_has_the_published_number_of_parameters(name: str) -> None:
    total, active = PUBLISHED[name]
    counts = parameters(model(name))
    active_count = counts.active - (counts.input_embedding if name in NO_INPUT_EMBEDDING else 0)
    assert (rounded(counts.total, total), rounded(active_count, active)) == (total, active)
    assert model(name).fidelity == "realistic"


@pytest.mark.parametrize("name", ["deepseek_v3", "megatron_1.7b"])
def test_a_file_is_the_model_that_commands_compose(name: str) -> None:
    assert model(name) == compose_config([f"model={name}"]).model


def test_the_weights_of_checkpoints_are_counted_exactly() -> None:
    """As the Hugging Face Hub counts them."""
    assert parameters(model("llama3_70b")).total == 70_553_706_496
    assert parameters(model("mixtral_8x22b")).total == 140_620_634_112
    assert parameters(model("qwen3_235b_a22b")).total == 235_093_634_560
    assert parameters(model("qwen3_8b")).total == 8_190_735_360
    assert parameters(model("qwen3_32b")).total == 32_762_123_264
    assert parameters(model("qwen3_30b_a3b")).total == 30_532_122_624
    assert parameters(model("gpt_oss_20b")).total == 20_914_757_184
    assert parameters(model("gpt_oss_120b")).total == 116_829_156_672


@pytest.mark.parametrize(
    ("name", "weights", "layers"),
    [
        ("glm_4_5", 358_337_791_296, 89 + 1),
        ("glm_4_5_air", 110_468_824_832, 45 + 1),
        ("nemotron_3_nano", 31_577_940_288, 23),
    ],
)
def test_checkpoints_have_a_bias_for_each_expert_and_copies_of_embeddings(
    name: str, weights: int, layers: int
) -> None:
    """The bias balances the load and has no gradient. Prediction layers bring copies of both embeddings."""
    counts, experts = parameters(model(name)), model(name).experts
    assert experts is not None
    copies = counts.embeddings if model(name).prediction_layers else 0
    assert counts.trained + copies + layers * experts.count == weights


def test_glm_counts_the_prediction_layer_and_no_embeddings() -> None:
    """355e9 parameters, 32e9 of a token: https://arxiv.org/abs/2508.06471, table 1."""
    counts = parameters(model("glm_4_5"))
    assert rounded(counts.trained - counts.embeddings, "355") == "355"
    assert rounded(counts.active - counts.embeddings, "32") == "32"


def test_glm_5_counts_no_embeddings_of_a_token() -> None:
    """744e9 parameters, 40e9 of a token: https://huggingface.co/docs/transformers/model_doc/glm_moe_dsa."""
    counts = parameters(model("glm_5"))
    assert rounded(counts.total, "744") == "744"
    assert rounded(counts.active - counts.embeddings, "40") == "40"


def test_layers_alternate_as_published() -> None:
    """gpt-oss sees all keys on every second layer, Llama 4 on every fourth, Maverick has experts on half."""
    assert layer_kinds(model("gpt_oss_20b"))[:3] == (
        ("expert_window", 1),
        ("expert", 1),
        ("expert_window", 1),
    )
    assert layer_kinds(model("llama4_scout"))[:2] == (("expert_window", 3), ("expert", 1))
    assert layer_kinds(model("llama4_maverick"))[:5] == (
        ("dense_window", 1),
        ("expert_window", 1),
        ("dense_window", 1),
        ("expert", 1),
        ("dense_window", 1),
    )
    numbers: Counter[str] = Counter()
    for kind, count in layer_kinds(model("nemotron_3_nano")):
        numbers[kind] += count
    assert numbers == {"state_space": 23, "experts": 23, "attention": 6}
    numbers = Counter()
    for kind, count in layer_kinds(model("nemotron_h_56b")):
        numbers[kind] += count
    assert numbers == {"state_space": 54, "feed_forward": 54, "attention": 10}


def test_operations_of_gpt_oss_are_those_that_nvidia_counts() -> None:
    """943 TFLOP/s at 28,947 tokens/s a GPU, 4096 tokens a sequence: Megatron Bridge 26.06, GB200."""
    total = training_flops_per_token(model("gpt_oss_120b")).total
    assert total == pytest.approx(943e12 / 28_947, rel=0.005)


def test_batches_are_as_published_where_they_are() -> None:
    """In tokens: Llama 3 405B 16M, DeepSeek-V2 and V3 9216 and 15360 sequences of 4K, MT-NLG 1920 of 2K."""
    tokens = {
        name: model(name).seq_len * model(name).batch_size
        for name in ("llama3_405b", "deepseek_v2", "deepseek_v3", "mt_nlg_530b", "gpt3_175b")
    }
    assert tokens == {
        "llama3_405b": 16 * 2**20,
        "deepseek_v2": 9216 * 4096,
        "deepseek_v3": 15360 * 4096,
        "mt_nlg_530b": 1920 * 2048,
        "gpt3_175b": 1536 * 2048,
    }
