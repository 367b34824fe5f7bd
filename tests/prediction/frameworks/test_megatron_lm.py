"""Megatron-LM: options as jobs and back, its rules one by one, and the corpus."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.inputs.models.settings import models_of_conf
from dse.prediction.frameworks.job import Document, InexpressibleJobError, Job
from dse.prediction.frameworks.jobs import Reading, read_job, write_job
from dse.prediction.steps.plan import Plan
from tests.prediction.frameworks.jobs import with_listed_stages

NAMES = (
    "llama3_8b",
    "llama3_70b",
    "gpt3_175b",
    "mixtral_8x7b",
    "deepseek_v3",
    "qwen3_30b_a3b",
    "qwen3_8b",
    "glm_4_5",
)
MODELS = {name: model for name, model in models_of_conf() if name in NAMES}


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """Jobs whose degrees divide a model's sizes."""
    model = MODELS[draw(st.sampled_from(NAMES))]
    tp = draw(st.sampled_from([1, 2, 4, 8]))
    pp = draw(st.sampled_from([1, 2, 4]))
    cp = draw(st.sampled_from([1, 2]))
    dp = draw(st.sampled_from([1, 2, 8]))
    chunks = draw(st.sampled_from([1, 2])) if pp > 1 and model.num_layers % (2 * pp) == 0 else 1
    ep = draw(st.sampled_from([n for n in (1, 2, 4, 8) if (tp * cp * dp) % n == 0])) if model.experts else 1
    has_moe = model.experts is not None
    sharded = draw(st.booleans())
    recompute = draw(
        st.sampled_from(["none", "selective", "full", "light", "moe_act" if has_moe else "none"])
    )
    can_overlap = ep > 1 and recompute != "full" and (chunks > 1 or (pp == 1 and not model.prediction_layers))
    precision = draw(st.sampled_from(["bf16", "fp8", "fp8_delayed", "fp8_block", "mxfp8", "fp4"]))
    plan = Plan(
        tp=tp, pp=pp, cp=cp, dp=dp, ep=ep,
        expert_tp=1 if has_moe and tp > 1 and (tp * cp * dp) % ep == 0 else 0,
        micro_batch=draw(st.sampled_from([1, 2])),
        schedule="interleaved" if chunks > 1 else "1f1b",
        chunks=chunks,
        stages="even" if model.num_layers % (pp * chunks) == 0 or pp == 1 else "spread",
        weight_sharded=sharded and pp == 1,
        zero=1 if sharded else draw(st.sampled_from([0, 1, 2])),
        sequence_parallel=tp > 1,
        context=draw(st.sampled_from(["ring", "ulysses", "gather"])) if cp > 1 else "ring",
        recompute=recompute,
        recompute_layers=draw(st.sampled_from([0, 3])) if recompute == "full" else 0,
        precision=precision,
        attention=draw(st.sampled_from(["flash", "unfused"])),
        overlap_tp=tp > 1 and draw(st.booleans()),
        overlap_dp=True,
        offload=draw(st.sampled_from(["none", "optimizer"])),
        dispatcher=draw(st.sampled_from(["alltoall", "deduplicated"])) if ep > 1 else "alltoall",
        overlap_ep=can_overlap and draw(st.booleans()),
        graphs=draw(st.sampled_from(["none", "full", "attn"])),
        framework="megatron-core",
    )  # fmt: skip
    return Job(replace(model, batch_size=dp * 16, micro_batches=None), plan)


@given(job=jobs())
@settings(max_examples=200, deadline=None)
def test_options_say_a_job_and_are_read_as_the_same(job: Job) -> None:
    written = write_job(job, "megatron-lm")
    reading = read_job(Document(written.settings, "megatron-lm", npus=job.npus))
    assert reading.is_legal, reading.broken
    assert reading.job is not None, reading.no_job
    again = replace(reading.job, model=replace(reading.job.model, name=job.model.name))
    assert _plain(again) == _plain(job)


def _plain(job: Job) -> Job:
    """A job without what has no effect: the capacity and imbalance that no option says."""
    found = with_listed_stages(job)
    experts = found.model.experts
    if experts is None:
        return found
    plain = replace(experts, imbalance=1.0, shared_d_ff=experts.shared_width or None)
    return replace(found, model=replace(found.model, experts=replace(plain, shared=int(plain.shared > 0))))


