"""Megatron Bridge: overrides of a recipe, which names the model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dse.prediction.frameworks.dialect import Rendered
from dse.prediction.frameworks.job import Job, Lack, Meaning
from dse.prediction.frameworks.kinds.megatron import Megatron
from dse.prediction.frameworks.kinds.megatron_plans import plan_facts
from dse.prediction.frameworks.models import model_of_framework
from dse.prediction.frameworks.rules import Facts
from dse.prediction.frameworks.writing.script import Blank

# The precision of a recipe by a part of its name, the first that is there.
_PRECISIONS = {
    r"nvfp4|fp4": "fp4",
    r"mx_?fp8|fp8_?mx": "mxfp8",
    r"fp8_?sc|subchannel|blockwise": "fp8_block",
    r"fp8_?cs|current": "fp8",
    r"fp8_?ds|delayed": "fp8_delayed",
    r"fp8": "fp8",
    r"fp16": "fp16",
    r"bf16": "bf16",
}
_MIXED = {
    "bf16": "bf16_mixed",
    "fp16": "fp16_mixed",
    "fp8": "bf16_with_fp8_current_scaling_mixed",
    "fp8_delayed": "bf16_with_fp8_delayed_scaling_mixed",
    "fp8_block": "bf16_with_fp8_subchannel_scaling_mixed",
    "mxfp8": "bf16_with_mxfp8_mixed",
    "fp4": "bf16_with_nvfp4_mixed",
}


class MegatronBridge(Megatron):
    """The overrides of a recipe of Megatron Bridge."""

    name = "megatron-bridge"
    constants = ("megatron-bridge",)
    always_written = frozenset(
        {"tp", "pp", "cp", "mbs", "gbs", "seq", "mixed_precision", "sequence_parallel"}
    )

    def derive(self, facts: Facts) -> Facts:
        """See `Dialect.derive`."""
        changed = dict(facts)
        if "(" in str(changed.get("layout", "")) and not re.match(
            r"^[EtmL|*\d()\s,]*$", str(changed["layout"])
        ):
            changed["layout_call"] = changed.pop("layout")  # a function of the recipe makes it
        for ours, later in _OVERRIDDEN.items():
            changed[ours] = next(
                (changed[name] for name in later if changed.get(name) is not None), changed.get(ours)
            )
        changed = {name: value for name, value in changed.items() if value is not None}
        if not changed.get("offloads"):
            changed["offload_layers"] = 0
        if changed.get("overlap_param_gather") is None:
            changed["overlap_param_gather"] = False
        has_experts = changed.get("experts") or changed.get("ep", 1) > 1
        if has_experts and "etp" not in changed:
            changed["etp"], changed["assumes_etp"] = 1, True
        defaults = {"fp8_recipe": "current", "flex_backend": "deepep", **_OF_LATER_VERSIONS}
        return super().derive({**{k: v for k, v in defaults.items() if k not in changed}, **changed})

    def meaning(self, facts: Facts) -> Meaning:
        """See `Dialect.meaning`."""
        text = str(facts["mixed_precision"]).lower()
        if facts.get("fp8_recipe") not in (None, "current") and not re.search("fp8|fp4", text):
            text = f"fp8 {facts['fp8_recipe']}"
        name = next((name for part, name in _PRECISIONS.items() if re.search(part, text)), "")
        told = [] if name else [f"precision bf16 for {facts['mixed_precision']}"]
        if facts.get("assumes_etp"):
            told.append("experts without tensor parallelism, as recipes with experts set it")
        if facts.get("layout_call"):
            told.append(f"an even split of layers: the layout is made by {facts['layout_call']}")
        found = super().meaning({**facts, "precision": name or "bf16"})
        plan = dict(found.plan)
        if plan["stages"] == "even" and _is_uneven(facts):
            plan["stages"] = "spread"
            told.append("stages of layers as equal as can be, where the recipe lays them out itself")
        return Meaning(plan, found.model, (*found.assumed, *told))

    def model_values(self, facts: Facts, assumed: list[str]) -> dict[str, Any]:
        """See `Megatron.model_values`: the recipe has all but the sequences and the batch."""
        del assumed
        keys = {"seq": "seq_len", "gbs": "batch_size"}
        return {ours: facts[theirs] for theirs, ours in keys.items() if facts.get(theirs) is not None}

    def facts_of(self, job: Job, lacks: list[Lack]) -> dict[str, Any]:
        """See `Dialect.facts_of`: the recipe has the model."""
        if not model_of_framework(job.model.name):
            lacks.append(
                Lack("model.name", job.model.name, "a model of conf/model", "recipes name their models")
            )
        facts = plan_facts(job, lacks)
        facts["mixed_precision"] = _MIXED[job.plan.precision]
        if job.plan.dispatcher == "deduplicated":
            facts["flex_backend"] = "deepep"
        facts |= {"offloads": bool(facts.get("offload_layers")), "data_seq": facts["seq"]}
        if job.model.experts:
            facts |= {"etp": job.plan.expert_degree, "mtp": job.model.prediction_layers}
        return facts

    def rendered(self, settings: Mapping[str, Any], model: str) -> Rendered:
        """See `Dialect.rendered`: a recipe of the library by the name of the model, and overrides."""
        words = ["run_recipe.py", "--recipe", f"{model}_pretrain_config"]
        overrides = [f"{key}={_text(value)}" for key, value in settings.items()]
        blanks = {"DATA_PATH": "tokenised data of Megatron", "TOKENIZER": "name or folder of a tokenizer"}
        data = [
            Blank("DATA_PATH", "dataset.blend=[[", "],null]"),
            Blank("TOKENIZER", "tokenizer.tokenizer_model="),
        ]
        return Rendered([*words, *overrides, *data], {}, blanks)


# Facts that others override where they are stated.
_OVERRIDDEN = {
    "overlap_grad_reduce": ("comm_grad_reduce",),
    "overlap_param_gather": ("comm_param_gather", "optimizer_param_gather"),
    "overlap_ep": ("a2a_overlap",),
}
# Facts of options that Bridge has not, as Megatron-Core has them.
_OF_LATER_VERSIONS: dict[str, Any] = {
    "bf16": True,
    "fp16": False,
    "vocab_multiple": 128,
}


def _is_uneven(facts: Facts) -> bool:
    layers, parts = facts.get("layers"), facts["pp"] * facts["chunks"]
    return layers is not None and layers >= parts and all((layers + extra) % parts for extra in (0, 1, 2))


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
