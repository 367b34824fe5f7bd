"""Memory of models with windows, state-space layers and adapters: what one NPU holds and keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.inputs.models.counts import parameters
from dse.prediction.steps.activations import kept_bytes
from dse.prediction.steps.layout import stages
from dse.prediction.steps.memory import Weights, stage_weights
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.sharded_sizes import Local
from dse.studies.config import compose_config


def local(model: str, *overrides: str) -> Local:
    return Local(compose_config([f"model={model}", *overrides]).model, Plan())


def held(one: Local) -> Weights:
    return stage_weights(one, stages(one.model, one.plan)[0])[0]


@pytest.mark.parametrize(
    "name",
    ["gpt_oss_20b", "llama4_maverick", "nemotron_h_8b", "nemotron_3_nano", "deepseek_v3_2", "glm_4_5_air"],
)
def test_one_npu_holds_all_parameters(name: str) -> None:
    one, adapted = local(name), local(name, "model.lora.rank=16")
    counts = parameters(one.model)
    assert held(one).total == held(one).trained.total == counts.trained
    assert held(adapted).total == counts.trained + parameters(adapted.model).adapters
    assert held(adapted).trained.total == parameters(adapted.model).trained


def test_a_state_space_layer_keeps_its_three_tensors_and_a_norm() -> None:
    """Nemotron-H-8B: 18,560 features of the first product, 8,192 of the scan and as many of its norm."""
    one = local("nemotron_h_8b")
    expected = 2 * one.tokens * (18_560 + 8_192 + 8_192) + 4 * one.tokens * 4096
    assert kept_bytes(one, "state_space", is_recomputed=False) == expected


def test_an_indexer_keeps_the_places_of_the_keys_that_it_chose() -> None:
    sparse = local("deepseek_v3_2")
    dense = Local(replace(sparse.model, sparse_attention=None), Plan())
    one, other = (kept_bytes(each, "expert", is_recomputed=False) for each in (sparse, dense))
    assert one - other == sparse.tokens * (4 * 2048 + 2 * 65 * 128)


def test_inputs_of_frozen_products_are_not_kept() -> None:
    """Adapters of attention alone: the inputs of both feed-forward products go, 2 bytes a feature each."""
    full, every = local("llama3_8b"), local("llama3_8b", "model.lora.rank=16")
    few = local("llama3_8b", "model.lora.rank=16", "model.lora.targets=qkv+output")
    whole, same, less = (kept_bytes(each, "dense", is_recomputed=False) for each in (full, every, few))
    assert whole == same
    assert whole - less == 2 * full.tokens * (4096 + 14336)
