"""How a job runs, in DeepSpeed's facts and in the axes of a plan, both ways."""

from __future__ import annotations

from typing import Any

from dse.base.errors import InputError
from dse.prediction.frameworks.job import Job, Lack, lacking
from dse.prediction.frameworks.models import model_of_framework
from dse.prediction.frameworks.rules import Facts

SHARDED = 3
"""The stage of ZeRO that shards weights."""

_PRESETS = {
    "mixtral_8x7b": "mixtral",
    "mixtral_8x22b": "mixtral",
    "qwen3_30b_a3b": "qwen3_moe",
    "qwen3_235b_a22b": "qwen3_moe",
    "deepseek_v2": "deepseek_v2",
    "deepseek_v3": "deepseek_v3",
}
_DISPATCHERS = {"alltoall": "comm", "deduplicated": "deepep"}


def plan_values(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    """Return the fields of the plan that completed facts say.

    Raises:
        InputError: the number of GPUs or the micro-batch is unknown.
    """
    if facts.get("npus") is None:
        raise InputError("the number of GPUs is unknown: write npus=N")
    if facts.get("mbs") is None or facts.get("gbs") is None:
        said = facts.get("autos") or "the batch is unknown"
        raise InputError(f"{said}: write micro_batch=N and batch=N")
    tp, ep, stage = facts["tp"], facts["ep"], facts["stage"]
    _tell(facts, assumed)
    is_sharded = stage == SHARDED
    return {
        "tp": tp,
        "pp": facts["pp"],
        "cp": facts["cp"],
        "dp": facts["dp"],
        "ep": ep,
        "expert_tp": 1 if ep > 1 and tp > 1 else 0,
        "micro_batch": facts["mbs"],
        "stages": "spread" if facts["pp"] > 1 else "even",
        "weight_sharded": is_sharded,
        "zero": 1 if is_sharded else stage,
        "context": "ulysses" if facts["cp"] > 1 else "ring",
        "recompute": "full" if has_recompute(facts) else "none",
        "precision": "fp16" if facts["fp16"] else "bf16",
        "overlap_tp": bool(facts["overlap_tp"]) and tp > 1,
        "overlap_dp": bool(facts["overlap_comm"]) or is_sharded,
        "offload": "optimizer" if facts["offloads_optimizer"] and stage > 0 else "none",
        "dispatcher": "deduplicated" if facts["dispatcher"] == "deepep" and ep > 1 else "alltoall",
    }


def has_recompute(facts: Facts) -> bool:
    """Whether activations are computed again: a group of settings or an argument of a Trainer says so."""
    stated = facts.get("checkpointing")
    return bool(facts.get("has_checkpoints") or facts.get("checkpoints")) if stated is None else bool(stated)


def _tell(facts: Facts, assumed: list[str]) -> None:
    """Say what the file leaves to the program, and what is read as something near it."""
    if not facts["bf16"] and not facts["fp16"]:
        assumed.append("precision bf16: neither bf16 nor fp16 is set, and training in fp32 is not modelled")
    if facts["pp"] > 1:
        assumed.append(
            "pipeline stages as the program's PipelineModule makes them, of layers as equal as can be"
        )
    if has_recompute(facts):
        assumed.append("full recomputation: the program must wrap its layers for it")
    if facts["hpz"] > 1:
        assumed.append(
            f"no second copy of the weights for each {facts['hpz']} GPUs (zero_hpz_partition_size)"
        )
    if facts["offloads_weights"] and facts["stage"] == SHARDED:
        assumed.append("weights in the memory of the GPUs: their offload is not modelled")
    if facts["optimizer_device"] == "nvme":
        assumed.append("an optimizer in the memory of the host, not on NVMe")


def plan_facts(job: Job, lacks: list[Lack]) -> dict[str, Any]:
    """Return the facts that say a plan; what DeepSpeed's file lacks is added to `lacks`."""
    plan, model = job.plan, job.model
    _refuse(job, lacks)
    offloads = plan.offload == "optimizer"
    facts: dict[str, Any] = {
        "npus": job.npus,
        "train_batch": model.batch_size if plan.tp == 1 else None,  # the framework would count tp, too
        "mbs": plan.micro_batch,
        "gas": model.batch_size // max(1, plan.micro_batch * plan.dp),
        "bf16": plan.precision != "fp16",
        "fp16": plan.precision == "fp16",
        "stage": plan.zero_stage,
        "overlap_comm": plan.overlap_dp,
        "optimizer_device": "cpu" if offloads else "none",
        "tp": plan.tp,
        "overlap_tp": plan.overlap_tp,
        "cp": plan.cp,
        "dp_stated": plan.dp if plan.cp > 1 else None,
        "checkpoints": model.num_layers if plan.recompute == "full" else None,
    }
    if plan.ep > 1:
        facts |= {
            "autoep": True,
            "ep": plan.ep,
            "preset": _PRESETS.get(model_of_framework(model.name)),
            "dispatcher": _DISPATCHERS[plan.dispatcher],
        }
    return facts


def _refuse(job: Job, lacks: list[Lack]) -> None:
    """Add what the file cannot say; stages that it lacks become data parallelism."""
    plan = job.plan
    if plan.pp > 1:
        code = "its file has no pipeline stages: a program needs a PipelineModule for them"
        lacks += [Lack("pp", plan.pp, 1, code), Lack("dp", plan.dp, plan.dp * plan.pp, "the GPUs stay")]
    expert_tp = 1 if plan.ep > 1 and plan.tp > 1 else 0
    has_other = job.model.experts is not None and plan.expert_degree != (expert_tp or plan.tp)
    lacks += lacking(
        plan,
        ("schedule", "1f1b", "its pipelines run 1f1b"),
        ("chunks", 1, "its pipelines have one chunk a stage"),
        ("stages", "even", "it has no stages to share layers out to", plan.pp > 1 and plan.stages != "even"),
        ("context", "ulysses", "it exchanges heads only", plan.cp > 1 and plan.context != "ulysses"),
        ("sequence_parallel", False, "AutoTP keeps whole activations"),
        (
            "expert_tp",
            expert_tp,
            "AutoEP keeps experts whole; without it they are cut as the rest",
            has_other,
        ),
        (
            "zero",
            1,
            "only shards of the optimizer (stage 1 or more) go to the host",
            plan.offload == "optimizer" and plan.zero_stage == 0,
        ),
        ("shard_ranks", 0, "zero_hpz_partition_size copies weights only"),
        ("recompute", "full", "it computes whole layers again", plan.recompute not in ("none", "full")),
        ("recompute_layers", 0, "the program chooses the layers"),
        (
            "precision",
            "bf16",
            "the program has 8 bit and 4 bit in code",
            plan.precision not in ("bf16", "fp16"),
        ),
        ("attention", "flash", "the program chooses its attention"),
        ("offload", "none", "it moves checkpoints of layers only", plan.offload not in ("none", "optimizer")),
        ("overlap_ep", False, "experts wait for their tokens"),
        ("graphs", "none", "it captures no graphs in training"),
        ("optimizer_bytes", None, "the program has its optimizer"),
    )
