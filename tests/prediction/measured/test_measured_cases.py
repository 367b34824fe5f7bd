"""A measured row as a case: what is read from it, what is assumed, and that what is assumed is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.inputs.models import LowRankAdapters
from dse.inputs.strategies import InfeasibleStrategy
from dse.prediction.measured.cases import case_of
from dse.prediction.measured.row_schedules import Inexpressible
from dse.prediction.measured.rows import NEVER_FITTED, MeasuredRow, read_rows
from dse.prediction.steps.predict import predict

ROW = MeasuredRow(
    "a", 24, 2048, 16, 2048, "H100", 8, 64, 1.0, ffn=8192, gated=False, vocab=51200, gpus_per_node=8,
    tp=2, pp=1, dp=4, zero=1, mbs=2, recompute="none", sp=True, precision="bf16", source="own",
)  # fmt: skip


@pytest.mark.parametrize(
    ("gpu", "text", "expected"),
    [
        ("V100", "", "fp16"),
        ("V100", "mixed", "fp16"),
        ("V100", "fp16", "fp16"),
        ("A100", "", "bf16"),
        ("tpu_v5p", "", "bf16"),
        ("GB200", "MXFP8", "mxfp8"),
        ("GB200", "NVFP4", "fp4"),
        ("A100", "amp_bf16", "bf16"),
    ],
)
def test_a_precision_that_is_not_said_is_one_that_the_accelerator_has(
    gpu: str, text: str, expected: str
) -> None:
    case = case_of(replace(ROW, gpu=gpu, precision=text))
    assert case.plan.precision == expected
    is_told = any(f"precision {expected}" in line for line in case.assumed)
    assert is_told == (text in ("", "mixed"))


def test_a_precision_that_the_accelerator_lacks_cannot_be_expressed() -> None:
    case = case_of(replace(ROW, gpu="V100", precision="bf16"))
    with pytest.raises(InfeasibleStrategy, match="bf16, which v100_32 does not have; write fp16"):
        predict(case.model, case.plan, case.cluster)


def test_what_follows_from_the_shape_of_the_feed_forward_block_is_told() -> None:
    plain, gated, unknown = [case_of(replace(ROW, gated=gated)) for gated in (False, True, None)]
    assert "tied embeddings, biases and dropout, as the feed-forward block is not gated" in plain.assumed
    assert "untied embeddings, no biases and no dropout, as the feed-forward block is gated" in gated.assumed
    assert any("not gated (unknown)" in line for line in unknown.assumed)
    wide = case_of(replace(ROW, ffn=None))
    assert (wide.model.d_ff, "a feed-forward width of 8192, 4 x hidden" in wide.assumed) == (8192, True)


def test_degrees_of_freedom_that_a_row_leaves_open_are_told() -> None:
    found = case_of(replace(ROW, sp=None, zero=None))
    assert {"sequence parallelism", "zero 0"} <= set(found.assumed)
    odd = case_of(replace(ROW, sp=None, seq=2047, tp=2))
    assert "no sequence parallelism" in odd.assumed
    assert not odd.plan.sequence_parallel


def test_micro_batches_are_said_to_fit_only_if_they_do() -> None:
    fitting = case_of(replace(ROW, mbs=None))
    assert any(line.endswith(": the fastest that fit") for line in fitting.assumed)
    huge = case_of(replace(ROW, mbs=None, layers=240, hidden=16384, heads=128, ffn=65536))
    assert huge.plan.micro_batch == 1
    assert "micro-batches of 1: the smallest, as none is predicted to fit" in huge.assumed
    counted = case_of(replace(ROW, mbs=None, microbatches=4))
    assert counted.plan.micro_batch == 4
    assert "micro-batches of 4: the batch over the ranks and their micro-batches" in counted.assumed


def test_sharded_weights_are_gathered_ahead_whatever_the_framework_reduces_early() -> None:
    case = case_of(replace(ROW, zero=3, tp=1, dp=8, sp=False, source="MegatronSC21"))
    assert predict(case.model, case.plan, case.cluster).step_s > 0


MIXTURE = replace(ROW, experts=8, topk=2, moe_ffn=4096, ep=4, gated=True)


def test_a_row_without_required_values_says_which_and_is_not_predicted() -> None:
    with pytest.raises(Inexpressible, match=r"^layers, iter_s: empty; "):
        case_of(replace(ROW, layers=0, iter_s=0.0, missing=("layers", "iter_s")))


def test_the_shape_that_a_row_states_is_that_of_the_model() -> None:
    model = case_of(replace(ROW, head_dim=256, tied_embeddings=False, mtp_layers=1)).model
    assert (model.head_dim, model.tied_embeddings, model.prediction_layers) == (256, False, 1)
    assert model.biases  # which no column states
    stated = case_of(replace(ROW, gated=True, tied_embeddings=True))
    assert stated.model.tied_embeddings
    assert "no biases and no dropout, as the feed-forward block is gated" in stated.assumed


def test_shared_experts_and_dense_layers_that_a_row_states_take_the_place_of_those_of_deepseek() -> None:
    usual = case_of(replace(MIXTURE, mla=True)).model.experts
    stated = case_of(replace(MIXTURE, mla=True, shared_experts=4, first_dense_layers=0)).model.experts
    plain = case_of(replace(MIXTURE, shared_experts=1, first_dense_layers=3)).model.experts
    assert usual is not None
    assert stated is not None
    assert plain is not None
    assert (usual.shared, usual.dense_layers) == (2, 1)
    assert (stated.shared, stated.dense_layers) == (4, 0)
    assert (plain.shared, plain.dense_layers) == (1, 3)


def test_experts_have_the_tensor_degree_that_the_row_states() -> None:
    whole = case_of(replace(MIXTURE, expert_tp=1, ep=8))
    assert whole.plan.expert_tp == 1
    assert predict(whole.model, whole.plan, whole.cluster).step_s > 0
    assert case_of(replace(MIXTURE, ep=4)).plan.expert_tp == 0
    assert case_of(replace(ROW, expert_tp=1)).plan.expert_tp == 0  # without experts it says nothing


def test_offload_of_some_layers_is_that_of_their_activations() -> None:
    assert case_of(replace(ROW, offload="optimizer")).plan.offload == "optimizer"
    assert case_of(replace(ROW, offload="activations of 20 layers to CPU")).plan.offload == "activations-20"
    assert case_of(replace(ROW, notes="JAX; host offload of activations")).plan.offload == "activations"
    with pytest.raises(Inexpressible, match=r"^offload is 'weights', which is not modelled"):
        case_of(replace(ROW, offload="weights"))


def test_fine_tuning_trains_the_model_or_adapters() -> None:
    for task in ("pretrain", "sft"):
        assert (case_of(replace(ROW, task=task)).plan, case_of(replace(ROW, task=task)).model) == (
            case_of(ROW).plan,
            case_of(ROW).model,
        )
    lora = case_of(replace(ROW, task="lora"))
    assert lora.model.lora == LowRankAdapters(16, "qkv")
    assert "adapters of rank 16 on queries, keys and values" in " ".join(lora.assumed)
    with pytest.raises(Inexpressible, match=r"^task is 'rl'; allowed are pretrain, sft and lora$"):
        case_of(replace(ROW, task="rl"))


def test_modules_that_are_computed_again_are_those_of_the_plan() -> None:
    core = case_of(replace(ROW, recompute="selective", recompute_modules="core_attn"))
    assert core.plan.recompute == "selective"
    both = case_of(replace(ROW, recompute="selective", recompute_modules="mlp+layernorm"))
    assert both.plan.recompute == "mlp+layernorm"
    odd = case_of(replace(ROW, recompute="selective", recompute_modules="layernorm+engram"))
    assert odd.plan.recompute == "layernorm"
    assert "engram not computed again" in odd.assumed


def test_how_tokens_are_exchanged_and_kernels_launched_is_that_of_the_row() -> None:
    plan = case_of(replace(MIXTURE, dispatcher="hybridep", a2a_overlap=True, cuda_graph="te:attn")).plan
    assert (plan.dispatcher, plan.overlap_ep, plan.graphs) == ("deduplicated", True, "attn")
    alone = case_of(replace(MIXTURE, ep=1, dispatcher="deepep", a2a_overlap=True)).plan
    assert (alone.dispatcher, alone.overlap_ep) == ("alltoall", False)
    assert case_of(replace(ROW, cuda_graph="local:full (enable_cuda_graph)")).plan.graphs == "full"
    with pytest.raises(Inexpressible, match=r"^cuda_graph is 'local:half'; it must be one of none, full"):
        case_of(replace(ROW, cuda_graph="local:half"))


def test_a_layout_says_the_layers_of_each_part() -> None:
    row = replace(ROW, layers=61, tp=2, pp=4, vp=4, dp=1, schedule="interleaved-1f1b", microbatches=None)
    layout = "Et*4|(t*4|)*14tmL"
    assert case_of(replace(row, pipeline_layout=layout)).plan.stages == "-".join(["4"] * 15 + ["1"])
    other = case_of(replace(row, pipeline_layout="Et*30|t*31L"))
    assert other.plan.stages == "spread"
    assert "not the pipeline_layout of 2 parts with 61 layers: the row has 16 and 61" in other.assumed
    ends = case_of(replace(row, layers=62, pipeline_layout="even, loss counts as a layer"))
    assert ends.plan.stages == "lighter-ends"
    with pytest.raises(Inexpressible, match=r"^pipeline_layout is 'Ex\|L'; it must list E, t, m and L"):
        case_of(replace(row, pipeline_layout="Ex|L"))


def test_what_a_row_says_beyond_the_model_is_told() -> None:
    assert "fp8_attention True is not modelled" in case_of(replace(ROW, fp8_attention=True)).assumed


def test_a_stated_overlap_of_tensor_parallelism_and_nic_count() -> None:
    assert case_of(replace(ROW, tp_comm_overlap=True)).plan.overlap_tp
    assert not case_of(replace(ROW, source="NeMo", tp_comm_overlap=False)).plan.overlap_tp
    two = case_of(replace(ROW, gpus=16, dp=8, nic_gbit_per_gpu=800.0))
    assert two.cluster.tiers[1].bandwidth_gbps == 100.0


def test_gradients_of_zero_2_are_sharded_in_a_pipeline_and_reduced_after_every_micro_batch() -> None:
    row = replace(ROW, gpus=16, tp=1, pp=2, dp=8, sp=False, mbs=1, microbatches=8)
    found = {}
    for zero in (1, 2):
        case = case_of(replace(row, zero=zero))
        found[zero] = predict(case.model, case.plan, case.cluster)
    assert found[2].memory_bytes["gradients"] * 8 == pytest.approx(
        found[1].memory_bytes["gradients"], rel=1e-6
    )
    assert found[2].memory_bytes["optimizer"] == found[1].memory_bytes["optimizer"]
    assert found[2].parts_s["dp"] > found[1].parts_s["dp"] > 0


def test_hybrid_sharding_and_the_kind_of_context_parallelism_are_those_of_the_row() -> None:
    row = replace(ROW, gpus=16, dp=16, tp=1, sp=False, zero=3, gated=True)
    assert case_of(row).plan.shard_ranks == 0
    hybrid = case_of(replace(row, shard_ranks=8))
    assert hybrid.plan.shard_ranks == 8
    assert predict(hybrid.model, hybrid.plan, hybrid.cluster).step_s > 0
    split = replace(ROW, tp=1, cp=2, sp=False)
    assert [case_of(replace(split, context=kind)).plan.context for kind in ("", "Ulysses")] == [
        "ring",
        "ulysses",
    ]
    unknown = case_of(replace(split, context="spiral"))
    with pytest.raises(InfeasibleStrategy, match="context is spiral; allowed are ring, ulysses, gather"):
        predict(unknown.model, unknown.plan, unknown.cluster)


def test_a_known_shape_tells_nothing_of_a_model_with_another_feed_forward() -> None:
    """MPT-7B has the layers, width and heads of Llama 3 8B, but one embedding and no gate."""
    llama = replace(ROW, layers=32, hidden=4096, heads=32, ffn=14336, gated=True, tied_embeddings=None)
    assert any("as in the model llama3_8b" in text for text in case_of(llama).assumed)
    mpt = case_of(replace(llama, ffn=16384, gated=False))
    assert mpt.model.tied_embeddings
    assert not any("which has this shape" in text for text in mpt.assumed)


def test_moments_in_bf16_take_8_bytes_of_a_weight_with_the_master_weight() -> None:
    said = "precision-aware: main grads bfloat16, moments bfloat16"
    cases = [case_of(row) for row in (ROW, replace(ROW, optimizer_detail=said))]
    plain, short = (predict(case.model, case.plan, case.cluster).memory_bytes["optimizer"] for case in cases)
    assert short == pytest.approx(plain * 8 / 12, rel=1e-6)
    assert not any("not modelled" in line for line in cases[1].assumed)


def test_table_2_of_sc21_ran_zero_3_of_deepspeed() -> None:
    """Of 5e9 weights a layer, DeepSpeed gathers a matrix of 1.7e9 at a time: both ran on 80 GB."""
    rows = {row.id: case_of(row) for row in read_rows(NEVER_FITTED) if row.id.startswith("sc21t2-zero3-529")}
    assert {case.plan.framework for case in rows.values()} == {"megatron-deepspeed"}
    peaks = {
        name: predict(case.model, case.plan, case.cluster).peak_memory_bytes / 2**30
        for name, case in rows.items()
    }
    assert peaks == pytest.approx(
        {"sc21t2-zero3-529.6-640": 83.35, "sc21t2-zero3-529.6-1120": 51.37, "sc21t2-zero3-529.6-2240": 34.51},
        abs=0.01,
    )


def test_more_expert_parallelism_than_ranks_is_read_as_all_ranks() -> None:
    slip = case_of(replace(MIXTURE, ep=64, experts=64, tp=1, dp=8))
    assert slip.plan.ep == 8
    assert "ep 8 for 64, which is more than the ranks of a stage" in slip.assumed
