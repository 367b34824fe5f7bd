"""Models with windows, state-space layers and adapters: what one NPU holds and keeps, and for how long."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import (
    AttentionWindows,
    LowRankAdapters,
    MixtureOfExperts,
    ModelSpec,
    SparseAttention,
)
from dse.inputs.models.counts import parameters
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict
from dse.studies.config import compose_config
from tests.references.prediction.activations import kept_bytes
from tests.references.prediction.blocks import layer
from tests.references.prediction.kernels import Pass
from tests.references.prediction.layout import stages
from tests.references.prediction.routing import mean_reached
from tests.references.prediction.sharded_sizes import Local
from tests.references.prediction.state_space import scan
from tests.references.prediction.weights import Weights, stage_weights


def local(model: str, *overrides: str) -> Local:
    return Local(compose_config([f"model={model}", *overrides]).model, Plan())


def held(one: Local) -> Weights:
    return stage_weights(one, stages(one.model, one.plan)[0])[0]


@pytest.mark.parametrize(
    "name",
    [
        "gemma3_12b",
        "gpt_oss_20b",
        "llama4_maverick",
        "nemotron_h_8b",
        "nemotron_3_nano",
        "deepseek_v3_2",
        "glm_4_5_air",
    ],
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


def test_norms_behind_blocks_keep_and_move_the_outputs_of_both_blocks() -> None:
    """8192 tokens of 3840 features: a norm reads and writes them, and backward reads two and writes one."""
    gemma = local("gemma3_12b")
    without = Local(replace(gemma.model, post_norms=False), Plan())
    kept = [kept_bytes(each, "dense", is_recomputed=False) for each in (gemma, without)]
    assert kept[0] - kept[1] == 2 * (2 * 8192 * 3840)
    moved = [
        sum(kernel.bytes_ for kernel in kernels)
        for each in (gemma, without)
        for kernels in (layer(each, "dense").forward, layer(each, "dense").backward)
    ]
    assert (moved[0] - moved[2], moved[1] - moved[3]) == (2 * (4 * 8192 * 3840), 2 * (6 * 8192 * 3840))
    cluster = cluster_of_conf("dgx_h100", 1)
    times = [predict(each.model, Plan(dp=8), cluster).step_s for each in (gemma, without)]
    assert times[0] > 1.01 * times[1]


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


NODE = cluster_of_conf("dgx_h100", 1)
LLAMA = replace(local("llama3_8b").model, batch_size=8)
DEEPSEEK = replace(local("deepseek_v3_2").model, batch_size=8)


def parts(model: ModelSpec, **plan: int) -> dict[str, float]:
    return predict(model, Plan(dp=8, **plan), NODE).parts_s


def test_a_window_saves_time_of_attention_and_none_else() -> None:
    """Of 8192 tokens with a window of 1024 each sees 960 on average, and tiles cost 102 keys more."""
    full, window = parts(LLAMA), parts(replace(LLAMA, windows=AttentionWindows(1024)))
    assert window["attention"] / full["attention"] == pytest.approx((960 + 102) / (4096 + 102))
    half = parts(replace(LLAMA, windows=AttentionWindows(1024, full_every=2)))
    assert half["attention"] == pytest.approx((full["attention"] + window["attention"]) / 2)
    assert {**window, "attention": 0.0} == pytest.approx({**full, "attention": 0.0})
    assert parts(replace(LLAMA, windows=AttentionWindows(8192))) == full


def test_adapters_save_a_third_of_the_products_and_most_of_what_follows() -> None:
    full, lora = parts(LLAMA), parts(replace(LLAMA, lora=LowRankAdapters(16, "qkv")))
    assert lora["matrix_products"] / full["matrix_products"] == pytest.approx(2 / 3, rel=0.02)
    assert lora["memory_bound"] > full["memory_bound"]
    trained = parameters(replace(LLAMA, lora=LowRankAdapters(16, "qkv"))).trained
    assert lora["optimizer"] / full["optimizer"] == pytest.approx(trained / parameters(LLAMA).trained)


def test_a_state_space_model_takes_twice_as_long_for_twice_the_tokens() -> None:
    """But for its 4 of 52 layers with attention."""
    hybrid = replace(local("nemotron_h_8b").model, batch_size=8, layer_pattern="M-" * 26)
    once, twice = parts(hybrid), parts(replace(hybrid, seq_len=2 * hybrid.seq_len))
    assert twice["attention"] == pytest.approx(2 * once["attention"])
    assert twice["matrix_products"] == pytest.approx(2 * once["matrix_products"], rel=0.02)


def test_sparse_attention_pays_for_long_sequences() -> None:
    def attention(seq_len: int, sparse: SparseAttention | None) -> float:
        model = replace(DEEPSEEK, seq_len=seq_len, sparse_attention=sparse)
        return predict(model, Plan(dp=8, ep=8), NODE).parts_s["attention"]

    assert attention(131_072, DEEPSEEK.sparse_attention) < 0.4 * attention(131_072, None)
    assert attention(2048, DEEPSEEK.sparse_attention) > attention(2048, None)


def test_groups_limit_the_units_that_a_token_reaches() -> None:
    """DeepSeek-V3: 4 of 8 groups, and a node has one; without groups a token reaches 5.3 of 8 nodes."""
    free = MixtureOfExperts(256, 8, 2048)
    assert mean_reached(free, 8) == pytest.approx(5.2947, abs=1e-4)
    limited = replace(free, groups=8, top_groups=4)
    assert [round(mean_reached(limited, parts), 2) for parts in (1, 4, 8, 64)] == [1.0, 2.93, 3.63, 7.36]
    assert mean_reached(replace(free, groups=8, top_groups=8), 32) == mean_reached(free, 32)


def test_a_scan_runs_its_kernels_and_in_the_backward_pass_three_again() -> None:
    """Nemotron-H-8B: 8192 features, 8 groups of 128, chunks of 128 tokens of which half are seen."""
    one, kernels = local("nemotron_h_8b"), Pass()
    scan(one, kernels)
    forward = [kernel for kernel in kernels.forward if kernel.unit == "attention"]
    backward = [kernel for kernel in kernels.backward if kernel.unit == "attention"]
    assert (len(forward), len(backward)) == (4, 3 + 7)
    expected = 128 * 8192 + 4 * 8192 * 128 + 2 * 128 * 1024
    assert sum(kernel.operations for kernel in forward) == one.tokens * expected
    split = Pass()
    scan(Local(one.model, Plan(tp=8, dp=1)), split)
    assert sum(kernel.bytes_ * kernel.repeats for kernel in split.forward) * 8 == pytest.approx(
        sum(kernel.bytes_ * kernel.repeats for kernel in kernels.forward)
    )


def test_layers_without_a_mixer_exchange_nothing_between_parts_of_a_sequence() -> None:
    """A hybrid of four layers: what two parts exchange is that of its mixers, whatever else it has."""
    hybrid = replace(local("nemotron_h_8b").model, batch_size=8, num_layers=4, layer_pattern="M*--")
    more = replace(hybrid, num_layers=8, layer_pattern="M*------")
    few, many = (predict(each, Plan(dp=4, cp=2), NODE).parts_s["cp"] for each in (hybrid, more))
    assert few == pytest.approx(many)
    assert few > 0
