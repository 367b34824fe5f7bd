"""Peaks of memory by framework: measured ones, and that none grows where less is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import LatentAttention, MixtureOfExperts, ModelSpec
from dse.inputs.models.counts import parameters
from dse.prediction.accuracy.comparison import compare
from dse.prediction.measured.cases import case_of
from dse.prediction.measured.rows import fitted_rows
from dse.prediction.steps.framework_memory import FrameworkMemory
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict
from tests.references.prediction.activations import kept_bytes
from tests.references.prediction.sharded_sizes import Local

GIB = 2**30
NODE = cluster_of_conf("dgx_h100", 1)
DENSE = ModelSpec(
    "dense", 32000, 32000, 2048, 8192, 16, 4096, 64, 8, num_kv_heads=8, gated_mlp=True, fidelity="realistic"
)
MIXTURE = replace(
    DENSE,
    name="mixture",
    num_kv_heads=None,
    experts=MixtureOfExperts(16, 4, 1024, 1),
    latent_attention=LatentAttention(
        key_value_rank=512, query_rank=768, nope_dim=64, rope_dim=32, value_dim=64
    ),
)
MODULES = ("core_attn", "mla_up_proj", "mlp", "moe", "moe_act", "layernorm", "shared_experts")


def peak_gib(model: ModelSpec, plan: Plan) -> float:
    """The predicted peak on a node of 8 H100."""
    return predict(model, plan, NODE).peak_memory_bytes / GIB


def error_pct(row_id: str) -> float:
    """The error of the predicted peak of a published run."""
    row = next(row for row in fitted_rows() if row.id == row_id)
    assert row.measured_memory_gib is not None
    case = case_of(row)
    peak = predict(case.model, case.plan, case.cluster).peak_memory_bytes
    return 100 * (peak / GIB / row.measured_memory_gib - 1)


@pytest.mark.parametrize(
    "row_id",
    [
        "simumax-llama3_70b_l12_tp1_pp2_dp4_mbc4_cef",  # the first stage, in the backward pass of a layer
        "simumax-llama3_70b_l12_tp8_pp1_dp1_mbc4_cef",  # in the backward pass of the head
        "simumax-deepseekv2_tp1_ep8_pp1_dp8_l4_mbc4_cef",
        "simumax-deepseekv2_tp1_ep4_pp2_dp4_l4_mbc4_cef",
    ],
)
def test_peaks_of_megatron_core_on_b200_are_within_three_thousandths(row_id: str) -> None:
    """MooreThreads/SimuMax, docs/b200: 66.55, 28.29, 45.63 and 44.70 GiB."""
    assert abs(error_pct(row_id)) < 0.3


@pytest.mark.parametrize(
    "row_id", ["titan-t1-eager", "titan-t1-compile", "titan-t3-eager", "titan-t3-compile"]
)
def test_peaks_of_torchtitan_are_within_five_per_cent(row_id: str) -> None:
    """Its report of December 2024: 82.4, 77.0, 67.0 and 62.0 GiB reserved on 8 and on 128 H100."""
    assert abs(error_pct(row_id)) < 5


def test_a_placeholder_of_each_shape_stays_allocated() -> None:
    """Two bytes for each weight of one layer: its eight have the same shapes."""
    layer = 2048 * (2 * 2048 + 2 * 1024) + 3 * 2048 * 8192
    with_placeholders = predict(DENSE, Plan(dp=8), NODE).memory_bytes["workspace"]
    without = predict(DENSE, Plan(dp=8, framework="megatron-lm"), NODE).memory_bytes["workspace"]
    assert with_placeholders - without == 2 * layer


def test_weights_in_8_bit_replace_those_in_16_bit_in_megatron_bridge() -> None:
    """A byte along each side, where Megatron-Core keeps 2 bytes besides."""
    layers = 8 * (2048 * (2 * 2048 + 2 * 1024) + 3 * 2048 * 8192)
    core, bridge = (
        predict(DENSE, Plan(dp=8, precision="fp8", framework=name), NODE).memory_bytes["weights"]
        for name in ("megatron-core", "megatron-bridge")
    )
    assert core - bridge == 2 * layers


def test_context_parallelism_keeps_the_output_of_attention_twice() -> None:
    """2 bytes for each of 2048 features of a rank's 2048 tokens."""
    split = kept_bytes(Local(DENSE, Plan(cp=2)), "dense", is_recomputed=False)
    whole = kept_bytes(Local(DENSE, Plan()), "dense", is_recomputed=False)
    assert split - whole / 2 == 2 * 2048 * 2048


