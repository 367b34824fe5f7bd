"""How a job runs, in MaxText's facts and in the axes of a plan, both ways."""

from __future__ import annotations

from typing import Any

from dse.base.errors import InputError
from dse.prediction.frameworks.kinds.maxtext_meshes import UNMODELLED
from dse.prediction.frameworks.rules import Facts

REMATS = (
    "full",
    "minimal",
    "minimal_with_context",
    "minimal_flash",
    "minimal_with_quantization",
    "minimal_with_context_and_quantization",
    "save_dot_with_context_except_mlp",
    "save_dot_except_mlpwi",
    "save_dot_except_mlp",
    "save_qkv_proj",
    "qkv_proj_offloaded",
    "custom",
    "minimal_offloaded",
    "save_out_proj",
)
ATTENTIONS = ("autoselected", "dot_product", "flash", "cudnn_flash_te", "cudnn_flash_jax")
_MODELLED = {
    "": "bf16",
    "te_no_quant": "bf16",
    "fp8": "fp8_delayed",
    "nanoo_fp8": "fp8_delayed",
    "fp8_nanoo": "fp8",
    "fp8_gpu": "fp8",
    "fp8_full": "fp8",
    "te_fp8_delayedscaling": "fp8_delayed",
    "te_fp8_currentscaling": "fp8",
    "te_mxfp8": "mxfp8",
    "fp4": "fp4",
    "te_nvfp4": "fp4",
    "te_nvfp4_no_rht": "fp4",
}
QUANTIZATIONS = (*_MODELLED, "int8", "int4", "intmp", "fp8_e5m2", "fp8_e4m3", "serve_fp8_weight")
_CONTEXTS = {"all_gather": "gather", "ring": "ring", "ulysses": "ulysses"}
_DEFAULT_ORDER = "tp-cp-ep-dp-pp"
_INSIDE, OUTSIDE = "ep-tp-cp-dp-pp", "ep-tp-cp-pp-dp"
"""Orders of the mesh: fsdp is inside of stages, data outside."""


def plan_values(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    """Return the fields of the plan that completed facts say.

    Raises:
        InputError: the number of accelerators is unknown, or the file has what no plan has.
    """
    if facts.get("npus") is None:
        raise InputError("the number of accelerators is unknown: write npus=N")
    if facts.get("mbs") is None:
        raise InputError("the micro-batch is unknown: write micro_batch=N")
    strange = [axis for axis in UNMODELLED if facts[f"axis_{axis}"] > 1]
    if strange:
        raise InputError(f"the axis {strange[0]} is {facts[f'axis_{strange[0]}']}, which is not modelled")
    tp, pp, cp, dp = (facts[name] for name in ("tp", "pp", "cp", "dp"))
    shards, has_experts = facts["shards"], bool(facts.get("experts"))
    sharing = shards * facts["ep"]  # the expert axis shards all weights that are no experts
    copies = dp // sharing
    is_sharded = sharing > 1
    _tell(facts, assumed)
    ep = facts["ep"] if has_experts else 1
    degrees = {"tp": tp, "cp": cp, "ep": ep, "dp": dp, "pp": pp}
    return {
        "tp": tp,
        "pp": pp,
        "cp": cp,
        "dp": dp,
        "ep": ep,
        "micro_batch": facts["mbs"],
        "schedule": "1f1b" if pp == 1 else "interleaved" if facts["repeats"] > 1 else "gpipe",
        "chunks": facts["repeats"] if pp > 1 else 1,
        "weight_sharded": is_sharded,
        "zero": 1 if is_sharded or facts["zero_over_data"] else 0,
        "shard_ranks": sharing if is_sharded and copies > 1 else 0,
        "sequence_parallel": facts["axis_tensor_sequence"] > 1,
        "context": _context(facts) if cp > 1 else "ring",
        "precision": _precision(facts),
        "attention": "unfused" if facts["attention"] == "dot_product" else "flash",
        "recompute": "full" if facts["remat"] == "full" else "selective",
        "offload": _offload(facts),
        "order": _order(degrees, is_inside=copies == 1 or pp == 1),
    }


def _order(degrees: dict[str, int], *, is_inside: bool) -> str:
    """The order of the mesh; the usual one, or the usual one with stages inside, where that is the same."""
    own = _INSIDE if is_inside else OUTSIDE
    usual = (_DEFAULT_ORDER, "tp-cp-ep-pp-dp")
    return next((order for order in usual if _is_own(order, own, degrees)), own)


def _is_own(order: str, own: str, degrees: dict[str, int]) -> bool:
    present = [[axis for axis in text.split("-") if degrees[axis] > 1] for text in (order, own)]
    return present[0] == present[1]


def _context(facts: Facts) -> str:
    strategy = str(facts["context_strategy"]).lower()
    if strategy not in _CONTEXTS:
        raise InputError(
            f"context_parallel_strategy {strategy} is not modelled; known are {', '.join(_CONTEXTS)}"
        )
    return _CONTEXTS[strategy]


def _precision(facts: Facts) -> str:
    quantization = str(facts["quantization"])
    if quantization not in _MODELLED:
        raise InputError(f"quantization {quantization} is not modelled")
    found = _MODELLED[quantization]
    return "fp16" if found == "bf16" and facts["dtype"] == "float16" else found


def _offload(facts: Facts) -> str:
    if facts["optimizer_offload"]:
        return "optimizer"
    return "activations" if facts["remat"] == "minimal_offloaded" else "none"


def _tell(facts: Facts, assumed: list[str]) -> None:
    """Say what is read as something near it."""
    remat, pp = facts["remat"], facts["pp"]
    if remat not in ("full", "minimal", "minimal_offloaded"):
        assumed.append(f"selective recomputation for remat_policy {remat}")
    if facts["dtype"] not in ("bfloat16", "float16"):
        assumed.append(f"precision bf16 for dtype {facts['dtype']}")
    if facts["is_named"] and (facts.get("capacity") or 0) > 0:
        assumed.append("experts that drop no token: capacity_factor is not modelled for a named model")
    if facts.get("assumes_slices"):
        assumed.append(f"{facts['slices']} slices of 8 GPUs: write num_slices=N")
    if pp > 1 and facts["gas"] > 1:
        assumed.append(
            f"one pass of the pipeline for all micro-batches, which the framework makes in {facts['gas']}"
        )
    if pp > 1 and facts["repeats"] > 1:
        assumed.append("interleaved 1F1B for repeats, whose forward passes all come first")
    if pp > 1 and facts["pipeline_layers"] != facts["layers"]:
        assumed.append("all layers in the pipeline: the first dense ones are outside of it")
    if facts["shards"] == 1 and facts["ep"] == 1 and facts["cp"] > 1:
        assumed.append("whole weights on ranks of the context axis, which the framework shards there")
    if facts["axis_tensor"] > 1 and facts["axis_tensor_sequence"] > 1:
        assumed.append("sequence parallelism on both tensor axes")
    if facts["shards"] * facts["ep"] > 1 and facts["axis_data"] > 1 and pp > 1:
        assumed.append("data parallelism outside of stages, where its axes are on both sides")
