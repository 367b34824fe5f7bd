"""torchtitan: options of its command line over a function of its registry, or of a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dse.prediction.frameworks.dialect import Dialect, Rendered
from dse.prediction.frameworks.job import Document, Job, Lack, Meaning
from dse.prediction.frameworks.kinds.torchtitan_models import (
    MODULE,
    check_model,
    flavour_of,
    function_facts,
    function_file,
)
from dse.prediction.frameworks.kinds.torchtitan_plans import (
    COMPILED,
    EAGER,
    plan_facts,
    plan_values,
)
from dse.prediction.frameworks.kinds.torchtitan_stages import FILES, followed_stages
from dse.prediction.frameworks.models import model_of_framework
from dse.prediction.frameworks.rules import Facts
from dse.prediction.frameworks.writing.schedules import schedule_csv
from dse.prediction.frameworks.writing.script import Blank

_KINDS = ("memory-budget", "selective", "full", "none")
_PADDED = ("standard", "hybridep")
_ASYNC = ("minimal_async_ep",)
_PARTS = "parallelism.module_fqns_per_model_part"
_FILE = "parallelism.pipeline_parallel_schedule_csv"
_CHECKPOINTING = "activation_checkpoint"
_OLDER_STAGES = frozenset({"experimental.pipeline_parallel_degree", "training.pipeline_parallel_degree"})
"""Keys of releases that part a batch into as many micro-batches as stages, unless told otherwise."""
_BLANKS = {"HF_ASSETS": "folder with the tokenizer of the model", "TRAIN_STEPS": "number of steps"}


class TorchTitan(Dialect):
    """The configuration of torchtitan 0.3, and the TOML files of 0.1 and 0.2."""

    name = "torchtitan"
    constants = (COMPILED, EAGER)
    always_written = frozenset(
        {"replicate", "shard", "tp", "pp", "cp", "ep", "schedule", "local", "gbs", "seq", "graphs_off"}
        | {"compiles", "async_tp", "checkpointing"}
    )

    def stated(self, document: Document) -> tuple[dict[str, Any], dict[str, Any]]:
        """See `Dialect.stated`: a function of the registry states what no option overrides."""
        facts, others = super().stated(document)
        if document.schedule is not None:
            facts["schedule_text"] = document.schedule
        if _CHECKPOINTING in document.settings and document.settings[_CHECKPOINTING] is None:
            facts["checkpointing"] = "none"
        base: dict[str, Any] = {"seq": self.table.keys["seq"].default, "mtp": 0}
        if re.match(r"v?0\.[12](\D|$)", document.version) or "model.flavor" in document.settings:
            base["graphs_off"] = True  # those have no CUDA graphs
        flavour = flavour_of(document.model)
        if flavour is not None:
            base["longest_seq"] = flavour.longest_seq
        base |= function_facts(str(facts.get("module", "")), str(facts.get("config", "")))
        if (
            facts.get("pp", 1) > 1
            and "pp_mbs" not in facts
            and not _OLDER_STAGES.isdisjoint(document.settings)
        ):
            facts["batches"] = facts.get("batches") or facts["pp"]
            local = facts.get("local", self.table.keys["local"].default)
            facts["pp_mbs"] = max(1, local // facts["batches"])
        if facts.get("gbs", 0) < 0:
            del facts["gbs"]
        return {**base, **facts}, others

    def derive(self, facts: Facts) -> Facts:
        """See `Dialect.derive`."""
        found = {**self.table.defaults, **facts}
        micro_batch = "pp_mbs" if found["pp"] > 1 else "local"
        found[micro_batch] = found["mbs"] = facts.get("mbs", found[micro_batch])
        _degrees(found)
        if found.get("gbs") is None and found.get("dp") is not None:
            found["gbs"] = found["local"] * found["dp"]
        if found.get("heads") is not None:
            found.setdefault("kv_heads", found["heads"])
        found["has_experts"] = found["experts"] > 0 if found.get("experts") is not None else None
        followed_stages(found)
        _switches(found)
        return found

    def meaning(self, facts: Facts) -> Meaning:
        """See `Dialect.meaning`."""
        assumed: list[str] = []
        plan = plan_values(facts, assumed)
        model = {"seq_len": facts["seq"], "batch_size": facts["gbs"]}
        return Meaning(plan, model, tuple(assumed))

    def facts_of(self, job: Job, lacks: list[Lack]) -> dict[str, Any]:
        """See `Dialect.facts_of`: a flavour has the model."""
        check_model(job.model, lacks)
        facts = plan_facts(job, lacks)
        if job.plan.cp > 1 and model_of_framework(job.model.name).startswith("gpt_oss"):
            facts["attention"] = "flex"  # its own attention goes without context parallelism
        return facts

    def rendered(self, settings: Mapping[str, Any], model: str) -> Rendered:
        """See `Dialect.rendered`: a function in a file says what no option can."""
        name = model_of_framework(model) or re.sub(r"\W", "_", model)
        flavour = flavour_of(name)
        in_file = {key: value for key, value in settings.items() if key.startswith("model_spec.")}
        if settings.get(_PARTS):
            in_file[_PARTS] = [list(part) for part in settings[_PARTS]]
        files: dict[str, str] = {}
        module, function = settings.get("module", "MODULE"), settings.get("config", name)
        if flavour is not None and "config" not in settings:
            module, function = flavour.module, flavour.function
            if in_file or model_of_framework(function) != name:
                module, function = MODULE, name
                files[f"{MODULE}.py"] = function_file(name, flavour, in_file)
        words: list[str | Blank] = [
            "-m",
            "torchtitan.train",
            "--module",
            str(module),
            "--config",
            str(function),
        ]
        for key, value in settings.items():
            if key not in in_file and key not in ("module", "config", _CHECKPOINTING):
                words += _words(key, value)
        words += ["--hf_assets_path", Blank("HF_ASSETS"), "--training.steps", Blank("TRAIN_STEPS")]
        if _CHECKPOINTING in settings:  # a sub-command comes last
            words.append(f"activation-checkpoint:{settings[_CHECKPOINTING]}")
        if (file := settings.get(_FILE)) in FILES:
            files[str(file)] = _schedule(str(file), settings)
        return Rendered(words, files, _BLANKS)

    def environment(self, facts: Facts, accelerator: str) -> dict[str, str]:
        """See `Dialect.environment`: without it FSDP's buffers fragment the memory."""
        del facts, accelerator
        return {"PYTORCH_ALLOC_CONF": "expandable_segments:True"}


