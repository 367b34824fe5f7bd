"""Parts of a prediction, each against what it is made of: exchanges, experts, tables, overlap, copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from dse.inputs.accelerators import Accelerator, Cluster, Efficiency, Tier
from dse.inputs.models import LatentAttention, MixtureOfExperts, ModelSpec
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import Prediction, predict
from tests.references.prediction.activations import backward_bytes, kept_bytes
from tests.references.prediction.blocks import layer
from tests.references.prediction.collectives import FIXED_S, Links
from tests.references.prediction.layout import Chunk, stages
from tests.references.prediction.placement import placement
from tests.references.prediction.sharded_sizes import Local
from tests.references.prediction.step import HOST_SHARE, Timer
from tests.references.prediction.weights import layer_weights, stage_weights

CHIP = Accelerator(
    "chip", {"bf16": 100.0, "fp8": 200.0}, 80 * 10**9, 1000.0, Efficiency(0.5, 0.4, 0.4, 0.5, 1.0, 5.0)
)
DENSE = ModelSpec(
    "dense", 32000, 32000, 2048, 8192, 16, 1024, 64, 16, num_kv_heads=8, gated_mlp=True, fidelity="realistic"
)
EXPERTS = MixtureOfExperts(16, 2, 1024)
MIXTURE = replace(DENSE, experts=EXPERTS)
LATENT = replace(DENSE, num_kv_heads=None, latent_attention=LatentAttention(512, 1536, 128, 64, 128))


def cluster(npus: int) -> Cluster:
    """Nodes of 8 with 300 GB/s inside, and a NIC of 25 GB/s for each NPU."""
    tiers = [Tier("nvlink", min(8, npus), 300.0, 2.0)]
    if npus > 8:
        tiers.append(Tier("network", npus, 25.0, 5.0))
    return Cluster("cluster", CHIP, tuple(tiers))


def predicted(model: ModelSpec, **choices: Any) -> Prediction:
    """Predict on as many NPUs as the plan has."""
    plan = Plan(**choices)
    return predict(model, plan, cluster(plan.npus))


def links(axis: str, npus: int, **degrees: int) -> Links:
    """Links of the groups of an axis."""
    return Links.of(placement("tp-cp-ep-dp-pp", degrees)[axis], cluster(npus))


def layer_of(model: ModelSpec, **choices: Any) -> Mapping[str, float]:
    """Seconds of the forward pass of one layer by part, with experts if the model has them."""
    plan = Plan(**choices)
    degrees = {"tp": plan.tp, "cp": plan.cp, "ep": plan.ep, "dp": plan.dp, "pp": plan.pp}
    local = Local(model, plan)
    groups = placement(plan.order, {**degrees, "expert_tp": local.expert_tp})
    kind = "dense" if model.experts is None else "expert"
    return Timer(local, cluster(plan.npus), groups)._layer(kind, False).forward


def test_an_exchange_across_nodes_leaves_by_the_ranks_own_nic() -> None:
    """Of 16 ranks in 2 nodes 8 are elsewhere: half of the bytes pass a NIC of .92 x 25 GB/s, at .71."""
    far = links("dp", 16, dp=16).exchange_s(1e9)
    assert far == pytest.approx(FIXED_S + 5e-6 + 8 / 16 * 1e9 / (0.92 * 25e9) / 0.71, rel=1e-12)
    near = links("dp", 8, dp=8).exchange_s(1e9)
    assert near == pytest.approx(FIXED_S + 2e-6 + 7 / 8 * 1e9 / 300e9 / 0.71, rel=1e-12)


def test_an_exchange_of_ranks_in_nodes_of_their_own_crosses_with_all_but_one_share() -> None:
    """4 ranks, each in another node: 3 of 4 shares leave."""
    found = links("dp", 32, tp=8, dp=4).exchange_s(1e9)
    assert found == pytest.approx(FIXED_S + 5e-6 + 3 / 4 * 1e9 / (0.92 * 25e9) / 0.71, rel=1e-12)


def test_a_collective_of_nothing_takes_no_time() -> None:
    one = links("dp", 8, dp=8)
    assert (one.all_reduce_s(0.0), one.gather_s(0.0), one.exchange_s(0.0)) == (0.0, 0.0, 0.0)


def test_a_dense_model_pays_no_collectives_of_experts() -> None:
    """With ZeRO-0 and without overlap: one all-reduce of all gradients."""
    plan = Plan(dp=8, zero=0, overlap_dp=False)
    found = predict(DENSE, plan, cluster(8))
    local = Local(DENSE, plan)
    (chunks,) = stages(DENSE, plan)
    (weights,) = stage_weights(local, chunks)
    size = framework_named(plan.framework).gradient_bytes * weights.dense
    assert found.parts_s["dp"] == pytest.approx(links("dp", 8, dp=8).all_reduce_s(size), rel=1e-9)


@pytest.mark.parametrize(("shared", "pairs"), [(0, 1), (1, 2)])
def test_experts_are_no_tensor_parallel_block_under_sequence_parallelism(shared: int, pairs: int) -> None:
    """A gather and a scatter for attention, and for shared experts; routed ones exchange their tokens."""
    model = replace(MIXTURE, experts=replace(EXPERTS, shared=shared))
    found = layer_of(model, tp=4, dp=2, ep=2, expert_tp=1, sequence_parallel=True)
    size = 2 * 1024 * 2048
    assert found["tp"] == pytest.approx(2 * pairs * links("tp", 8, tp=4, dp=2).gather_s(size), rel=1e-12)


def test_tokens_meet_over_the_tensor_ranks_of_experts_with_one_expert_group_too() -> None:
    """Each of 4 ranks brings 1024 / 4 tokens, 2 experts each: they gather before the experts and scatter."""
    found = layer_of(MIXTURE, tp=4, dp=2, sequence_parallel=True)
    size = 2 * 1024 * 2 * 2048
    assert found["ep"] == pytest.approx(2 * links("tp", 8, tp=4, dp=2).gather_s(size), rel=1e-12)
    whole = layer_of(MIXTURE, tp=4, dp=2)
    assert "ep" not in whole or whole["ep"] == 0  # without sequence parallelism all have all tokens


def test_imbalance_counts_where_experts_are_spread() -> None:
    """With ep 1 every NPU has all experts and takes what it brings. No launches hide it with CUDA graphs."""
    uneven = replace(MIXTURE, experts=replace(EXPERTS, imbalance=1.5))
    assert predicted(uneven, dp=8).step_s == predicted(MIXTURE, dp=8).step_s
    even = predicted(MIXTURE, dp=8, ep=8, graphs="full").step_s
    assert predicted(uneven, dp=8, ep=8, graphs="full").step_s > 1.05 * even


def test_a_capacity_bounds_what_is_sent() -> None:
    """At most the mean: as much as without imbalance."""
    bounded = replace(MIXTURE, experts=replace(EXPERTS, imbalance=3.0, capacity_factor=1.0))
    assert predicted(bounded, dp=8, ep=8).parts_s["ep"] == predicted(MIXTURE, dp=8, ep=8).parts_s["ep"]


def test_offloaded_activations_are_those_that_are_kept() -> None:
    """Full recomputation leaves the input of a layer, whose transfer hides behind the layer."""
    fast = replace(CHIP, peak_tflops={"bf16": 400.0}, memory_bandwidth_gbps=4000.0)
    node = Cluster("node", fast, (Tier("nvlink", 8, 300.0, 2.0),))
    kept = {}
    for recompute in ("none", "full"):
        held, moved = [
            predict(DENSE, Plan(dp=8, recompute=recompute, offload=offload), node).step_s
            for offload in ("none", "activations")
        ]
        local = Local(DENSE, Plan(recompute=recompute))
        kept[recompute] = kept_bytes(local, "dense", is_recomputed=True)
        assert moved >= 8 * 2 * 16 * kept[recompute] / (32e9 * HOST_SHARE)
        assert (moved == pytest.approx(held, rel=1e-9)) == (recompute == "full")
    assert kept["full"] == 2 * 1024 * 2048 < kept["none"] / 10


@pytest.mark.parametrize(("framework", "bytes_each"), [("megatron-core", 38), ("megatron-deepspeed", 32)])
def test_an_optimizer_moves_gradients_in_the_precision_of_the_framework(
    framework: str, bytes_each: int
) -> None:
    """12 bytes of states read and written, 2 of weights; gradients once for Adam, twice for their norm."""
    plan = Plan(framework=framework, zero=0)
    found = predict(DENSE, plan, cluster(1))
    (weights,) = stage_weights(Local(DENSE, plan), stages(DENSE, plan)[0])
    memory = CHIP.memory_bandwidth_gbps * 1e9 * CHIP.efficiency.memory
    assert found.parts_s["optimizer"] == pytest.approx(bytes_each * weights.dense / memory, rel=1e-12)


def test_scores_that_are_not_fours_take_kernels_one_by_one() -> None:
    """Megatron fuses mask and softmax where sequences times heads of a rank are a multiple of 4: 4 more."""
    kernels = {
        size: layer(Local(DENSE, Plan(tp=8, micro_batch=size, attention="unfused")), "dense").forward
        for size in (1, 2, 3)
    }
    count = {size: sum(one.repeats for one in found) for size, found in kernels.items()}
    assert (count[1], count[3]) == (count[2] + 4, count[2] + 4)
    scores = 2 * 1024 * 1024  # of 2 heads and one sequence: 36 bytes each instead of 4
    moved = [
        sum(one.repeats * one.bytes_ for one in kernels[size] if one.part == "attention") for size in (1, 2)
    ]
    assert moved[0] - moved[1] / 2 == pytest.approx(32 * scores, rel=1e-12)


def test_the_ranks_of_tensor_parallelism_meet_around_each_block() -> None:
    """An all-reduce after each of two blocks, back before; with sequence parallelism 4, and 6 back."""
    for sequence_parallel, meetings in ((False, (2, 2)), (True, (4, 6))):
        found = layer(Local(DENSE, Plan(tp=4, sequence_parallel=sequence_parallel)), "dense")
        counts = [
            sum(one.repeats for one in direction if one.unit == "meeting")
            for direction in (found.forward, found.backward)
        ]
        assert tuple(counts) == meetings
    assert not any(one.unit == "meeting" for one in layer(Local(DENSE, Plan()), "dense").forward)


def test_prediction_layers_have_logits_of_their_own() -> None:
    """A second head in time and memory; its operations are those of the model's count."""
    plan = Plan(dp=8)
    one, two = (
        predict(DENSE, plan, cluster(8)),
        predict(replace(DENSE, prediction_layers=1), plan, cluster(8)),
    )
    three = predict(replace(DENSE, prediction_layers=2), plan, cluster(8))
    logits = 6 * 1024 * 32000
    grown = two.memory_bytes["activations"] - one.memory_bytes["activations"]
    assert grown > logits
    assert three.memory_bytes["activations"] - two.memory_bytes["activations"] == pytest.approx(grown)
    bare = Timer(Local(DENSE, plan), cluster(8), placement(plan.order, {"dp": 8}))
    parts = (
        bare.chunk(Chunk((("dense", 1),), has_embedding=False, has_head=True)).both.total_s
        - bare.chunk(Chunk((("dense", 1),), has_embedding=False, has_head=False)).both.total_s
    )
    assert two.step_s - one.step_s > 64 / 8 * parts  # of 8 micro-batches, with layers besides


