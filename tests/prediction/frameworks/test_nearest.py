"""The nearest job that a framework runs: `dse check` reads it as the job that `dse launch` wrote."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import ModelSpec
from dse.inputs.models.settings import models_of_conf
from dse.prediction.frameworks.dialect import FRAMEWORKS
from dse.prediction.frameworks.job import Job
from dse.prediction.frameworks.jobs import Reading, read_job
from dse.prediction.frameworks.launches import Launch, launch
from dse.prediction.frameworks.reading import read_document
from dse.prediction.steps.batch import Case
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import Figures, figures

MODELS = dict(models_of_conf())


def _job(model: str, batch: int = 128, **values: Any) -> Job:
    return Job(replace(MODELS[model], batch_size=batch, seq_len=4096, micro_batches=None), Plan(**values))


def _launched(job: Job, framework: str) -> Launch:
    return launch(job, cluster_of_conf("dgx_h100", job.npus // 8), framework, name="it", nearest=True)


def _changes(found: Launch) -> dict[str, Any]:
    return {lack.field: lack.nearest for lack in found.written.lacks}


def _read(found: Launch, framework: str, folder: Path) -> Reading:
    for name, text in found.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    job = found.written.job
    document = replace(read_document([str(folder / next(iter(found.files)))], framework), npus=job.npus)
    return read_job(
        document,
        job.model.name,
        batch=job.model.batch_size,
        micro_batch=job.plan.micro_batch,
        seq=job.model.seq_len,
    )


@pytest.mark.parametrize(
    ("framework", "model"), [("megatron-lm", "deepseek_v3"), ("megatron-bridge", "llama4_maverick")]
)
@pytest.mark.parametrize("asked", ["megatron-core", "torchtitan-compiled"])
def test_modules_are_recomputed_in_every_layer_by_megatron(
    framework: str, model: str, asked: str, tmp_path: Path
) -> None:
    values = {"recompute": "moe+moe_act", "recompute_layers": 2, "offload": "optimizer", "framework": asked}
    found = _launched(_job(model, dp=128, **values), framework)
    assert _changes(found) == {"recompute_layers": 0}
    reading = _read(found, framework, tmp_path)
    assert reading.job is not None
    assert reading.job.plan == found.written.job.plan


@pytest.mark.parametrize(
    ("framework", "model", "values", "changes"),
    [
        ("megatron-lm", "llama3_8b", {"tp": 2, "overlap_tp": True}, {"sequence_parallel": True}),
        ("megatron-bridge", "qwen3_30b_a3b", {"tp": 2}, {"sequence_parallel": True}),
        ("megatron-lm", "qwen3_30b_a3b", {"tp": 2, "overlap_tp": True}, {"sequence_parallel": True}),
        (
            "megatron-lm",
            "llama3_8b",
            {"offload": "activations-2", "recompute": "full"},
            {"offload": "none"},
        ),
        ("megatron-lm", "llama3_8b", {"offload": "activations"}, {"offload": "activations-31"}),
        ("megatron-lm", "llama3_8b", {"optimizer_bytes": 4}, {"optimizer_bytes": None}),
        ("megatron-lm", "mixtral_8x7b", {"ep": 2, "precision": "fp16"}, {"precision": "bf16"}),
        (
            "megatron-lm",
            "llama3_8b",
            {"pp": 2, "schedule": "zb-v", "chunks": 2},
            {"schedule": "interleaved"},
        ),
        ("deepspeed", "llama3_8b", {"zero": 0, "offload": "optimizer"}, {"zero": 1}),
    ],
)
def test_a_job_that_rules_refuse_becomes_the_nearest_that_they_allow(
    framework: str, model: str, values: dict[str, Any], changes: dict[str, Any]
) -> None:
    found = _launched(_job(model, dp=8, **values), framework)
    assert _changes(found) == changes


def test_a_rank_without_others_of_its_kind_has_no_shards_in_torchtitan() -> None:
    job = _job("llama3_8b", dp=1, tp=8, weight_sharded=True, sequence_parallel=True, framework="torchtitan")
    assert _changes(_launched(job, "torchtitan")) == {"weight_sharded": False}


def test_a_job_that_rules_refuse_is_refused_with_the_cost_of_the_nearest() -> None:
    job = _job("llama3_8b", dp=4, tp=2, overlap_tp=True)
    with pytest.raises(InputError) as error:
        launch(job, cluster_of_conf("dgx_h100", 1), "megatron-lm")
    said = str(error.value)
    assert "M14: overlapped tensor-parallel communication needs sequence parallelism; " in said
    assert said.endswith("write nearest=true for it")


def test_a_model_of_this_repository_is_meant_by_its_exact_name(tmp_path: Path) -> None:
    found = _launched(_job("llama70b", dp=8, zero=1), "deepspeed")
    reading = _read(found, "deepspeed", tmp_path)
    assert reading.job is not None
    assert reading.job.model.output_dim == 32000


@pytest.mark.parametrize("model", ["megatron_39b", "tiny"])
def test_a_known_model_completes_the_sizes_of_a_file_of_maxtext(model: str, tmp_path: Path) -> None:
    found = _launched(_job(model, dp=8, weight_sharded=True), "maxtext")
    reading = _read(found, "maxtext", tmp_path)
    assert reading.job is not None, reading.no_job
    assert reading.job.plan.weight_sharded


def _random_job(pick: random.Random) -> Job:
    model: ModelSpec = MODELS[pick.choice(sorted(MODELS))]
    tp, pp, cp = pick.choice([1, 2, 8]), pick.choice([1, 2]), pick.choice([1, 1, 2])
    dp, has_experts = pick.choice([4, 8]), model.experts is not None
    recompute = pick.choice(["none", "selective", "full", "light", "mlp", "moe+moe_act", "core_attn+mlp"])
    schedule = pick.choice(["1f1b", "gpipe", "interleaved", "zb-v"]) if pp > 1 else "1f1b"
    plan = Plan(
        tp=tp, pp=pp, cp=cp, dp=dp,
        ep=pick.choice([1, 2, 4]) if has_experts else 1,
        expert_tp=pick.choice([0, 1]) if has_experts else 0,
        schedule=schedule,
        chunks=2 if schedule in ("interleaved", "zb-v") else 1,
        weight_sharded=pick.random() < 0.4,
        zero=pick.choice([0, 1, 2]),
        sequence_parallel=tp > 1 and pick.random() < 0.5,
        overlap_tp=tp > 1 and pick.random() < 0.5,
        overlap_dp=pick.random() < 0.7,
        context=pick.choice(["ring", "ulysses", "gather"]) if cp > 1 else "ring",
        recompute=recompute,
        recompute_layers=pick.choice([0, 2]) if recompute != "none" else 0,
        precision=pick.choice(["bf16", "fp16", "fp8", "mxfp8"]),
        offload=pick.choice(["none", "optimizer", "activations"]),
        graphs=pick.choice(["none", "attn"]),
        optimizer_bytes=pick.choice([None, 4, 8]),
    )  # fmt: skip
    return Job(replace(model, batch_size=2 * dp * pp, seq_len=4096, micro_batches=None), plan)


@pytest.mark.parametrize("framework", FRAMEWORKS.own)
def test_random_jobs_are_read_with_the_figures_that_were_predicted(framework: str, tmp_path: Path) -> None:
    pick = random.Random(framework)
    count = 0
    while count < 40:
        job = _random_job(pick)
        if job.npus % 8 or isinstance(_figures(job), str):
            continue
        try:
            found = _launched(job, framework)
        except InputError:  # no such model, or degrees that nothing near has
            continue
        count += 1
        reading = _read(found, framework, tmp_path)
        assert reading.is_legal, reading.broken
        assert reading.job is not None, reading.no_job
        placed = replace(reading.job.plan, order=found.written.job.plan.order)  # hosts say it, not the file
        read = Job(reading.job.model, placed)
        assert _figures(read) == _figures(found.written.job)


def _figures(job: Job) -> Figures | str:
    cluster = cluster_of_conf("dgx_h100", max(1, job.npus // 8))
    (found,) = figures([Case(job.model, job.plan, cluster)])
    return found


@pytest.mark.parametrize(
    ("framework", "model", "asked", "near"),
    [
        ("deepspeed", "qwen3_235b_a22b", {"dp": 4, "tp": 4, "cp": 4}, {"tp": 1, "dp": 4}),
        ("torchtitan", "qwen3_30b_a3b", {"dp": 1, "tp": 8, "pp": 4, "expert_tp": 8}, {"tp": 4, "pp": 8}),
        ("maxtext", "llama3_70b", {"dp": 1, "pp": 16, "stages": "4" + "-5" * 14 + "-6"}, {"pp": 16}),
    ],
)
def test_degrees_that_no_halving_mends_find_a_plan(
    framework: str, model: str, asked: dict[str, Any], near: dict[str, Any]
) -> None:
    job = _job(model, **asked)
    plan = _launched(job, framework).written.job.plan
    assert {name: getattr(plan, name) for name in near} == near
    assert plan.dp * plan.tp * plan.pp * plan.cp == job.npus