def test_the_up_projections_of_latent_attention_are_recomputed_from_both_ranks() -> None:
    """Queries and keys of 96 features a head, values of 64, and both normalised ranks are not kept."""
    none, some = (
        kept_bytes(Local(MIXTURE, Plan(recompute=modules)), "expert", is_recomputed=True)
        for modules in ("none", "mla_up_proj")
    )
    assert none - some == 2 * 4096 * (16 * (96 + 96 + 64) + 768 + 512)


def test_activation_functions_of_experts_are_recomputed_from_their_inputs() -> None:
    """The output of 4 experts a token, 1024 features wide, is not kept."""
    none, some = (
        kept_bytes(Local(MIXTURE, Plan(recompute=modules)), "expert", is_recomputed=True)
        for modules in ("none", "moe_act")
    )
    assert none - some == 2 * 4 * 4096 * 1024


@given(st.sampled_from([DENSE, MIXTURE]), st.sets(st.sampled_from(MODULES)), st.sampled_from(MODULES))
@settings(deadline=None, max_examples=50)
def test_more_modules_recomputed_keep_no_more(model: ModelSpec, modules: set[str], one: str) -> None:
    kind = "dense" if model is DENSE else "expert"
    kept = [
        kept_bytes(Local(model, Plan(recompute="+".join(sorted(names)) or "none")), kind, is_recomputed=True)  # type: ignore[arg-type]
        for names in (modules, modules | {one})
    ]
    full = kept_bytes(Local(model, Plan(recompute="full")), kind, is_recomputed=True)  # type: ignore[arg-type]
    assert kept[0] >= kept[1] >= full


@given(st.integers(0, 7), st.sampled_from(["none", "full"]))
@settings(deadline=None, max_examples=20)
def test_more_layers_recomputed_need_no_more_memory(layers: int, recompute: str) -> None:
    """One more of eight layers; the first has to be there again in whole when its backward pass begins."""
    plan = Plan(dp=8, micro_batch=2, recompute="full")
    fewer, more = (
        peak_gib(DENSE, replace(plan, recompute_layers=count)) for count in (max(1, layers), layers + 1)
    )
    assert more <= fewer
    assert peak_gib(DENSE, replace(plan, recompute_layers=0)) <= peak_gib(
        DENSE, replace(plan, recompute=recompute)
    )


@given(st.sampled_from(["megatron-core", "megatron-bridge", "torchtitan", "megatron-deepspeed"]))
@settings(deadline=None, max_examples=4)
def test_more_shards_need_no_more_memory(framework: str) -> None:
    """Stages of ZeRO one after the other, and tensor parallelism beside them."""
    stages = [peak_gib(DENSE, Plan(dp=8, zero=zero, framework=framework)) for zero in (0, 1, 2)]
    assert stages == sorted(stages, reverse=True)
    split = [
        peak_gib(DENSE, Plan(dp=8 // tp, tp=tp, sequence_parallel=tp > 1, framework=framework))
        for tp in (1, 2, 4, 8)
    ]
    assert split == sorted(split, reverse=True)


@pytest.mark.parametrize(
    "name", ["megatron-core", "megatron-bridge", "torchtitan", "torchtitan-compiled", "nanotron", "maxtext"]
)
def test_figures_of_memory_have_a_source(name: str) -> None:
    assert "memory" in framework_named(name).sources


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"logit_bytes": 1}, "framework.memory.logit_bytes is 1; it must be from 2 to 32"),
        ({"selective": "all"}, "framework.memory.selective is all; allowed are core_attn, products"),
        ({"margin": 1.5}, "framework.memory.margin is 1.5; it must be at least 0 and below 1"),
        ({"workspace_bytes": -1}, "framework.memory.workspace_bytes is -1; it must be at least 0"),
    ],
)
def test_an_impossible_figure_of_memory_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        FrameworkMemory(**values)  # type: ignore[arg-type]


def test_fsdp2_gathers_a_stage_once_a_step() -> None:
    """In 16 bit, with gradients in fp32: 6 bytes for each weight of half of the layers and a table."""
    model = replace(DENSE, num_layers=32)
    weights = 16 * (2048 * (2 * 2048 + 2 * 1024) + 3 * 2048 * 8192 + 2 * 2048) + 32000 * 2048
    plan = Plan(dp=4, pp=2, weight_sharded=True, framework="torchtitan")
    found = predict(model, plan, NODE).memory_bytes
    static = found["weights"] + found["gradients"] + found["optimizer"]
    assert static == pytest.approx((6 + 16 / 4) * weights, rel=1e-4)


