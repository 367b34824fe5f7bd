"""Configurations of the Hugging Face Hub: the model that each describes, and what is refused."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.inputs.models import AttentionWindows, MixtureOfExperts, ModelSpec
from dse.inputs.models.counts import parameters
from dse.inputs.models.families import ARCHITECTURES, FAMILIES, LACKING
from dse.inputs.models.huggingface import read_model
from dse.inputs.models.settings import ModelSchema, model_spec
from tests.inputs.models.hub_configurations import MODELS

GROUPS = ("experts", "latent_attention", "windows", "sparse_attention", "state_space")


def read(folder: Path, content: object) -> ModelSpec:
    path = folder / "config.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    values = read_model(path, "model.file=config.json").values
    schemas = get_type_hints(ModelSchema)
    groups = {name: schemas[name](**values.pop(name, {})) for name in GROUPS}
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


@pytest.mark.parametrize(("name", "every"), [("gpt-oss-20b", 2), ("OLMo-3-7B", 4)])
def test_layers_without_a_list_have_the_windows_of_their_family(
    name: str, every: int, tmp_path: Path
) -> None:
    content = {key: value for key, value in MODELS[name][0].items() if key != "layer_types"}
    windows = read(tmp_path, content).windows
    assert windows is not None
    assert windows.full_every == every


def test_a_text_model_of_another_family_is_refused(tmp_path: Path) -> None:
    text = {**MODELS["DeepSeek-V3"][0], "model_type": "deepseek_v3"}
    assert refusal(tmp_path, json.dumps({"model_type": "mistral3", "text_config": text})) == (
        "model.file=config.json: text_config: model_type is 'deepseek_v3'; it may be mistral, ministral, "
        "ministral3, llama: give the text model as a config.json of its own, with its model_type"
    )


def test_the_whole_model_may_say_that_its_text_model_ties_embeddings(tmp_path: Path) -> None:
    content = {**MODELS["Mistral-Small-3.1-24B"][0], "tie_word_embeddings": True}
    assert read(tmp_path, content).tied_embeddings


@pytest.mark.parametrize(("last", "is_read"), [(-1, True), (27, True), (14, False)])
def test_experts_up_to_a_layer_before_the_last_are_refused(last: int, is_read: bool, tmp_path: Path) -> None:
    content = {**MODELS["ERNIE-4.5-21B-A3B"][0], "moe_layer_end_index": last}
    if is_read:
        assert read(tmp_path, content).experts == read(tmp_path, MODELS["ERNIE-4.5-21B-A3B"][0]).experts
    else:
        assert refusal(tmp_path, json.dumps(content)) == (
            "model.file=config.json: moe_layer_end_index is 14, which no model here can have; it may be -1"
        )


@pytest.mark.parametrize("name", ["Llama-4-Maverick", "gemma-3-4b", "Mistral-Small-3.1-24B"])
def test_the_text_model_of_one_with_images_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(MODELS[name][0]), encoding="utf-8")
    assert read_model(path, "model.file=x").notes == ("model.file=x: its image encoder is left out",)


def test_gemma_has_norms_behind_blocks_and_windows_between_full_layers(tmp_path: Path) -> None:
    second = read(tmp_path, MODELS["gemma-2-9b"][0])
    assert (second.windows, second.post_norms, second.query_key_norms) == (
        AttentionWindows(4096, 2), True, False,
    )  # fmt: skip
    third = read(tmp_path, MODELS["gemma-3-4b"][0])
    assert (third.windows, third.post_norms, third.query_key_norms) == (AttentionWindows(1024, 6), True, True)
    assert (third.num_heads, third.key_value_heads, third.key_width) == (8, 4, 256)
    full = read(tmp_path, {**MODELS["gemma-3-1b"][0], "sliding_window_pattern": 1})
    assert full.windows is None


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("GLM-5", "layers that share an indexer are counted with one each"),
        ("OLMoE-1B-7B", "norms of queries and keys are counted as those of one head"),
        ("Qwen1.5-MoE-A2.7B", "the gate of the expert that sees every token is not counted"),
    ],
)
def test_parameters_that_are_not_counted_are_said(name: str, note: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    content = {**MODELS[name][0], "index_topk_freq": 4}
    path.write_text(json.dumps(content), encoding="utf-8")
    assert read_model(path, "model.file=x").notes == (f"model.file=x: {note}",)


KNOWN = "known model types are deepseek_v2, deepseek_v3, deepseek_v32, dots1, ernie4_5_moe, gemma, gemma2, "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "malformed JSON at line 1, column 2: Expecting property name enclosed in double quotes"),
        ("[" * 10_000 + "]" * 10_000, "is nested deeper than 100 levels, the most allowed"),
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
            '{"model_type": "cohere"}',
            "model_type 'cohere' is not modelled: attention and feed-forward that share a norm are missing "
            f"here; {KNOWN}",
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