def _degrees(found: dict[str, Any]) -> None:
    """The degrees of data parallelism: -1 shards over the ranks that are left."""
    others = found["replicate"] * found["cp"] * found["tp"] * found["pp"]
    npus = found.get("npus")
    if found["shard"] < 0:
        found["shard"] = npus // others if npus is not None and others > 0 else None
    elif npus is None:
        found["npus"] = found["shard"] * others
    found["dp"] = found["replicate"] * found["shard"] if found["shard"] is not None else None


def _switches(found: dict[str, Any]) -> None:
    """Facts that formulas ask as yes or no."""
    text = str(found["checkpointing"]).lower().replace("_", "-").replace("memorybudget", "memory-budget")
    found["checkpointing_kind"] = next((kind for kind in _KINDS if kind in text), "none")
    found["has_memory_budget"] = found["checkpointing_kind"] == "memory-budget"
    found["is_compiled"] = bool(found["compiles"]) and "model" in found["components"]
    backend = str(found["backend"])
    found["is_async_dispatch"] = backend in _ASYNC or (
        backend == "hybridep" and found.get("capacity") is not None
    )
    scaled = str(found.get("converters") or "").lower()
    found["scales_experts"] = bool(scaled) and ("linear" not in scaled or "expert" in scaled)
    found["pads"] = backend in _PADDED
    found["is_known_reshard"] = found["reshard"] in ("default", "always", "never")
    found["is_varlen"] = found.get("attention") == "varlen"
    tensor = found["tp"] if found["sequence_parallel"] else 1
    context = 2 * found["cp"] if found["cp"] > 1 else 1
    found["sequence_divisor"] = tensor * context
    found.setdefault("tied", False)


def _words(key: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        section, _, name = key.rpartition(".")
        return [f"--{key}" if value else f"--{section}.no-{name}"]
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return [f"--{key}", text]


def _schedule(file: str, settings: Mapping[str, Any]) -> str:
    size = settings.get("parallelism.pipeline_parallel_microbatch_size", 1)
    micro_batches = settings["training.local_batch_size"] // size
    return schedule_csv(FILES[file], settings["parallelism.pipeline_parallel_degree"], 1, micro_batches)
