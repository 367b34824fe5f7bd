"""Jobs that DeepSpeed, MaxText and Accelerate can express, and rows of the corpus, for their tests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from dse.inputs.models.settings import models_of_conf
from dse.prediction.frameworks.job import Job
from dse.prediction.steps.plan import Plan

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
CORPUS = Path(__file__).parents[4] / "shared" / "golden" / "launch" / "corpus.jsonl"

needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of configurations is not here")


def corpus_rows(framework: str) -> list[dict[str, Any]]:
    """Return the rows of a framework."""
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["framework"] == framework]


@st.composite
def deepspeed_jobs(draw: st.DrawFn) -> Job:
    """Jobs that a file of DeepSpeed says, of models with experts and without."""
    model = MODELS[draw(st.sampled_from(NAMES))]
    tp, cp = draw(st.sampled_from([(1, 1), (2, 1), (4, 1), (1, 2), (1, 4)]))
    dp = draw(st.sampled_from([1, 2, 4, 8]))
    ep = draw(st.sampled_from([n for n in (1, 2, 4) if (tp * cp * dp) % n == 0])) if model.experts else 1
    micro_batch = draw(st.sampled_from([1, 2, 3]))
    stage = draw(st.sampled_from([0, 1, 2, 3]))
    plan = Plan(
        dp=dp, tp=tp, cp=cp, ep=ep,
        expert_tp=1 if ep > 1 and tp > 1 else 0,
        micro_batch=micro_batch,
        weight_sharded=stage == 3,
        zero=1 if stage == 3 else stage,
        context="ulysses" if cp > 1 else "ring",
        recompute=draw(st.sampled_from(["none", "full"])),
        precision=draw(st.sampled_from(["bf16", "fp16"])),
        overlap_tp=tp > 1 and draw(st.booleans()),
        overlap_dp=stage == 3 or draw(st.booleans()),
        offload=draw(st.sampled_from(["none", "optimizer"])) if stage else "none",
        dispatcher=draw(st.sampled_from(["alltoall", "deduplicated"])) if ep > 1 else "alltoall",
        framework="megatron-deepspeed",
    )  # fmt: skip
    batch = dp * micro_batch * draw(st.integers(1, 8))
    return Job(replace(model, batch_size=batch, micro_batches=None), plan)


@st.composite
def maxtext_jobs(draw: st.DrawFn) -> Job:
    """Jobs that a file of MaxText says, of models that it names and of others."""
    model = MODELS[draw(st.sampled_from(NAMES))]
    if draw(st.booleans()):  # sizes of its own, which are written one by one
        model = replace(model, name="own", d_ff=model.d_ff * 2)
    tp = draw(st.sampled_from([1, 2, 4]))
    cp = draw(st.sampled_from([1, 2]))
    dp = draw(st.sampled_from([1, 2, 4, 8]))
    has_stages = model.experts is None or not model.experts.dense_layers
    pp = draw(st.sampled_from([1, 2, 4])) if has_stages else 1
    chunks = (
        draw(st.sampled_from([n for n in (1, 2, 4) if model.num_layers % (pp * n) == 0])) if pp > 1 else 1
    )
    ep = draw(st.sampled_from([n for n in (1, 2, 4) if dp % n == 0])) if model.experts else 1
    sharded = dp > 1 and (ep > 1 or draw(st.booleans()))
    ranks = draw(st.sampled_from([0, *[n for n in (2, 4) if ep <= n < dp]])) if sharded and pp == 1 else 0
    has_data = pp > 1 and dp > 1 and not sharded
    usual = has_data or ep == 1 or tp * cp == 1
    after = "pp-dp" if has_data else "dp-pp"
    recompute, offload = draw(
        st.sampled_from(
            [(kind, where) for kind in ("full", "selective") for where in ("none", "optimizer")]
            + [("selective", "activations")]
        )
    )
    micro_batch = draw(st.sampled_from([1, 2, 3]))
    plan = Plan(
        dp=dp, tp=tp, cp=cp, pp=pp, ep=ep,
        micro_batch=micro_batch,
        schedule="1f1b" if pp == 1 else "interleaved" if chunks > 1 else "gpipe",
        chunks=chunks,
        weight_sharded=sharded,
        zero=1 if sharded else draw(st.sampled_from([0, 1])),
        shard_ranks=ranks,
        sequence_parallel=tp > 1 and draw(st.booleans()),
        context=draw(st.sampled_from(["ring", "ulysses", "gather"])) if cp > 1 else "ring",
        recompute=recompute,
        precision=draw(st.sampled_from(["bf16", "fp16", "fp8", "fp8_delayed", "mxfp8", "fp4"])),
        attention=draw(st.sampled_from(["flash", "unfused"])),
        offload=offload,
        order=f"tp-cp-ep-{after}" if usual else f"ep-tp-cp-{after}",
        framework="maxtext",
    )  # fmt: skip
    batch = dp * micro_batch * pp * draw(st.integers(1, 5))
    return Job(replace(model, batch_size=batch, micro_batches=None), plan)


@st.composite
def accelerate_jobs(draw: st.DrawFn) -> Job:
    """Jobs that a file of accelerate says."""
    model = MODELS[draw(st.sampled_from(NAMES))]
    stage = draw(st.sampled_from([0, 2, 3]))
    axes = [1, 2, 4] if stage else [1]
    tp = draw(st.sampled_from([n for n in axes if model.key_value_heads % n == 0]))
    cp, dp = draw(st.sampled_from(axes)), draw(st.sampled_from([2, 4, 8]))
    micro_batch = draw(st.sampled_from([1, 2, 3]))
    plan = Plan(
        dp=dp, tp=tp, cp=cp,
        micro_batch=micro_batch,
        weight_sharded=stage == 3,
        zero=1 if stage == 3 else stage,
        shard_ranks=draw(st.sampled_from([0, *[n for n in (2, 4) if n < dp]])) if stage == 3 else 0,
        context=draw(st.sampled_from(["ring", "gather"])) if cp > 1 else "ring",
        recompute=draw(st.sampled_from(["none", "full"])),
        precision=draw(st.sampled_from(["bf16", "fp16", "fp8", "fp8_delayed"])),
        framework=draw(st.sampled_from(["torchtitan", "torchtitan-compiled"])),
    )  # fmt: skip
    batch = dp * micro_batch * draw(st.integers(1, 5))
    return Job(replace(model, batch_size=batch, micro_batches=None), plan)