def test_gradients_hide_behind_the_backward_passes_of_all_chunks() -> None:
    """Two chunks of a stage have half of the layers each: no more is exposed than with one."""
    slow = Cluster("cluster", CHIP, (Tier("nvlink", 8, 300.0, 2.0), Tier("network", 32, 2.0, 5.0)))
    common = {"dp": 8, "tp": 2, "pp": 2, "micro_batch": 4, "zero": 0}
    one, two = [
        predict(DENSE, Plan(**common, **more), slow)  # type: ignore[arg-type]
        for more in ({}, {"schedule": "interleaved", "chunks": 2})
    ]
    assert one.parts_s["dp"] > 0
    assert two.parts_s["dp"] <= one.parts_s["dp"] * 1.05


def test_stages_that_end_early_reduce_their_gradients_in_the_bubble() -> None:
    """The last stage has most weights, a head, and ends before the first: its reduction costs less."""
    wide = replace(DENSE, output_dim=256_000, num_layers=2)
    slow = Cluster("cluster", CHIP, (Tier("nvlink", 8, 300.0, 2.0), Tier("network", 16, 5.0, 5.0)))
    plan = Plan(dp=8, pp=2, zero=0, overlap_dp=False)
    found = predict(wide, plan, slow)
    local = Local(wide, plan)
    weights = stage_weights(local, stages(wide, plan)[1])[0].dense
    alone = Links.of(placement(plan.order, {"dp": 8, "pp": 2})["dp"], slow).all_reduce_s(4 * weights)
    assert 0 < found.parts_s["dp"] < alone