LLAMA = {
    "--num-layers": 32, "--hidden-size": 4096, "--num-attention-heads": 32, "--group-query-attention": True,
    "--num-query-groups": 8, "--ffn-hidden-size": 14336, "--swiglu": True, "--seq-length": 8192,
    "--max-position-embeddings": 8192, "--vocab-size": 128256, "--bf16": True, "--disable-bias-linear": True,
    "--untie-embeddings-and-output-weights": True, "--normalization": "RMSNorm",
    "--position-embedding-type": "rope", "--attention-dropout": 0, "--hidden-dropout": 0,
    "--micro-batch-size": 1, "--global-batch-size": 128, "--use-distributed-optimizer": True,
}  # fmt: skip
MOE = {**LLAMA, "--num-experts": 8, "--moe-token-dispatcher-type": "alltoall"}


def _read(npus: int = 64, base: dict[str, Any] = LLAMA, **changed: Any) -> Reading:
    options = {f"--{key.replace('_', '-')}": value for key, value in changed.items()}
    return read_job(Document({**base, **options}, "megatron-lm", npus=npus))


@pytest.mark.parametrize(
    ("rule", "options", "key", "legal"),
    [
        ("M1", {"pipeline_model_parallel_size": 2, "npus": 63, "global_batch_size": 31}, "npus", 62),
        ("M2", {"tensor_model_parallel_size": 3, "npus": 63}, "--tensor-model-parallel-size", None),
        (
            "M4",
            {"pipeline_model_parallel_size": 5, "npus": 640, "global_batch_size": 640},
            "--pipeline-model-parallel-size",
            4,
        ),
        (
            "M4-chunks",
            {"pipeline_model_parallel_size": 4, "num_virtual_stages_per_pipeline_rank": 3},
            "--num-virtual-stages-per-pipeline-rank",
            2,
        ),
        (
            "M5",
            {"pipeline_model_parallel_size": 4, "num_layers_per_virtual_pipeline_stage": 3},
            "--num-layers-per-virtual-pipeline-stage",
            2,
        ),
        ("M6", {"num_virtual_stages_per_pipeline_rank": 2}, "--pipeline-model-parallel-size", 2),
        ("M8", {"global_batch_size": 100}, "--global-batch-size", 64),
        (
            "M9",
            {"context_parallel_size": 4, "seq_length": 100, "max_position_embeddings": 100},
            "--seq-length",
            96,
        ),
        ("M13", {"overlap_param_gather": True}, "--overlap-param-gather", False),
        (
            "M14",
            {"tensor_model_parallel_size": 2, "tp_comm_overlap": True},
            "--sequence-parallel",
            True,
        ),
        ("M16-layers", {"cpu_offloading_num_layers": 32}, "--cpu-offloading-num-layers", 31),
        ("M16-optimizer", {"optimizer_cpu_offload": True}, "--use-precision-aware-optimizer", True),
        ("M22", {"fp16": True}, "--bf16", False),
    ],
)
def test_a_broken_rule_is_named_with_a_legal_value(
    rule: str, options: dict[str, Any], key: str, legal: Any
) -> None:
    npus = options.pop("npus", 64)
    reading = _read(npus, **options)
    broken = {breach.rule: breach for breach in reading.broken}
    assert rule in broken
    assert not reading.is_legal
    if legal is not None:
        assert legal in broken[rule].nearest[key]
        changed = npus if key != "npus" else legal
        repaired = {**options} if key == "npus" else {**options, key.lstrip("-"): legal}
        assert _read(changed, **repaired).is_legal


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("M7", {"pipeline_model_parallel_size": 4, "pipeline_model_parallel_layout": "Et*7|t*9|t*9|t*6L"}),
        ("M15-method", {"recompute_granularity": "full"}),
        ("M15-selective", {"recompute_granularity": "selective", "recompute_num_layers": 2}),
        ("M16-pipeline", {"cpu_offloading_num_layers": 2, "pipeline_model_parallel_size": 2}),
        ("M17-fsdp", {"use_megatron_fsdp": True}),
        ("M17-torch", {"use_torch_fsdp2": True}),
        ("M21", {"step_batch_size_schedule": "0:16"}),
        ("M23", {"fp8_format": "hybrid", "fp4_format": "e2m1"}),
        ("M26", {"max_position_embeddings": 4096}),
    ],
)
def test_rules_without_a_nearest_value(rule: str, options: dict[str, Any]) -> None:
    assert [breach.rule for breach in _read(**options).broken] == [rule]


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("M10", {"expert_model_parallel_size": 3, "npus": 48}),
        ("M11", {"expert_model_parallel_size": 8, "pipeline_model_parallel_size": 4, "npus": 16}),
        ("M19", {"tensor_model_parallel_size": 2, "expert_tensor_parallel_size": 1}),
        ("M24", {"overlap_moe_expert_parallel_comm": True, "moe_token_dispatcher_type": "allgather"}),
        ("D-topk", {"moe_router_topk": 9}),
        ("M29", {"recompute_granularity": "selective", "recompute_modules": ["moe_act"]}),
        ("M30", {"overlap_moe_expert_parallel_comm": True, "pipeline_model_parallel_size": 2}),
        (
            "M31",
            {
                "overlap_moe_expert_parallel_comm": True,
                "recompute_granularity": "full",
                "recompute_method": "uniform",
                "recompute_num_layers": 1,
            },
        ),
        ("M32", {"overlap_moe_expert_parallel_comm": True, "mtp_num_layers": 1}),
    ],
)
def test_rules_of_experts(rule: str, options: dict[str, Any]) -> None:
    npus = options.pop("npus", 64)
    reading = _read(npus, MOE, global_batch_size=npus, **options)
    assert [breach.rule for breach in reading.broken] == [rule]


