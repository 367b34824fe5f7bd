"""The files of conf/model against the figures of the papers that they name."""

from __future__ import annotations

import functools

import pytest

from dse.base.files import conf_folder
from dse.base.record_files import yaml_record
from dse.inputs.models import ModelSpec
from dse.inputs.models.counts import parameters
from dse.studies.config import compose_config

# Parameters in 10^9 as published, all and those of a token, each to the digits that the source gives.
PUBLISHED = {
    "llama3_8b": ("8.03", "8.03"),  # 8,030,261,248: https://huggingface.co/meta-llama/Meta-Llama-3-8B
    "llama3_70b": ("70.55", "70.55"),  # 70,553,706,496: https://huggingface.co/meta-llama/Meta-Llama-3-70B
    "llama3_405b": ("405.85", "405.85"),  # 405,853,388,800: https://huggingface.co/meta-llama/Llama-3.1-405B
    "mixtral_8x7b": ("46.7", "12.9"),  # https://mistral.ai/news/mixtral-of-experts
    "mixtral_8x22b": ("140.6", "39"),  # https://mistral.ai/news/mixtral-8x22b
    "qwen3_235b_a22b": ("235", "22"),  # https://arxiv.org/abs/2505.09388, table 2
    "deepseek_v2": ("236", "21"),  # https://arxiv.org/abs/2405.04434, section 3.1.2
    "deepseek_v3": (
        "671",
        "37",
    ),  # https://arxiv.org/abs/2412.19437, section 4.2: 37 without the input embedding
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


@functools.cache
def model(name: str) -> ModelSpec:
    return yaml_record(conf_folder() / "model" / f"{name}.yaml", ModelSpec, "model")


def rounded(count: float, like: str) -> str:
    return f"{count / 1e9:.{len(like.partition('.')[2])}f}"


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_model_has_the_published_number_of_parameters(name: str) -> None:
    total, active = PUBLISHED[name]
    counts = parameters(model(name))
    active_count = counts.active - (counts.input_embedding if name == "deepseek_v3" else 0)
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