def test_zero_3_gathers_and_scatters_tables() -> None:
    """On slow links a vocabulary eight times as large takes longer to gather and to scatter."""
    plan = Plan(dp=16, weight_sharded=True)
    wide = replace(DENSE, input_dim=256_000, output_dim=256_000)
    slow = Cluster("cluster", CHIP, (Tier("nvlink", 8, 300.0, 2.0), Tier("network", 16, 0.1, 5.0)))
    small, large = predict(DENSE, plan, slow), predict(wide, plan, slow)
    rate = 0.92 * 0.8e9 * 0.9  # 8 NICs of a node, at .92 and .9
    tables = 2 * 224_000 * 2048 * 15 / 16 / rate * (2 + 4)
    computing = large.parts_s["matrix_products"] + large.parts_s["memory_bound"]
    assert large.step_s - small.step_s > 4 * tables - computing
    grown = large.memory_bytes["weights"] - small.memory_bytes["weights"]
    assert grown == pytest.approx(2 * 2 * 224_000 * 2048 * (1 + 1 / 16), rel=1e-6)


def test_latent_down_projections_are_on_every_tensor_rank() -> None:
    """Of tp 8: ranks of queries, 1536, and of keys with the rotary part, 576, from 2048 features."""
    whole, shared = [layer_weights(Local(LATENT, Plan(tp=tp)), "dense").dense for tp in (1, 8)]
    copied = 2048 * (1536 + 512 + 64) + 2 * 2048 + 1536 + 512
    assert shared == pytest.approx((whole - copied) / 8 + copied, rel=1e-12)


