"""How a job runs, in torchtitan's facts and in the axes of a plan, both ways.

A stage of ZeRO is copies, shards, and what stays gathered there.
"""

from __future__ import annotations

from typing import Any

from dse.base.errors import InputError
from dse.inputs.strategies.precisions import PRECISIONS
from dse.prediction.frameworks.job import Job, Lack
from dse.prediction.frameworks.kinds.torchtitan_models import CONVERTERS
from dse.prediction.frameworks.kinds.torchtitan_stages import stage_facts, stage_values
from dse.prediction.frameworks.rules import Facts
from dse.prediction.steps.plan import Plan

_PRECISIONS = {"mx": "mxfp8", "nvfp4": "fp4", "fp4": "fp4", "float8": "fp8", "fp8": "fp8"}
_BRIDGED = ("deepep", "hybridep")
_BYTES_IN_BF16 = 4  # moments of a weight that is trained in bf16, without a master copy
EAGER, COMPILED = "torchtitan", "torchtitan-compiled"


def plan_values(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    """Return the fields of the plan that completed facts say.

    Raises:
        InputError: a fact has a value that no plan has, or the number of GPUs is unknown.
    """
    if facts.get("npus") is None or facts.get("dp") is None:
        raise InputError("the number of GPUs is unknown: write npus=N")
    tp, pp, cp = facts["tp"], facts["pp"], facts["cp"]
    has_exchange = bool(facts["has_experts"]) and facts["ep"] > 1
    values = {
        "tp": tp,
        "pp": pp,
        "cp": cp,
        "dp": facts["dp"],
        "ep": facts["ep"] if facts["has_experts"] else 1,
        "expert_tp": _expert_tp(facts) if has_exchange else 0,
        "micro_batch": facts["mbs"],
        "sequence_parallel": bool(facts["sequence_parallel"]) and tp > 1,
        "context": "ring" if cp == 1 or facts.get("rotation") == "alltoall" else "gather",
        "precision": _precision(facts, assumed),
        "overlap_tp": bool(facts["async_tp"]) and tp > 1,
        "offload": "optimizer" if facts["offload"] else "none",
        "framework": COMPILED if facts["is_compiled"] else EAGER,
        "dispatcher": "deduplicated" if has_exchange and facts["backend"] in _BRIDGED else "alltoall",
        "graphs": "none" if facts["graphs_off"] else "full",
        "optimizer_bytes": _BYTES_IN_BF16 if facts["dtype"] == "bfloat16" else None,
        **stage_values(facts, assumed),
        **sharding_values(facts, assumed),
        **_recompute(facts, assumed),
    }
    if facts["offload"]:
        assumed.append("the optimizer offloaded; torchtitan offloads weights and gradients with it")
    if pp > 1 and facts.get("gbs") is not None and facts["gbs"] > facts["local"] * facts["dp"]:
        assumed.append("one pipeline for all micro-batches of a step, where local batches run one by one")
    return values


def _expert_tp(facts: Facts) -> int:
    """Tensor parallelism of experts, 0 for that of attention: experts take the ranks of tp whole."""
    degree = facts.get("etp") or 1
    return 0 if degree == facts["tp"] else degree


def _precision(facts: Facts, assumed: list[str]) -> str:
    text = str(facts.get("converters") or "").lower()
    for part, name in _PRECISIONS.items():
        if part in text:
            return name
    if facts["mixed"] != "bfloat16" and facts["dtype"] != "bfloat16":
        assumed.append(f"precision bf16 for {facts['mixed']}, in which training is not modelled")
    return "bf16"


def _recompute(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    kind, each = facts["checkpointing_kind"], str(facts.get("selects") or "")
    if kind == "memory-budget":
        raise InputError("checkpointing by a memory budget is not modelled; known are none, selective, full")
    if kind != "selective":
        return {"recompute": kind, "recompute_layers": 0}
    count = int(each) if each.isdecimal() and int(each) else 2
    if facts.get("layers") is None:
        raise InputError("the number of layers is unknown: write model=NAME")
    assumed.append(f"one layer of {count} recomputed")
    return {"recompute": "full", "recompute_layers": _selected(facts["layers"], facts["pp"], count)}


def _selected(layers: int, pp: int, count: int = 2) -> int:
    """Layers of a stage whose recomputation is like that of every second product of each."""
    return max(1, layers // pp // count)


def plan_facts(job: Job, lacks: list[Lack]) -> dict[str, Any]:
    """Return the facts that say a plan; what torchtitan lacks is added to `lacks`."""
    plan, model = job.plan, job.model
    has_exchange = model.experts is not None and plan.ep > 1
    is_compiled = plan.framework != EAGER or plan.overlap_tp or plan.precision != "bf16"
    facts: dict[str, Any] = {
        "npus": job.npus, "tp": plan.tp, "pp": plan.pp, "cp": plan.cp,
        "ep": plan.ep if model.experts else None,
        "local": plan.micro_batch if plan.pp == 1 else max(1, model.batch_size // plan.dp),
        "gbs": model.batch_size, "seq": model.seq_len,
        "sequence_parallel": plan.sequence_parallel or plan.tp == 1,
        "graphs_off": plan.graphs == "none",
        "compiles": is_compiled, "components": ("model", "loss") if is_compiled else None,
        "async_tp": plan.overlap_tp,
        "converters": plan.precision if plan.precision in CONVERTERS else None,
        "offload": plan.offload == "optimizer",
        "dtype": "bfloat16" if plan.optimizer_bytes == _BYTES_IN_BF16 else "float32",
        "backend": _backend(plan) if has_exchange else "standard",
        **stage_facts(job, lacks),
        **sharding_facts(job, lacks),
        **_recompute_facts(job, lacks),
    }  # fmt: skip
    _check(job, lacks)
    return facts


def _backend(plan: Plan) -> str:
    """Return the exchange of tokens; of those that send a token once to a node, HybridEP pads for 8 bit."""
    if plan.dispatcher != "deduplicated":
        return "standard"
    return "deepep" if plan.precision == "bf16" else "hybridep"


def _recompute_facts(job: Job, lacks: list[Lack]) -> dict[str, Any]:
    plan = job.plan
    if plan.recompute == "none":
        return {"checkpointing": "none"}
    half = _selected(job.model.num_layers, plan.pp)
    if plan.recompute != "full":
        reason = (
            "torchtitan's selective checkpointing recomputes every second product, like half of the layers"
        )
        lacks.append(Lack("recompute", plan.recompute, "full", reason))
        if plan.recompute_layers != half:
            lacks.append(Lack("recompute_layers", plan.recompute_layers, half, reason))
        return {}
    if not plan.recompute_layers:
        return {"checkpointing": "full"}
    if plan.recompute_layers != half:
        reason = f"torchtitan recomputes all layers (0) or as much as {half} of a stage"
        lacks.append(Lack("recompute_layers", plan.recompute_layers, half, reason))
    return {"checkpointing": "selective"}


def _check(job: Job, lacks: list[Lack]) -> None:
    """Add what no option says."""
    plan = job.plan
    is_split = job.model.experts is not None and plan.ep > 1
    has_graphs = plan.graphs == "full" and plan.pp == 1 and not is_split
    has_converter = plan.precision in CONVERTERS and (job.model.experts is None or plan.precision != "fp4")
    is_known = {
        "precision": plan.precision == "bf16" or has_converter,
        "offload": plan.offload in ("none", "optimizer"),
        "graphs": plan.graphs == "none" or has_graphs,
        "optimizer_bytes": plan.optimizer_bytes in (None, _BYTES_IN_BF16),
        "context": plan.context == "gather" or plan.cp == 1,
        "expert_tp": job.model.experts is None or plan.expert_degree == (1 if is_split else plan.tp),
        "framework": plan.framework != EAGER or not (plan.overlap_tp or plan.precision in CONVERTERS),
    }
    nearest: dict[str, Any] = {
        **_NEAREST,
        "precision": ("fp8" if PRECISIONS[plan.precision].format in ("fp8", "fp4") else "bf16"),
        "expert_tp": int(is_split),
    }
    for name, reason in _REASONS.items():
        value = getattr(plan, name)
        if not is_known.get(name, value == nearest[name]):
            lacks.append(Lack(name, value, nearest[name], reason))


_NEAREST: dict[str, Any] = {
    "attention": "flash",
    "overlap_dp": True,
    "overlap_ep": False,
    "context": "gather",
    "offload": "none",
    "graphs": "none",
    "optimizer_bytes": None,
    "framework": COMPILED,
}
_REASONS = {
    "precision": "its converters are rowwise FP8, MXFP8 and, without experts, NVFP4",
    "attention": "its attention is fused",
    "overlap_dp": "FSDP overlaps its messages always",
    "overlap_ep": "no option overlaps the exchange of experts",
    "context": "its attention gathers keys and values",
    "expert_tp": "experts of an exchange take the ranks of tp whole (1), others are split by tp (0)",
    "offload": "activations stay on the GPU",
    "graphs": "CUDA graphs hold a whole step, without pipelines and exchanges of experts",
    "optimizer_bytes": "moments have the type of the weights",
    "framework": "asynchronous tensor parallelism and products in 8 and 4 bit are compiled",
}


def sharding_values(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    """Return the fields of the plan that say what of a model each rank holds; cp shards weights, too."""
    replicate, shard, cp = facts["replicate"], facts["shard"], facts["cp"]
    if shard * cp == 1:
        return {"weight_sharded": False, "zero": 0 if facts["dp"] > 1 else 1, "shard_ranks": 0}
    is_copied = replicate > 1 and shard > 1
    if facts["reshard"] == "never" and facts["pp"] == 1 and not is_copied:
        return {"weight_sharded": False, "zero": 2, "shard_ranks": 0}
    if facts["reshard"] == "always" and facts["pp"] > 1:
        assumed.append("weights gathered once a step, where torchtitan gathers them for each micro-batch")
    if replicate > 1 and (cp > 1 or facts["has_experts"]):
        assumed.append("weights sharded over all of dp, where copies with cp or experts are not modelled")
        return {"weight_sharded": True, "zero": 1, "shard_ranks": 0}
    return {"weight_sharded": True, "zero": 1, "shard_ranks": shard if is_copied else 0}


def sharding_facts(job: Job, lacks: list[Lack]) -> dict[str, Any]:
    """Return the facts that say it; what torchtitan lacks is added to `lacks`."""
    plan = job.plan
    whole = {"replicate": 1, "shard": plan.dp}
    if plan.weight_sharded and plan.dp * plan.cp == 1:
        lacks.append(Lack("weight_sharded", True, False, "a single rank of dp and cp has no shards"))
        return whole
    if plan.weight_sharded:
        shard = plan.shard_ranks or plan.dp
        return {"replicate": plan.dp // shard, "shard": shard, "reshard": "default"}
    if plan.dp * plan.cp == 1:
        return whole
    if plan.zero == 2 and plan.pp == 1:
        return {**whole, "reshard": "never"}
    if plan.zero == 0 and plan.cp == 1 and (plan.ep == 1 or plan.tp % plan.ep == 0):
        return {"replicate": plan.dp, "shard": 1}
    if plan.zero == 1 and plan.cp == plan.pp == 1:
        lacks.append(Lack("zero", 1, 2, "torchtitan shards gradients with the optimizer"))
    else:
        reason = f"torchtitan shards weights with cp, experts or pipelines, so zero {plan.zero} is not there"
        lacks.append(Lack("weight_sharded", False, True, reason))
        if plan.zero != 1:
            lacks.append(Lack("zero", plan.zero, 1, reason))
    return whole
