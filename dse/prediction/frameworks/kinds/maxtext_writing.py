"""How a job is said in MaxText's facts, and what they lack."""

from __future__ import annotations

import math
from typing import Any

from dse.base.errors import InputError
from dse.prediction.frameworks.job import Job, Lack, lacking
from dse.prediction.frameworks.kinds.maxtext_plans import OUTSIDE
from dse.prediction.frameworks.writing.ranks import own_order

_WRITTEN = {
    "bf16": "",
    "fp16": "",
    "fp8": "te_fp8_currentscaling",
    "fp8_delayed": "te_fp8_delayedscaling",
    "mxfp8": "te_mxfp8",
    "fp4": "te_nvfp4",
}
_STRATEGIES = {"gather": "all_gather", "ring": "ring", "ulysses": "ulysses"}


def plan_facts(job: Job, lacks: list[Lack]) -> dict[str, Any]:
    """Return the facts that say a plan; what MaxText lacks is added to `lacks`.

    All axes are within one slice, in the order of the mesh.
    """
    plan, model = job.plan, job.model
    _refuse(job, lacks)
    parts = max(1, model.batch_size // max(1, plan.micro_batch * plan.dp))
    has_stages = plan.pp > 1
    shards = max(1, (plan.shard_ranks or plan.dp) // plan.ep) if plan.weight_sharded else 1
    tensor = "ici_tensor_sequence" if plan.sequence_parallel else "ici_tensor"
    remat = "minimal" if plan.recompute == "selective" else "full"
    return {
        "npus": job.npus,
        "gbs": model.batch_size,
        "mbs": plan.micro_batch,
        "num_slices": 1,
        "dcn_data": 1,
        "ici_data": max(1, plan.dp // plan.ep // shards),
        "ici_fsdp": shards,
        "ici_expert": plan.ep,
        "ici_context": plan.cp,
        tensor: plan.tp,
        "ici_pipeline": plan.pp,
        "pdb": plan.micro_batch * plan.dp * (parts if has_stages else 1) / job.npus,
        "gas": 1 if has_stages else parts,
        "seq": model.seq_len,
        "layers_per_stage": max(1, model.num_layers // (plan.pp * plan.chunks)) if has_stages else 1,
        "repeats": plan.chunks if has_stages else -1,
        "micro_batches": parts if has_stages else -1,
        "context_strategy": _STRATEGIES[plan.context] if plan.cp > 1 else "all_gather",
        "zero_over_data": plan.zero == 1 and not plan.weight_sharded,
        "remat": "minimal_offloaded" if plan.offload == "activations" else remat,
        "quantization": _WRITTEN.get(plan.precision, ""),
        "dtype": "float16" if plan.precision == "fp16" else "bfloat16",
        "attention": "dot_product" if plan.attention == "unfused" else "autoselected",
        "optimizer_offload": plan.offload == "optimizer",
    }


def _refuse(job: Job, lacks: list[Lack]) -> None:
    plan, model = job.plan, job.model
    dense = model.experts.dense_layers if model.experts else 0
    if plan.pp > 1 and dense:
        outside = "layers before those with experts are outside of its pipeline"
        lacks += [
            Lack("pp", plan.pp, 1, outside),
            Lack("dp", plan.dp, plan.dp * plan.pp, "the accelerators stay"),
        ]
        lacks += [
            Lack(name, getattr(plan, name), near, outside)
            for name, near in (("schedule", "1f1b"), ("chunks", 1), ("stages", "even"))
            if getattr(plan, name) != near
        ]
        return
    if plan.pp > 1 and plan.stages == "even" and not _is_even(job) and (fewer := _fewer_stages(job)):
        lacks += fewer
        return
    schedule = "interleaved" if plan.chunks > 1 else "gpipe"
    sharing = max(1, plan.shard_ranks or plan.dp) if plan.weight_sharded else 1
    has_data = plan.pp > 1 and plan.dp > sharing
    degrees = {"tp": plan.tp, "cp": plan.cp, "ep": plan.ep, "dp": plan.dp, "pp": plan.pp}
    is_placed = not has_data or own_order("maxtext", plan.order, degrees) == OUTSIDE
    lone = plan.weight_sharded and plan.dp == 1
    ep = math.gcd(plan.ep, plan.dp)
    is_whole = ep > 1 and not plan.weight_sharded
    has_zero = plan.zero > 1 or (is_whole and plan.zero != 1)
    kept = ("full", "selective")
    lacks += lacking(
        plan,
        ("schedule", schedule, "its forward passes come first", plan.pp > 1 and plan.schedule != schedule),
        ("stages", "even", "its stages have equal numbers of layers", plan.pp > 1 and not _is_even(job)),
        ("zero", 1, "it shards the optimizer or all", has_zero and not plan.weight_sharded),
        ("ep", ep, "its expert axis is a part of data parallelism", ep != plan.ep),
        ("weight_sharded", ep > 1, "its expert axis shards all weights", lone or is_whole),
        ("shard_ranks", 0, "an axis of shards holds whole expert axes", _has_odd_shards(job)),
        ("expert_tp", 0, "its tensor axis cuts experts, too", plan.expert_tp not in (0, plan.tp)),
        (
            "context",
            "gather",
            "it gathers, rings or exchanges",
            plan.cp > 1 and plan.context not in _STRATEGIES,
        ),
        ("recompute", "selective", "it saves products or nothing", plan.recompute not in kept),
        ("recompute_layers", 0, "all layers are alike"),
        ("precision", "fp8", "it has no scales of blocks in 8 bit", plan.precision not in _WRITTEN),
        ("offload", "none", "it moves the optimizer or what remat_policy saves", not _can_offload(job)),
        ("overlap_dp", True, "XLA hides messages by itself"),
        ("overlap_tp", False, "flags of XLA decide it"),
        ("overlap_ep", False, "experts wait for their tokens"),
        ("dispatcher", "alltoall", "tokens go to each of their experts"),
        ("graphs", "none", "XLA launches whole programs"),
        ("order", OUTSIDE, "its data axis is outside of its stages", not is_placed),
        ("optimizer_bytes", None, "its optimizer has other settings"),
    )


def _fewer_stages(job: Job) -> list[Lack]:
    """As many stages as divide the layers, and what follows from their number."""
    plan, reason = job.plan, "its stages have equal numbers of layers"
    pp = math.gcd(plan.pp, job.model.num_layers)
    chunks = plan.chunks if pp > 1 and job.model.num_layers % (pp * plan.chunks) == 0 else 1
    schedule = "1f1b" if pp == 1 else plan.schedule if chunks > 1 else "gpipe"
    wanted = {"pp": pp, "dp": plan.dp * plan.pp // pp, "chunks": chunks, "schedule": schedule}
    changed = {name: near for name, near in wanted.items() if getattr(plan, name) != near}
    return [Lack(name, getattr(plan, name), near, reason) for name, near in changed.items()]


def _is_even(job: Job) -> bool:
    """Whether all parts have equally many layers; rule X2 refuses numbers of layers that do not go up."""
    try:
        counts = job.layers_per_part
    except InputError:
        return job.plan.stages == "even"
    return len(set(counts)) == 1


def _has_odd_shards(job: Job) -> bool:
    plan = job.plan
    ranks = plan.shard_ranks
    return bool(ranks) and (not plan.weight_sharded or ranks % plan.ep > 0 or plan.dp % ranks > 0)


def _can_offload(job: Job) -> bool:
    plan = job.plan
    if plan.offload == "activations":
        return plan.recompute == "selective"
    return plan.offload in ("none", "optimizer")