def test_copied_heads_of_keys_are_on_every_tensor_rank() -> None:
    """8 heads of keys over tp 16: each rank has one of 128 features, and one of values."""
    found = layer_weights(Local(DENSE, Plan(tp=16)), "dense").dense
    query_and_output, keys_and_values = 2 * 2048 * 2048 / 16, 2 * 2048 * 128
    assert found == query_and_output + keys_and_values + 3 * 2048 * 8192 / 16 + 2 * 2048


@pytest.mark.parametrize(
    ("plan", "copies"),
    [
        (Plan(), 1),
        (Plan(pp=2), 2),
        (Plan(pp=2, schedule="zb-v", chunks=2), 1),
        (Plan(schedule="interleaved", chunks=2), 1),
    ],
)
def test_tied_tables_are_once_on_each_stage_that_needs_them(plan: Plan, copies: int) -> None:
    tied = replace(DENSE, tied_embeddings=True)
    local = Local(tied, plan)
    total = sum(own.dense for stage in stages(tied, plan) for own in stage_weights(local, stage))
    layers = 16 * layer_weights(local, "dense").dense
    assert total - layers - 2048 == copies * 32000 * 2048


def test_positions_and_the_final_norm_count() -> None:
    """GPT's 1024 learned positions, and scale and bias of its last norm."""
    gpt = replace(DENSE, learned_positions=1024, biases=True)
    bare = replace(DENSE, biases=True)
    (chunks,) = stages(gpt, Plan())
    own, less = stage_weights(Local(gpt, Plan()), chunks)[0], stage_weights(Local(bare, Plan()), chunks)[0]
    assert own.dense - less.dense == 1024 * 2048
    tables = 2 * 32000 * 2048
    layers = 16 * layer_weights(Local(bare, Plan()), "dense").dense
    assert less.dense - tables - layers == 2 * 2048


def test_the_stream_of_gradients_is_split_under_sequence_parallelism_only() -> None:
    """2 bytes for each of 1024 x 2048 features, of dense layers as of experts."""
    for model, kind in ((DENSE, "dense"), (MIXTURE, "expert")):
        common = {"tp": 4, "dp": 2}
        whole = backward_bytes(Local(model, Plan(**common)), kind)  # type: ignore[arg-type]
        split = backward_bytes(Local(model, Plan(**common, sequence_parallel=True)), kind)  # type: ignore[arg-type]
        assert whole - split == pytest.approx(2 * 1024 * 2048 * 3 / 4, rel=1e-12)


def test_tables_have_no_copies_in_8_bit() -> None:
    """The products of layers do: a cast and its transpose, a byte each."""
    half, low = [predicted(DENSE, dp=8, precision=precision) for precision in ("bf16", "fp8")]
    weights = 16 * (2048 * (2 * 2048 + 2 * 1024) + 3 * 2048 * 8192)
    assert low.memory_bytes["weights"] - half.memory_bytes["weights"] == 2 * weights


def test_ends_of_the_model_gather_under_sequence_parallelism() -> None:
    """The head's inputs, again for its gradient and its sums; gradients of the embedding."""
    plan = Plan(tp=8, sequence_parallel=True)
    timer = Timer(Local(DENSE, plan), cluster(8), placement(plan.order, {"tp": 8}))
    gather = links("tp", 8, tp=8).gather_s(2 * 1024 * 2048)
    sums = 2 * links("tp", 8, tp=8).all_reduce_s(4 * 1024)
    head, embedding = timer._end(is_head=True), timer._end(is_head=False)
    assert head.forward["tp"] == pytest.approx(sums + gather, rel=1e-12)
    assert head.backward["tp"] == pytest.approx(2 * gather, rel=1e-12)
    assert (embedding.forward["tp"], embedding.backward["tp"]) == pytest.approx((gather, gather), rel=1e-12)
