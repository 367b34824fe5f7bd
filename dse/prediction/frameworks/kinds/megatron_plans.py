"""How a job runs, in Megatron's facts and in the axes of a plan, both ways."""

from __future__ import annotations

from typing import Any

from dse.base.errors import InputError
from dse.inputs.strategies import AXIS
from dse.prediction.frameworks.job import Job, Lack, lacking
from dse.prediction.frameworks.kinds.megatron_models import has_dense_layers
from dse.prediction.frameworks.layouts import layers_of_layout, layout_of_layers
from dse.prediction.frameworks.rules import Facts
from dse.prediction.frameworks.writing.ranks import own_order
from dse.prediction.steps.plan import Plan, recomputed, text_of_layers

_CONTEXTS = {"p2p": "ring", "a2a": "ulysses", "all_gather": "gather", "allgather": "gather"}
_CP_COMMS = {"ring": "p2p", "ulysses": "a2a", "gather": "all_gather"}
_FP8_RECIPES = {
    "delayed": "fp8_delayed",
    "tensorwise": "fp8",
    "current": "fp8",
    "blockwise": "fp8_block",
    "mxfp8": "mxfp8",
}
_MOMENTS = {
    6: ("fp8", "fp8"),
    7: ("fp8", "bf16"),
    8: ("bf16", "bf16"),
    9: ("fp8", "fp32"),
    10: ("bf16", "fp32"),
}
"""Types of both moments by the bytes of a weight, with the master weight."""
_WITH_MOMENTUM = 8  # the same of one moment in fp32
_MOMENT_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
_SHARDINGS = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
_BRIDGED = ("deepep", "hybridep")