def test_a_parallel_loss_of_pytorch_has_18_bytes_a_logit() -> None:
    """Besides these, inputs of 8 layers and of the last norm with its output: an eighth of each."""
    plan = Plan(
        tp=8, sequence_parallel=True, recompute="full", micro_batch=4, framework="torchtitan-compiled"
    )
    found = predict(DENSE, plan, NODE).memory_bytes["activations"]
    assert found == 4 * 4096 / 8 * (18 * 32000 + (8 * 2 + 4) * 2048)


def test_nanotron_keeps_gathered_inputs_and_those_of_elementwise_operations() -> None:
    """Per token of tp 8: two inputs of 2048 features whole, an eighth of two fp32 copies and of the rest.

    The rest is queries, keys and values before rotary positions, and the gate's activation.
    """
    plan = Plan(tp=8, sequence_parallel=True)
    nanotron, lm = (
        kept_bytes(Local(DENSE, replace(plan, framework=name)), "dense", is_recomputed=False)
        for name in ("nanotron", "megatron-lm")
    )
    more = 2 * 2 * 2048 * 7 / 8 + (2 * 4 * 2048 + 2 * (2048 + 2 * 1024) + 2 * 8192) / 8
    assert nanotron - lm == 4096 * more


@pytest.mark.parametrize("row_id", ["nano-8-dp1tp4pp2mb8", "nano-8-dp2tp2pp2mb1", "nano-8-dp2tp1pp4mb4"])
def test_peaks_of_nanotron_are_within_five_per_cent(row_id: str) -> None:
    """Its bench of 1B models on 8 H100: 25.1, 8.37 and 38.14 GiB."""
    assert abs(error_pct(row_id)) < 5


def test_an_exchange_that_hides_behind_a_micro_batch_holds_a_layer_of_it() -> None:
    """The forward pass of one micro-batch is a layer ahead of the backward pass of the other."""
    plan = Plan(pp=2, dp=4, ep=4, micro_batch=1)
    alone, hidden = (
        predict(MIXTURE, replace(plan, overlap_ep=overlaps), NODE).memory_bytes["activations"]
        for overlaps in (False, True)
    )
    layer = kept_bytes(Local(MIXTURE, plan), "expert", is_recomputed=False)
    assert hidden - alone == pytest.approx(layer, rel=1e-6)


@pytest.mark.parametrize(
    ("plan", "per_token"),
    [
        (Plan(framework="maxtext"), 2 * (2 * 2048 + 2048 + 2 * 1024 + 2 * 8192) + 2 * 2048 + 4 * 16),
        (Plan(framework="maxtext", recompute="selective"), 2 * (2 * 2048 + 2048 + 2 * 1024 + 2 * 8192)),
        (Plan(framework="maxtext", recompute="full"), 2 * 2048),
    ],
    ids=lambda value: value.recompute if isinstance(value, Plan) else "",
)
def test_maxtext_keeps_outputs_of_products(plan: Plan, per_token: int) -> None:
    """Each block's input, queries, keys, values, gate and inner features; without recomputation attention."""
    assert kept_bytes(Local(DENSE, plan), "dense", is_recomputed=True) == 4096 * per_token


def test_maxtext_splits_what_it_keeps_over_its_tensor_axis() -> None:
    plan = Plan(framework="maxtext", recompute="full")
    whole, split = (
        kept_bytes(Local(DENSE, replace(plan, tp=tp)), "dense", is_recomputed=True) for tp in (1, 8)
    )
    assert whole == 8 * split


def test_maxtext_has_its_weights_in_fp32_and_a_layer_of_them_in_16_bit() -> None:
    """Sharded over 8: 4 bytes of weights, 4 of gradients, 8 of moments; no copy of tables."""
    found = predict(DENSE, Plan(dp=8, weight_sharded=True, framework="maxtext"), NODE).memory_bytes
    weights = found["weights"]
    assert weights == round(4 * parameters(DENSE).total / 8)
    assert (found["gradients"], found["optimizer"]) == (weights, 2 * weights)


def test_published_runs_of_maxtext_fill_a_tpu_v5p() -> None:
    """Its README of TPU v5p: each of 95.7 GB, and steps that ran; the verdict has a margin of 15 %."""
    rows = [row for row in fitted_rows() if row.source == "MaxText-v5p"]
    verdicts = {one.row.id.removeprefix("maxtext-v5p-"): one.memory_verdict for one in compare(rows)}
    assert verdicts == {
        "32b": "may fit", "64b": "may fit", "128b": "fits", "256b": "fits", "512b": "fits", "1024b": "fits"
    }  # fmt: skip
