"""DeepSpeed: a JSON file, which a program of the user reads; that has the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dse.prediction.frameworks.dialect import Dialect, Rendered
from dse.prediction.frameworks.job import Document, Job, Lack, Meaning
from dse.prediction.frameworks.kinds.adapters import adapters_of
from dse.prediction.frameworks.kinds.deepspeed_plans import SHARDED, plan_facts, plan_values
from dse.prediction.frameworks.kinds.known_keys import TOP, facts_of_unknown
from dse.prediction.frameworks.rules import Facts
from dse.prediction.frameworks.writing.script import Blank

ARGUMENTS = {
    "train_batch_size": "--per_device_train_batch_size x --gradient_accumulation_steps x GPUs",
    "train_micro_batch_size_per_gpu": "--per_device_train_batch_size",
    "gradient_accumulation_steps": "--gradient_accumulation_steps",
    "bf16.enabled": "--bf16",
    "fp16.enabled": "--fp16",
}
"""The arguments of a Trainer that hold the value where the file says "auto"."""

_STRICT = (
    "zero_optimization",
    "zero_optimization.offload_optimizer",
    "zero_optimization.offload_param",
    "fp16",
    "bf16",
    "tensor_parallel",
)
_DEVICES = ("none", "cpu", "nvme")
_FILE = "ds_config.json"


class DeepSpeed(Dialect):
    """The JSON file of DeepSpeed."""

    name = "deepspeed"
    constants = ("megatron-deepspeed",)
    always_written = frozenset({"stage", "overlap_comm"})

    def stated(self, document: Document) -> tuple[dict[str, Any], dict[str, Any]]:
        """See `Dialect.stated`; "auto" states nothing but that a Trainer knows the value."""
        settings = document.settings
        by_key = self.table.by_key
        autos = [key for key, value in settings.items() if value == "auto" and key in by_key]
        plain = {key: value for key, value in settings.items() if key not in autos}
        facts, others = super().stated(_with_settings(document, plain))
        named = [key for key in autos if key in ARGUMENTS]
        facts |= {
            "auto_count": len(named),
            "autos": ", ".join(f"{key} is auto ({ARGUMENTS[key]})" for key in named),
            "auto_facts": tuple(by_key[key] for key in autos),
            "is_trainer": any(key.startswith("--") for key in settings),
            "removed_count": sum(key == "zero_optimization.mics_shard_size" for key in settings),
            "has_checkpoints": any(
                value not in (None, False, "auto") and key.startswith("activation_checkpointing.")
                for key, value in settings.items()
            ),
        }
        facts |= facts_of_unknown("strict", settings, self.name, _STRICT)
        facts |= facts_of_unknown("top", settings, self.name, (TOP,))
        return facts, {**others, **dict.fromkeys(autos, "auto")}

    def derive(self, facts: Facts) -> Facts:
        """See `Dialect.derive`."""
        found = {**self.table.defaults, **facts}
        found["tp"] = found["tp"] or 1  # 0 switches it off
        found["ep"] = found["ep"] if found["autoep"] else 1
        found.setdefault("overlap_comm", found["stage"] == SHARDED)
        if "layers" in facts:
            found["experts"] = found.get("experts") or 0
        ranks = found["tp"] * found["pp"] * found["cp"]
        npus = found.setdefault("npus", _npus(facts, ranks))
        if npus is not None and ranks > 0 and npus % ranks == 0:
            found["dp"] = npus // ranks
        if found["cpu_offload"] and found["optimizer_device"] == "none":  # how older files say it
            found["optimizer_device"] = "cpu"
        for kind in ("optimizer", "weight"):
            found[f"is_{kind}_device"] = found[f"{kind}_device"] in _DEVICES
        found["offloads_optimizer"] = found["optimizer_device"] != "none"
        found["offloads_weights"] = found["weight_device"] != "none"
        autos = found.get("auto_facts", ())
        found["has_mesh"] = found.get("dp_stated") is not None
        found["has_batch"] = any(facts.get(name) is not None for name in ("train_batch", "gbs", "mbs"))
        found["asks_batch"] = not found.get("is_trainer") and not {"train_batch", "mbs"} & set(autos)
        return {**found, **_batch(found, autos)}

    def meaning(self, facts: Facts) -> Meaning:
        """See `Dialect.meaning`."""
        assumed: list[str] = []
        plan = {"framework": self.constants[0], **plan_values(facts, assumed)}
        model = {"seq_len": facts.get("seq"), "batch_size": facts.get("gbs")}
        known = {key: value for key, value in model.items() if value} | adapters_of(facts, assumed)
        return Meaning(plan, known, tuple(assumed))

    def facts_of(self, job: Job, lacks: list[Lack]) -> dict[str, Any]:
        """See `Dialect.facts_of`."""
        return plan_facts(job, lacks)

    def rendered(self, settings: Mapping[str, Any], model: str) -> Rendered:
        """See `Dialect.rendered`: the program of the user reads the file; options go on its command line."""
        nested: dict[str, Any] = {}
        options: list[str] = []
        for key, value in settings.items():
            if key.startswith("--"):
                options += [key, *([] if value is True else [str(value)])]
                continue
            *groups, name = key.split(".")
            inner = nested
            for group in groups:
                inner = inner.setdefault(group, {})
            inner[name] = value
        meaning = f"a program of your own that trains {model} with deepspeed.initialize or a Trainer"
        words: list[str | Blank] = [Blank("TRAIN_SCRIPT"), "--deepspeed", _FILE, *options]
        return Rendered(words, {_FILE: json.dumps(nested, indent=2) + "\n"}, {"TRAIN_SCRIPT": meaning})


def _with_settings(document: Document, settings: Mapping[str, Any]) -> Document:
    return Document(
        settings, document.framework, document.version, document.model, document.npus, document.where
    )


def _npus(facts: Facts, ranks: int) -> int | None:
    """The number of GPUs that a file implies which states all of its batch."""
    batch, mbs, gas = (facts.get(name) for name in ("train_batch", "mbs", "gas"))
    if not batch or not mbs or not gas or batch % (mbs * gas) or facts.get("tp", 1) > 1 or ranks < 1:
        return None
    return int(batch // (mbs * gas) * ranks)


def _batch(facts: Facts, autos: tuple[str, ...]) -> dict[str, Any]:
    """The numbers of the batch that follow from the others, as the framework completes them.

    `counted` are the ranks that it takes for data parallelism: those of AutoTP, too.
    """
    batch, mbs, gas, dp = (facts.get(name) for name in ("train_batch", "mbs", "gas", "dp"))
    counted = dp * facts["tp"] if dp else None
    asked = facts.get("gbs")
    if asked is not None and batch is None and mbs and dp and gas is None:
        gas = asked // (mbs * dp)
    if gas is None and batch is None and (facts.get("is_trainer") or "gas" not in autos):
        gas = 1
    if batch is not None and counted:
        if mbs is not None and gas is None:
            gas = batch // (mbs * counted) if mbs > 0 else 0
        elif mbs is None and not {"mbs", "gas"} & set(autos):
            gas = 1 if gas is None else gas
            mbs = batch // counted // gas if gas > 0 else 0
    if batch is None and counted and mbs is not None and gas is not None:
        batch = mbs * gas * counted
    if asked is None and dp and mbs is not None and gas is not None:
        asked = mbs * gas * dp
    found = {"train_batch": batch, "mbs": mbs, "gas": gas, "gbs": asked, "counted": counted}
    return {name: value for name, value in found.items() if value is not None}
