"""The facts of Megatron-Core that Megatron-LM and Megatron Bridge share: what follows, and what they mean."""

from __future__ import annotations

from typing import Any

from dse.prediction.frameworks.dialect import Dialect
from dse.prediction.frameworks.job import Job, Lack, Meaning
from dse.prediction.frameworks.kinds.megatron_models import model_facts, model_values
from dse.prediction.frameworks.kinds.megatron_plans import plan_facts, plan_values
from dse.prediction.frameworks.layouts import layers_of_layout
from dse.prediction.frameworks.rules import Facts

_BEFORE_BLACKWELL = ("v100", "a100", "a10", "l4", "t4", "h100", "h200", "h800", "h20", "rtx_4090")


class Megatron(Dialect):
    """A program on Megatron-Core: its facts have one meaning, whatever the keys are called."""

    constants = ("megatron-core",)

    def derive(self, facts: Facts) -> Facts:
        """See `Dialect.derive`."""
        return _followed({**self.table.defaults, **facts}, facts)

    def meaning(self, facts: Facts) -> Meaning:
        """See `Dialect.meaning`."""
        assumed: list[str] = []
        plan = plan_values(facts, assumed)
        plan.setdefault("framework", self.constants[0])
        return Meaning(plan, self.model_values(facts, assumed), tuple(assumed))

    def model_values(self, facts: Facts, assumed: list[str]) -> dict[str, Any]:
        """Return the keys of the model that facts say."""
        return model_values(facts, assumed)

    def facts_of(self, job: Job, lacks: list[Lack]) -> dict[str, Any]:
        """See `Dialect.facts_of`."""
        return {**model_facts(job.model, lacks), **plan_facts(job, lacks)}

    def environment(self, facts: Facts, accelerator: str) -> dict[str, str]:
        """See `Dialect.environment`: rule M17 of the overlap of communication."""
        if facts.get("megatron_fsdp") or facts.get("torch_fsdp"):
            return {"CUDA_DEVICE_MAX_CONNECTIONS": "8"}
        is_split = facts["tp"] > 1 or facts["cp"] > 1
        if is_split and accelerator.startswith(_BEFORE_BLACKWELL):
            return {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
        return {}


def _followed(all_facts: dict[str, Any], stated: Facts) -> dict[str, Any]:
    """Add what follows from other facts."""
    found = dict(all_facts)
    tp, pp, cp, ep = (found[name] for name in ("tp", "pp", "cp", "ep"))
    ranks = tp * pp * cp
    npus = found.get("npus")
    found["etp"] = stated.get("etp") or tp
    if npus is not None and ranks > 0:
        found["dp"] = npus // ranks if npus % ranks == 0 else None
        of_experts = found["etp"] * ep * pp
        found["expert_dp"] = npus // of_experts if of_experts else None
    if found.get("gbs") is None and found.get("dp") is not None and found.get("mbs") is not None:
        found["gbs"] = found["mbs"] * found["dp"]
    if "layers" in stated:
        found |= {"experts": found.get("experts") or 0, "mtp": found.get("mtp") or 0}
    has_experts = found["experts"] > 0 if found.get("experts") is not None else None
    found["has_experts"] = has_experts if has_experts is not None else ep > 1 or None
    found["group_micro_batches"] = stated.get("group_micro_batches") or pp
    if found.get("heads") is not None:
        found.setdefault("kv_heads", found["heads"])
    found["max_positions"] = stated.get("max_positions") or found.get("seq")
    found["deepspeed"] = bool(found.get("deepspeed"))
    if found["deepspeed"]:  # its sequence parallelism is Ulysses
        found["cp_comm"] = "a2a"
        found["zero_stage"] = found.get("zero_stage") or 0
        found["grouped"] = found["grouped"] or "kv_heads" in stated
        found["optimizer_offload"] = found["precision_aware"] = found["cpu_optimizer"]
    found["counted"] = int(found["counts_embedding"]) + int(found["counts_loss"])
    _stages(found)
    _switches(found, stated)
    return found


def _stages(found: dict[str, Any]) -> None:
    """Virtual stages, layouts and ends of another size."""
    layers, pp = found.get("layers"), found["pp"]
    found["has_layout"] = bool(found.get("layout"))
    found["has_chunks"] = (found.get("chunks") or 1) > 1
    found["has_chunk_layers"] = bool(found.get("chunk_layers"))
    found["has_virtual"] = found["has_chunks"] or found["has_chunk_layers"]
    ends = [found.get("first_layers"), found.get("last_layers")]
    found["has_ends"] = any(ends)
    if layers is not None:
        found["middle_layers"] = layers - sum(end or 0 for end in ends)
        found["middle_stages"] = pp - sum(end is not None for end in ends)
    if found["has_chunk_layers"] and layers is not None and pp and not found["has_chunks"]:
        found["chunks"] = max(1, layers // (pp * found["chunk_layers"]))
    if found["has_layout"]:
        counts = layers_of_layout(str(found["layout"]), "the pipeline layout")
        found["layout_parts"], found["layout_layers"] = len(counts), sum(counts)
        if pp and len(counts) % pp == 0:
            found["chunks"] = len(counts) // pp
    found["chunks"] = found.get("chunks") or 1


def _switches(found: dict[str, Any], stated: Facts) -> None:
    """Facts that formulas ask as yes or no."""
    if found.get("recompute_activations"):
        found["recompute_granularity"] = "selective"
    if found.get("checkpoint_activations") or found.get("legacy_method"):  # the options of 2021
        found["recompute_granularity"] = "full"
        found["recompute_method"] = found.get("legacy_method") or "uniform"
        found["recompute_num_layers"] = found.get("legacy_layers") or 1
    kind = found.get("recompute_granularity")
    found["is_full_recompute"], found["is_selective_recompute"] = kind == "full", kind == "selective"
    modules = [str(name) for name in found.get("recompute_modules") or ()]
    found["has_moe_act"] = kind == "selective" and "moe_act" in modules
    found["has_recompute_method"] = bool(found.get("recompute_method"))
    found["recompute_num_layers"] = found.get("recompute_num_layers") or 0
    found["has_gbs"], found["has_batch_schedule"] = int("gbs" in stated), int("batch_schedule" in stated)
    found["has_fp8"], found["has_fp4"] = int(_is_on(found, "fp8_format")), int(_is_on(found, "fp4_format"))
    found["is_sharded"] = bool(
        found["distributed_optimizer"] or found["megatron_fsdp"] or found["torch_fsdp"]
    )
    found["is_allgather_dispatcher"] = found["dispatcher"] == "allgather"
    found["is_fsdp_format"] = found["ckpt_format"] == "fsdp_dtensor"
    found["is_ulysses"] = "a2a" in str(found["cp_comm"]).split()


def _is_on(found: dict[str, Any], name: str) -> bool:
    return str(found.get(name) or "none").lower() not in ("none", "false")