def plan_values(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    """Return the fields of the plan that completed facts say.

    Raises:
        InputError: a fact has a value that no plan has, or `npus` is unknown.
    """
    if facts.get("npus") is None:
        raise InputError("the number of GPUs is unknown: write npus=N")
    tp, pp = facts["tp"], facts["pp"]
    zero = _zero(facts)
    has_exchange = facts["has_experts"] and facts["ep"] > 1
    values = {
        "tp": tp,
        "pp": pp,
        "cp": facts["cp"],
        "dp": facts["dp"],
        "ep": facts["ep"] if facts["has_experts"] else 1,
        "expert_tp": facts["etp"] if facts["has_experts"] and facts["etp"] != tp else 0,
        "micro_batch": facts.get("mbs") or 1,
        "schedule": "interleaved" if facts["chunks"] > 1 and pp > 1 else "1f1b",
        "chunks": facts["chunks"] if pp > 1 else 1,
        "stages": _stages(facts),
        "weight_sharded": zero == 3,
        "zero": 1 if zero == 3 else zero,
        "sequence_parallel": bool(facts["sequence_parallel"]) and tp > 1,
        "context": _context(facts) if facts["cp"] > 1 else "ring",
        "precision": _precision(facts, assumed),
        "attention": "unfused" if facts["attention_backend"] in ("unfused", "local") else "flash",
        "overlap_tp": bool(facts["tp_comm_overlap"]) and tp > 1,
        "overlap_dp": bool(facts["overlap_grad_reduce"]) or zero == 3,
        "offload": _offload(facts),
        "order": "tp-cp-ep-pp-dp" if facts["pp_before_dp"] else "tp-cp-ep-dp-pp",
        "dispatcher": _dispatcher(facts, assumed) if has_exchange else "alltoall",
        "overlap_ep": bool(facts["overlap_ep"]) and has_exchange,
        "graphs": _graphs(facts),
        "optimizer_bytes": _optimizer_bytes(facts, assumed),
        "optimizer": "sgd" if facts.get("optimizer") == "sgd" else "adam",
    }
    if facts["deepspeed"]:
        values["framework"] = "megatron-deepspeed"
    return {**values, **_recompute(facts, assumed)}


def _zero(facts: Facts) -> int:
    if facts["deepspeed"]:
        return int(facts["zero_stage"])
    if facts["torch_fsdp"]:
        return 3
    if facts["megatron_fsdp"]:
        return _SHARDINGS.get(str(facts["sharding"]), 3)
    return int(bool(facts["distributed_optimizer"]))


def _stages(facts: Facts) -> str:
    pp = facts["pp"]
    if pp == 1:
        return "even"
    if facts["has_layout"]:
        return text_of_layers(layers_of_layout(str(facts["layout"]), "the pipeline layout"))
    if facts["has_ends"]:
        return text_of_layers(_ends(facts))
    if facts["counts_loss"]:
        return "lighter-ends" if facts["counts_embedding"] else "lighter-last"
    if facts["deepspeed"]:
        return _balanced(facts)
    if facts["counts_embedding"]:
        chunks = pp * facts["chunks"]
        each = (facts["layers"] + 1) // chunks
        return text_of_layers([each - 1, *[each] * (chunks - 1)])
    return "even"


def _balanced(facts: Facts) -> str:
    """Stages as DeepSpeed makes them: of as many matching layers as can be; tied embeddings are two."""
    kinds = str(facts.get("stage_balance") or "type:transformer").removeprefix("type:").split("|")
    if set(kinds) == {"transformer", "embedding"} and facts["tied"]:
        return "lighter-ends"
    if kinds != ["transformer"]:
        raise InputError(
            f"--pp-partition-method is {'|'.join(kinds)}, which is not modelled; known are type:transformer, "
            "and type:transformer|embedding with tied embeddings"
        )
    return "spread"


def _ends(facts: Facts) -> list[int]:
    """Layers of each part where the first or the last stage has another number than the others."""
    if facts.get("layers") is None:
        raise InputError("the number of layers is unknown: write model=NAME")
    middle = facts["middle_stages"]
    each: int = facts["middle_layers"] // middle if middle else 0
    first, last = facts.get("first_layers"), facts.get("last_layers")
    stages: list[int] = [*([first] if first else []), *[each] * middle, *([last] if last else [])]
    chunks: int = facts["chunks"]
    if any(count % chunks for count in stages):
        raise InputError(f"stages of {stages} layers do not go up in {chunks} virtual stages")
    return [count // chunks for count in stages] * chunks


def _context(facts: Facts) -> str:
    kinds = set(str(facts["cp_comm"]).split())
    if len(kinds) > 1 or not kinds <= set(_CONTEXTS):
        raise InputError(
            f"cp_comm_type is {facts['cp_comm']}, which is not modelled; known are {', '.join(_CONTEXTS)}"
        )
    return _CONTEXTS[kinds.pop()]


def _precision(facts: Facts, assumed: list[str]) -> str:
    if named := facts.get("precision"):  # a recipe of Bridge
        return str(named)
    if facts["has_fp4"]:
        return "fp4"
    if facts["has_fp8"]:
        recipe = str(facts["fp8_recipe"])
        if recipe not in _FP8_RECIPES:
            raise InputError(f"the FP8 recipe {recipe} is not modelled; known are {', '.join(_FP8_RECIPES)}")
        return _FP8_RECIPES[recipe]
    if not facts["bf16"] and not facts["fp16"]:
        assumed.append("precision bf16: neither bf16 nor fp16 is set, and training in fp32 is not modelled")
    return "fp16" if facts["fp16"] else "bf16"


def _offload(facts: Facts) -> str:
    if facts["offload_layers"]:
        return f"activations-{facts['offload_layers']}"
    return "optimizer" if facts["optimizer_offload"] else "none"


def _dispatcher(facts: Facts, assumed: list[str]) -> str:
    kind = str(facts["dispatcher"])
    if kind == "allgather":
        assumed.append("dispatcher alltoall for allgather, which is not modelled and slower")
    return "deduplicated" if kind == "flex" and str(facts["flex_backend"]) in _BRIDGED else "alltoall"


def _graphs(facts: Facts) -> str:
    implementation = str(facts["graph_impl"])
    scope = [str(part) for part in facts.get("graph_scope") or ()]
    if implementation in ("none", "None", "False"):
        return "none"
    if implementation == "full_iteration" or any(part.startswith("full") for part in scope):
        return "full"
    found = "+".join(scope) or "none"
    if not AXIS["graphs"].accepts(found):
        raise InputError(f"CUDA graphs of {found} are not modelled; it must be {AXIS['graphs'].allowed()}")
    return found


def _optimizer_bytes(facts: Facts, assumed: list[str]) -> int | None:
    """Bytes of a weight in fp32 and of its moments, of which SGD has one; None for those of Adam in fp32."""
    optimizer = str(facts.get("optimizer") or "adam")
    if optimizer == "sgd":
        return _WITH_MOMENTUM
    if optimizer != "adam":
        assumed.append(f"the states of Adam for those of {optimizer}, which are not modelled")
    kinds = [str(facts[name]) for name in ("exp_avg_dtype", "exp_avg_sq_dtype")]
    if not facts["precision_aware"] or kinds == ["fp32", "fp32"] or not set(kinds) <= set(_MOMENT_BYTES):
        return None
    return 4 + sum(_MOMENT_BYTES[kind] for kind in kinds)


def _recompute(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    if facts["is_full_recompute"]:
        layers = facts["recompute_num_layers"] if facts.get("recompute_method") == "block" else 0
        return {"recompute": "full", "recompute_layers": layers}
    if not facts["is_selective_recompute"]:
        return {"recompute": "none", "recompute_layers": 0}
    has_mlp = not facts["has_experts"] or has_dense_layers(facts)
    modules = [str(name) for name in facts.get("recompute_modules") or ("core_attn",)]
    found = recomputed(modules, has_mlp=has_mlp, assumed=assumed)
    light = _light(has_experts=bool(facts["has_experts"]), is_latent=bool(facts.get("mla")))
    return {"recompute": "light" if set(found.split("+")) == set(light) else found, "recompute_layers": 0}


def _light(*, has_experts: bool, is_latent: bool) -> tuple[str, ...]:
    """The modules of recompute=light that a model has."""
    return ("layernorm", *["moe_act"] * has_experts, *["mla_up_proj"] * is_latent)


def plan_facts(job: Job, lacks: list[Lack]) -> dict[str, Any]:
    """Return the facts that say a plan; what Megatron lacks is added to `lacks`."""
    plan, model = job.plan, job.model
    _refuse(plan, lacks)
    facts: dict[str, Any] = {
        "npus": job.npus, "tp": plan.tp, "pp": plan.pp, "cp": plan.cp, "ep": plan.ep,
        "etp": plan.expert_degree if model.experts and plan.expert_degree != plan.tp else None,
        "mbs": plan.micro_batch, "gbs": model.batch_size, "seq": model.seq_len,
        "chunks": plan.chunks if plan.chunks > 1 else None,
        "sequence_parallel": plan.sequence_parallel,
        "cp_comm": _CP_COMMS[plan.context],
        "bf16": plan.precision != "fp16", "fp16": plan.precision == "fp16",
        "attention_backend": "unfused" if plan.attention == "unfused" else "flash",
        "tp_comm_overlap": plan.overlap_tp, "overlap_grad_reduce": plan.overlap_dp,
        "overlap_param_gather": plan.overlap_dp and not plan.weight_sharded and plan.zero == 1,
        "distributed_optimizer": plan.zero == 1 and not plan.weight_sharded,
        "overlap_ep": plan.overlap_ep,
    }  # fmt: skip
    facts |= _precision_facts(plan.precision)
    if plan.weight_sharded or plan.zero == 2:
        sharding = "optim_grads_params" if plan.weight_sharded else "optim_grads"
        facts |= {"megatron_fsdp": True, "sharding": sharding, "ckpt_format": "fsdp_dtensor"}
    facts |= _stage_facts(job, lacks)
    light = _light(has_experts=model.experts is not None, is_latent=model.latent_attention is not None)
    facts |= _recompute_facts(plan.recompute, plan.recompute_layers, light)
    if plan.offload.startswith("activations"):
        facts["offload_layers"] = _offloaded_layers(job, lacks)
    facts["optimizer"] = plan.optimizer
    moments = _MOMENTS.get(plan.optimizer_bytes or 0) if plan.optimizer == "adam" else None
    if plan.offload == "optimizer" or moments:
        facts["precision_aware"] = True
        facts["optimizer_offload"] = plan.offload == "optimizer"
    if moments:
        facts |= {"exp_avg_dtype": moments[0], "exp_avg_sq_dtype": moments[1]}
    degrees = {"tp": plan.tp, "cp": plan.cp, "ep": plan.ep, "dp": plan.dp, "pp": plan.pp}
    facts["pp_before_dp"] = own_order("megatron-lm", plan.order, degrees) == "tp-cp-ep-pp-dp"
    if model.experts:
        facts |= {"dispatcher": "flex" if plan.dispatcher == "deduplicated" else "alltoall"}
    if plan.graphs != "none":
        facts |= {"graph_impl": "local" if plan.graphs == "full" else "transformer_engine"}
        facts["graph_scope"] = ("full_iteration",) if plan.graphs == "full" else tuple(plan.graphs.split("+"))
    return facts


def _refuse(plan: Plan, lacks: list[Lack]) -> None:
    """Add what no option says."""
    schedule = "interleaved" if plan.chunks > 1 else "1f1b"
    lacks += lacking(
        plan,
        ("schedule", schedule, "Megatron runs 1f1b and interleaved"),
        ("shard_ranks", 0, "copies of sharded weights are not written here"),
        (
            "recompute_layers",
            0,
            "Megatron recomputes modules in every layer",
            plan.recompute_layers > 0 and plan.recompute not in ("none", "full"),
        ),
        (
            "optimizer_bytes",
            None,
            "Megatron keeps a master weight, and both moments in fp32, bf16 or fp8",
            plan.optimizer == "adam" and plan.optimizer_bytes not in (None, *_MOMENTS),
        ),
    )


def _offloaded_layers(job: Job, lacks: list[Lack]) -> int:
    """Layers of which activations are offloaded: Megatron keeps those of one at least."""
    offload, most = job.plan.offload, job.model.num_layers - 1
    asked = int(offload.partition("-")[2] or most + 1)
    if asked > most:
        near = f"activations-{most}" if most else "none"
        lacks.append(Lack("offload", offload, near, "Megatron keeps the activations of at least one layer"))
    return min(asked, most)


def _precision_facts(precision: str) -> dict[str, Any]:
    if precision == "fp4":
        return {"fp4_format": "e2m1"}
    recipes = {ours: theirs for theirs, ours in _FP8_RECIPES.items() if theirs != "current"}
    return {"fp8_format": "hybrid", "fp8_recipe": recipes[precision]} if precision in recipes else {}


def _stage_facts(job: Job, lacks: list[Lack]) -> dict[str, Any]:
    plan = job.plan
    if plan.pp == 1:
        return {}
    if plan.stages == "balanced":
        lacks.append(Lack("stages", plan.stages, "spread", "its layers follow from a prediction"))
        return {}
    counts = job.layers_per_part
    most = max(counts)
    if counts == (most,) * len(counts):
        return {}
    lighter = {
        (most, *[most] * (len(counts) - 2), most - 1): {"counts_loss": True},
        (most - 1, *[most] * (len(counts) - 2), most - 1): {"counts_loss": True, "counts_embedding": True},
    }
    if counts in lighter:
        return lighter[counts]
    return {"layout": layout_of_layers(counts, job.model.prediction_layers)}


def _recompute_facts(kind: str, layers: int, light: tuple[str, ...]) -> dict[str, Any]:
    if kind == "none":
        return {}
    if kind == "full":
        method = {"recompute_method": "block", "recompute_num_layers": layers}
        return {
            "recompute_granularity": "full",
            **(method if layers else {"recompute_method": "uniform", "recompute_num_layers": 1}),
        }
    if kind == "selective":
        return {"recompute_granularity": "selective", "recompute_modules": ("core_attn",)}
    modules = light if kind == "light" else tuple(kind.split("+"))
    return {"recompute_granularity": "selective", "recompute_modules": modules}
