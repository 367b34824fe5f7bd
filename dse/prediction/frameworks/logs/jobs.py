"""A job of a configuration as the columns of a table of measured steps."""

from __future__ import annotations

from typing import Any

from dse.prediction.frameworks.job import Job
from dse.prediction.frameworks.logs.rows import model_columns
from dse.prediction.steps.plan import Plan

_MOMENTS_IN_BF16 = 8  # bytes of a weight, with the master weight
_RECOMPUTED = ("none", "selective", "full", "light")


def job_columns(job: Job) -> dict[str, Any]:
    """Return what a job tells of its row; the accelerator and the nodes are the cluster's.

    The prediction of a row recomputes all layers or half of them, whatever number the plan says.
    """
    model, plan = job.model, job.plan
    columns = {
        **model_columns(model),
        "seq": model.seq_len,
        "gbs": model.batch_size,
        "gpus": job.npus,
        "task": "lora" if model.lora else "",
        **_degrees(plan),
        **_choices(plan),
        **_recomputed(job),
        "pipeline_layout": _layout(job),
    }
    return {name: value for name, value in columns.items() if value not in (None, "")}


def _degrees(plan: Plan) -> dict[str, Any]:
    is_piped = plan.pp > 1
    return {
        "tp": plan.tp,
        "pp": plan.pp,
        "dp": plan.dp,
        "cp": plan.cp,
        "ep": plan.ep,
        "expert_tp": plan.expert_tp or None,
        "zero": plan.zero_stage,
        "shard_ranks": plan.shard_ranks or None,
        "mbs": plan.micro_batch,
        "schedule": plan.schedule if is_piped else "",
        "vp": plan.chunks if is_piped and plan.chunks > 1 else None,
    }


def _choices(plan: Plan) -> dict[str, Any]:
    return {
        "source": plan.framework,
        "context": plan.context if plan.cp > 1 else "",
        "sp": plan.sequence_parallel,
        "attention": plan.attention,
        "precision": plan.precision,
        "offload": "" if plan.offload == "none" else plan.offload,
        "tp_comm_overlap": plan.overlap_tp,
        "notes": _notes(plan),
        "dispatcher": plan.dispatcher if plan.ep > 1 else "",
        "a2a_overlap": plan.overlap_ep if plan.ep > 1 else None,
        "cuda_graph": "" if plan.graphs == "none" else plan.graphs,
        "optimizer_detail": _optimizer(plan),
    }


def _optimizer(plan: Plan) -> str:
    """The states of the optimizer where they are not those of Adam in fp32."""
    if plan.optimizer == "sgd":
        return "sgd with momentum"
    is_short = plan.optimizer_bytes == _MOMENTS_IN_BF16
    return "precision-aware: main grads bfloat16, moments bfloat16" if is_short else ""


def _recomputed(job: Job) -> dict[str, Any]:
    """Modules, or layers: a row knows all of a stage, or half of them."""
    plan = job.plan
    if plan.recompute not in _RECOMPUTED:
        return {"recompute": "selective", "recompute_modules": plan.recompute}
    half = max(1, job.model.num_layers // plan.pp // 2)
    is_half = plan.recompute == "full" and plan.recompute_layers == half
    return {
        "recompute": "full layer" if is_half else plan.recompute,
        "recompute_num_layers": plan.recompute_layers or None,
    }


def _notes(plan: Plan) -> str:
    """Say in words what has no column of its own."""
    overlap = "overlap-grad-reduce" if plan.overlap_dp else "no overlap"
    return f"{overlap}, compile" if plan.framework.endswith("-compiled") else overlap


def _layout(job: Job) -> str:
    """The layers of each part, where a rule other than equal numbers shares them out."""
    if job.plan.pp == 1 or job.plan.stages == "even":
        return ""
    return "|".join("t" * layers for layers in job.layers_per_part)
