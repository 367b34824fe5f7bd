"""How a job runs, in accelerate's facts and in the axes of a plan, both ways."""

from __future__ import annotations

from typing import Any

from dse.base.errors import InputError
from dse.prediction.frameworks.job import Job, Lack, lacking
from dse.prediction.frameworks.rules import Facts

STRATEGIES = ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2")
"""Sharding strategies of FSDP's first version, in the order of their numbers."""

_UNMODELLED = ("XLA", "MEGATRON_LM")
_ON = ("y", "yes", "t", "true", "on", "1")
_CONTEXTS = {"allgather": "gather", "alltoall": "ring"}
_COMMS = {"gather": "allgather", "ring": "alltoall", "ulysses": "allgather"}
_BACKENDS = {"fp8": "AO", "fp8_delayed": "TE"}
_SHARDED = 3  # the stage of ZeRO that shards weights
_FRAMEWORKS = {False: "torchtitan", True: "torchtitan-compiled"}
_OF_DEEPSPEED = "megatron-deepspeed"


def plan_values(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    """Return the fields of the plan that completed facts say.

    Raises:
        InputError: the number of processes is unknown, or what runs them is not modelled.
    """
    if facts.get("npus") is None:
        raise InputError("the number of GPUs is unknown: write npus=N")
    kind = str(facts["distributed"]).upper()
    if kind in _UNMODELLED:
        raise InputError(f"distributed_type {kind} is not modelled: check the configuration of what it runs")
    if facts.get("mbs") is None:
        assumed.append("micro-batch 1: the file has no batch; write micro_batch=N and batch=N")
    stage, shard_ranks = _sharding(facts, assumed)
    cp = facts["cp"]
    is_compiled = str(facts["dynamo"]).upper() not in ("NO", "")
    values = {
        "tp": facts["tp"],
        "cp": cp,
        "dp": facts["dp"],
        "micro_batch": facts.get("mbs") or 1,
        "weight_sharded": stage == _SHARDED,
        "zero": 1 if stage == _SHARDED else stage,
        "shard_ranks": shard_ranks,
        "context": _context(facts) if cp > 1 else "ring",
        "recompute": "full" if facts["checkpointing"] else "none",
        "precision": _precision(facts, assumed),
        "offload": _offload(facts, assumed),
        "framework": _OF_DEEPSPEED if facts["is_deepspeed"] else _FRAMEWORKS[is_compiled],
    }
    if not facts["is_deepspeed"]:
        assumed.append("FSDP and DDP of torch as torchtitan runs them")
    return values


def _sharding(facts: Facts, assumed: list[str]) -> tuple[int, int]:
    """The stage of ZeRO, and the ranks that share a copy of the weights (0: all)."""
    if facts["is_deepspeed"]:
        return facts["stage"], 0
    if not facts["is_fsdp"]:
        return 0, 0
    shards, replicas = facts["shards"] * facts["ring_cp"], facts["replicas"]
    if facts["version"] != 1:
        stage = _SHARDED if str(facts.get("reshard") or "true").lower() in _ON else 2
        if replicas > 1 and stage == 2:
            assumed.append("gradients and the optimizer sharded over all replicas")
        return stage, facts["shards"] if replicas > 1 and stage == _SHARDED and shards > 1 else 0
    strategy = facts["strategy"]
    if strategy.startswith("HYBRID"):
        if strategy != "HYBRID_SHARD":
            assumed.append("weights gathered twice, as in HYBRID_SHARD, for HYBRID_SHARD_ZERO2")
        per_machine = facts["npus"] // facts["machines"]
        return _SHARDED, per_machine if per_machine < facts["npus"] else 0
    return {"FULL_SHARD": _SHARDED, "SHARD_GRAD_OP": 2, "NO_SHARD": 0}[strategy], 0


def _context(facts: Facts) -> str:
    if facts["exchange_cp"] > 1:
        return "ulysses"
    strategy = str(facts["cp_comm"]).lower()
    if strategy not in _CONTEXTS:
        raise InputError(f"cp_comm_strategy {strategy} is not modelled; known are {', '.join(_CONTEXTS)}")
    return _CONTEXTS[strategy]


def _precision(facts: Facts, assumed: list[str]) -> str:
    mixed = str(facts.get("mixed") or "").lower()
    if facts.get("bf16") or mixed == "bf16":
        return "bf16"
    if facts.get("fp16") or mixed == "fp16":
        return "fp16"
    if mixed == "fp8":
        backend = str(facts.get("fp8_backend") or "TE").upper()
        return "fp8" if backend == "AO" else "fp8_delayed"
    assumed.append("precision bf16: mixed_precision is not set, and training in fp32 is not modelled")
    return "bf16"


def _offload(facts: Facts, assumed: list[str]) -> str:
    if facts["is_fsdp"] and facts["offload"]:
        assumed.append("only the optimizer in the host: fsdp_offload_params moves weights, too")
        return "optimizer"
    return "optimizer" if facts["is_deepspeed"] and facts["optimizer_device"] != "none" else "none"


def plan_facts(job: Job, lacks: list[Lack]) -> dict[str, Any]:
    """Return the facts that say a plan; what accelerate lacks is added to `lacks`."""
    plan, model = job.plan, job.model
    _refuse(job, lacks)
    is_fsdp = plan.zero_stage > 0
    has_axes = plan.tp * plan.cp > 1 or plan.shard_ranks > 0
    facts: dict[str, Any] = {
        "npus": job.npus,
        "distributed": "FSDP" if is_fsdp else "MULTI_GPU",
        "mixed": "fp8" if plan.precision in _BACKENDS else plan.precision,
        "fp8_backend": _BACKENDS.get(plan.precision),
        "dynamo": "INDUCTOR" if plan.framework == _FRAMEWORKS[True] else "NO",
        "seq": model.seq_len,
        "gbs": model.batch_size,
        "mbs": plan.micro_batch,
        "gas": model.batch_size // max(1, plan.micro_batch * plan.dp),
        "checkpointing": plan.recompute == "full",
    }
    if is_fsdp:
        facts |= {"version": 2, "reshard": "true" if plan.weight_sharded else "false"}
    if is_fsdp and has_axes:
        shards = plan.shard_ranks or plan.dp
        facts |= {
            "replicas": plan.dp // shards,
            "shards": shards,
            "tp": plan.tp,
            "ring_cp": plan.cp,
            "cp_comm": _COMMS[plan.context],
        }
    return facts


def _refuse(job: Job, lacks: list[Lack]) -> None:
    """Add what accelerate cannot say; stages that it lacks become data parallelism."""
    plan = job.plan
    if plan.pp > 1:
        none = "it has no pipeline stages"
        lacks += [Lack("pp", plan.pp, 1, none), Lack("dp", plan.dp, plan.dp * plan.pp, "the GPUs stay")]
    stage = plan.zero_stage
    is_lone = stage == 0 and (plan.tp * plan.cp > 1 or plan.shard_ranks > 0)
    has_copies = plan.shard_ranks > 0 and (stage != _SHARDED or plan.dp % plan.shard_ranks > 0)
    is_whole = plan.shard_ranks in (1, plan.dp)
    precisions = ("bf16", "fp16", *_BACKENDS)
    lacks += lacking(
        plan,
        ("schedule", "1f1b", "it has no pipeline schedules"),
        ("chunks", 1, "it has no pipeline stages"),
        ("stages", "even", "it has no pipeline stages", plan.pp > 1 and plan.stages != "even"),
        ("ep", 1, "it has no expert parallelism"),
        ("expert_tp", 0, "experts are cut as the rest", plan.expert_tp not in (0, plan.tp)),
        ("zero", 2, "FSDP shards gradients with the optimizer", stage == 1 or is_lone),
        ("shard_ranks", 0, "replicas share equal shards", plan.shard_ranks > 0 and (has_copies or is_whole)),
        ("sequence_parallel", False, "plans of its models keep whole activations"),
        ("context", "gather", "DeepSpeed alone exchanges heads", plan.cp > 1 and plan.context == "ulysses"),
        ("recompute", "full", "it computes whole layers again", plan.recompute not in ("none", "full")),
        ("recompute_layers", 0, "all layers are alike"),
        ("precision", "fp8", "it has fp8 of torchao and of TE", plan.precision not in precisions),
        ("attention", "flash", "the program chooses its attention"),
        ("offload", "none", "fsdp_offload_params moves weights and gradients, too"),
        ("overlap_dp", True, "FSDP and DDP always hide their messages"),
        ("overlap_tp", False, "messages of tensor parallelism wait"),
        ("overlap_ep", False, "it has no expert parallelism"),
        ("dispatcher", "alltoall", "it has no expert parallelism"),
        ("graphs", "none", "it captures no graphs"),
        ("optimizer_bytes", None, "the program has its optimizer"),
    )