def test_a_layout_of_405b_is_read() -> None:
    layout = "Et|(tt|)*62tL"
    reading = _read(
        512, num_layers=126, pipeline_model_parallel_size=8, tensor_model_parallel_size=8,
        sequence_parallel=True, hidden_size=16384, num_attention_heads=128, ffn_hidden_size=53248,
        pipeline_model_parallel_layout=layout,
    )  # fmt: skip
    assert reading.job is not None
    assert (reading.job.plan.schedule, reading.job.plan.chunks) == ("interleaved", 8)
    assert reading.job.layers_per_part == (1, *[2] * 62, 1)


def test_sequence_parallelism_without_tensor_parallelism_is_a_warning() -> None:
    reading = _read(sequence_parallel=True)
    assert [(breach.rule, breach.is_warning, breach.by) for breach in reading.broken] == [
        ("M12", True, "dse")
    ]
    assert reading.job is not None
    assert not reading.job.plan.sequence_parallel


def test_schedules_that_megatron_lacks_are_refused_with_the_nearest() -> None:
    job = _read(pipeline_model_parallel_size=4).job
    assert job is not None
    asked = replace(job, plan=replace(job.plan, schedule="zb-h1"))
    with pytest.raises(InexpressibleJobError, match=r"schedule=zb-h1: Megatron runs 1f1b .* schedule=1f1b"):
        write_job(asked, "megatron-lm")
    written = write_job(asked, "megatron-lm", nearest=True)
    assert written.job == job
    assert [(lack.field, lack.nearest) for lack in written.lacks] == [("schedule", "1f1b")]


CORPUS = Path(__file__).parents[4] / "shared" / "golden" / "launch" / "corpus.jsonl"


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of configurations is not here")
def test_the_corpus_is_judged_as_the_framework_judges_it() -> None:
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    of_megatron = [row for row in rows if row["framework"].startswith("megatron-")]
    breaches = {103: "M11", 102: "M11", 105: "M11"}  # published recipes whose experts do not fit
    assert len(of_megatron) > 100
    for row in of_megatron:
        document = Document(row["flags"], row["framework"], model=row["model"], npus=row["gpus"])
        reading = read_job(document)
        illegal = [breach.rule for breach in reading.broken if not breach.is_warning]
        if row["id"] in breaches:
            assert illegal == [breaches[row["id"]]], row["id"]
        else:
            assert bool(illegal) == ("expect" in row), (row["id"], illegal)
