"""Configurations of the Hugging Face Hub: the model that each describes, and what is refused."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.inputs.models import AttentionWindows, MixtureOfExperts, ModelSpec
from dse.inputs.models.counts import parameters
from dse.inputs.models.families import ARCHITECTURES, FAMILIES, LACKING
from dse.inputs.models.huggingface import read_model
from dse.inputs.models.settings import (
    ExpertsSchema,
    LatentAttentionSchema,
    ModelSchema,
    SparseAttentionSchema,
    StateSpaceSchema,
    WindowsSchema,
    model_spec,
)


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
# What config.json of each model says of its sizes, and its parameters as the Hub counts them.
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


GROUPS: dict[str, Any] = {
    "experts": ExpertsSchema,
    "latent_attention": LatentAttentionSchema,
    "windows": WindowsSchema,
    "sparse_attention": SparseAttentionSchema,
    "state_space": StateSpaceSchema,
}


def read(folder: Path, content: object) -> ModelSpec:
    path = folder / "config.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    values = read_model(path, "model.file=config.json").values
    groups = {name: schema(**values.pop(name, {})) for name, schema in GROUPS.items()}
    return model_spec(ModelSchema(**values, **groups))


def refusal(folder: Path, text: str) -> str:
    path = folder / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_model(path, "model.file=config.json")
    return str(caught.value)


@pytest.mark.parametrize("name", MODELS)
def test_a_configuration_yields_the_parameters_of_its_checkpoint(name: str, tmp_path: Path) -> None:
    content, count = MODELS[name]
    model = read(tmp_path, content)
    assert parameters(model).total == count
    assert model.fidelity == "realistic"


def test_every_family_but_renamed_ones_is_among_them() -> None:
    tested = {content["model_type"] for content, _ in MODELS.values()}
    assert set(FAMILIES) - tested == {"granite", "kimi_k2", "llama4_text"}
    assert set(ARCHITECTURES.values()) <= set(FAMILIES)
    assert not set(LACKING) & set(FAMILIES)


def test_dropout_and_prediction_layers_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, MODELS["gpt2"][0]).dropout
    assert not read(tmp_path, {**MODELS["gpt2"][0], "attn_pdrop": 0.0, "resid_pdrop": 0.0}).dropout
    assert read(tmp_path, MODELS["DeepSeek-V3"][0]).prediction_layers == 1


def test_the_architecture_tells_the_family_where_the_type_does_not(tmp_path: Path) -> None:
    content = {**MODELS["Llama-2-7b"][0], "architectures": ["LlamaForCausalLM"], "model_type": "my_llama"}
    assert parameters(read(tmp_path, content)).total == 6_738_415_616


def test_what_is_assumed_or_left_out_is_said(tmp_path: Path) -> None:
    path = tmp_path / "mistral.json"
    path.write_text(json.dumps(MODELS["Mistral-7B-v0.1"][0]), encoding="utf-8")
    model = read_model(path, "model.file=mistral.json")
    assert model.values["name"] == "mistral"
    assert (model.values["seq_len"], model.values["batch_size"]) == (32768, 512)
    assert model.values["windows"] == {"size": 4096}
    assert model.notes == ()
    assert model.assumed == {
        "seq_len": "model.file=mistral.json: sequences have 32768 tokens, the longest that the model takes; "
        "training may have used fewer: model.seq_len=…",
        "batch_size": "model.file=mistral.json: the batch has 512 sequences, which no such file says: "
        "model.batch_size=…",
    }


def test_a_window_on_layers_of_no_rule_is_said_to_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "qwen2.json"
    changes = {"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 21}
    path.write_text(json.dumps({**MODELS["Qwen2-7B"][0], **changes}), encoding="utf-8")
    assert read_model(path, "model.file=qwen2.json").notes == (
        "model.file=qwen2.json: attention over a window of 4096 tokens on some layers is not modelled: "
        "scores are those of all keys",
    )


def test_layers_and_experts_are_where_the_configuration_says(tmp_path: Path) -> None:
    oss = read(tmp_path, MODELS["gpt-oss-20b"][0])
    assert (oss.windows, oss.attention_sinks) == (AttentionWindows(128, 2), True)
    maverick = read(tmp_path, MODELS["Llama-4-Maverick"][0])
    assert maverick.windows == AttentionWindows(8192, 4, chunked=True)
    assert maverick.experts == MixtureOfExperts(128, 1, 8192, shared=1, every=2)
    deepseek = read(tmp_path, MODELS["DeepSeek-V3.2"][0]).experts
    assert deepseek is not None
    assert (deepseek.groups, deepseek.top_groups) == (8, 4)


def test_the_text_model_of_one_with_images_is_read(tmp_path: Path) -> None:
    path = tmp_path / "maverick.json"
    path.write_text(json.dumps(MODELS["Llama-4-Maverick"][0]), encoding="utf-8")
    assert read_model(path, "model.file=x").notes == ("model.file=x: its image encoder is left out",)


KNOWN = "known model types are deepseek_v2, deepseek_v3, deepseek_v32, gemma, glm4_moe, gpt2, gpt_neox, "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "malformed JSON at line 1, column 2: Expecting property name enclosed in double quotes"),
        ("[" * 10_000, "is nested deeper than 100 levels, the most allowed"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "line 1: the number 9999"),
        ("[]", "must hold a JSON object with model_type and sizes, as a config.json does"),
        ("{}", f"has neither model_type nor architectures, so its architecture is unknown; {KNOWN}"),
        ('{"architectures": "x"}', "has neither model_type nor architectures"),
        (
            '{"model_type": "llamma", "architectures": ["LlammaModel"], "hidden_size": 8}',
            "architecture 'LlammaModel' (model_type 'llamma') is unknown: what reads its entries is missing, "
            f"and the file lacks vocab_size, num_attention_heads, num_hidden_layers; {KNOWN}",
        ),
        (
            '{"model_type": "gemma2"}',
            "model_type 'gemma2' is not modelled: norms behind blocks and windows in every second layer are "
            f"missing here; {KNOWN}",
        ),
        (
            '{"model_type": "gpt2", "n_embd": 8, "n_head": 2}',
            "lacks vocab_size, n_layer, n_positions, which a configuration of model_type gpt2 has; give the "
            "config.json of the whole model",
        ),
        ('{"model_type": "gpt2", "n_embd": "8"}', "n_embd is '8'; it must be an integer from 0"),
        ('{"model_type": "llama", "attention_bias": 1}', "attention_bias is 1; it must be true or false"),
        (
            '{"model_type": "deepseek_v3", "moe_layer_freq": 2}',
            "moe_layer_freq is 2, which no model here can have; it may be 1",
        ),
        (
            '{"model_type": "nemotron_h", "moe_latent_size": 1024}',
            "moe_latent_size is 1024, which no model here can have; it may be null",
        ),
        (
            '{"model_type": "llama", "num_hidden_layers": 3, "max_position_embeddings": 8, '
            '"sliding_window": 4, "layer_types": ["x", "full_attention", "full_attention"]}',
            "layer_types is ['x', 'full_attention', 'full_attention']; only every n-th layer can be "
            "'full_attention' for some n",
        ),
        ('{"model_type": "llama4", "text_config": 3}', "text_config is 3; it must be an object"),
        ('{"model_type": "gpt2", "resid_pdrop": 2}', "resid_pdrop is 2; it must be a number from 0 to 1"),
        (
            '{"model_type": "qwen3_moe", "mlp_only_layers": [5]}',
            "mlp_only_layers is [5]; only the first layers can be without experts, as in [0, 1]",
        ),
    ],
)
def test_a_file_that_describes_no_known_model_is_refused(text: str, message: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, text).startswith(f"model.file=config.json: {message}")


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers(0, 3), max_size=3)
)


@given(st.data())
def test_whatever_entries_hold_is_a_model_or_a_user_error(data: st.DataObject) -> None:
    content, _ = MODELS[data.draw(st.sampled_from(sorted(MODELS)))]
    optional = ["mlp_only_layers", "attention_dropout", "resid_pdrop", "sliding_window", "architectures"]
    changed = data.draw(st.dictionaries(st.sampled_from(sorted(content) + optional), VALUES, max_size=4))
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(InputError):
        assert parameters(read(Path(folder), {**content, **changed})).total > 0


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name, problem in (("none.json", "no such file"), (".", "is a folder")):
        with pytest.raises(InputError, match=f"^model.file=x: {problem}; give the config.json of a model of"):
            read_model(tmp_path / name, "model.file=x")
    path = tmp_path / "latin.json"
    path.write_bytes(b'{"model_type": "\xe9"}')
    with pytest.raises(InputError, match=r"^model.file=x: is not UTF-8 text \(byte 16\)$"):
        read_model(path, "model.file=x")
