"""MaxText: a YAML file over its base.yml, for TPUs and GPUs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import yaml

from dse.prediction.frameworks.dialect import Dialect, Rendered
from dse.prediction.frameworks.job import Document, Job, Lack, Meaning
from dse.prediction.frameworks.kinds.known_keys import TOP, facts_of_unknown
from dse.prediction.frameworks.kinds.maxtext_meshes import mesh_facts
from dse.prediction.frameworks.kinds.maxtext_models import FIXED, SIZES, model_facts, model_values, scaled
from dse.prediction.frameworks.kinds.maxtext_plans import ATTENTIONS, QUANTIZATIONS, REMATS, plan_values
from dse.prediction.frameworks.kinds.maxtext_writing import plan_facts
from dse.prediction.frameworks.rules import Facts
from dse.prediction.frameworks.writing.script import Blank

_FILE = "run.yml"
_MODULE = "maxtext.trainers.pre_train.train"
_STRATEGIES = ("all_gather", "ring", "ulysses", "usp")
_HARDWARE = ("tpu", "gpu", "gpu_multiprocess", "cpu")
_SERVING = ("vllm_rpa", "vllm_batched_rpa", "paged")
_ROUNDING = 1e-6


class MaxText(Dialect):
    """The YAML file of MaxText."""

    name = "maxtext"
    constants = ("maxtext",)
    always_written = frozenset({"pdb", "seq", "remat", "ici_fsdp", "dcn_data", "num_slices"})

    def stated(self, document: Document) -> tuple[dict[str, Any], dict[str, Any]]:
        """See `Dialect.stated`."""
        facts, others = super().stated(document)
        facts["stated_sizes"] = sum(name in FIXED for name in facts)
        facts |= facts_of_unknown("unknown", document.settings, self.name, (TOP,))
        return facts, others

    def derive(self, facts: Facts) -> Facts:
        """See `Dialect.derive`; a model that only its name says has no sizes here."""
        has_own_model = facts.get("model_name", "default") in ("default", "")
        is_known = "biases" in facts  # a known model says all sizes
        known = {
            name: value
            for name, value in self.table.defaults.items()
            if name not in SIZES or (has_own_model and not is_known)
        }
        found = scaled({**known, **facts})
        if found.get("experts") == 1:
            found["experts"] = 0
        found["is_named"] = not has_own_model
        found["has_sizes"] = has_own_model and not is_known and "hidden" in found
        found |= mesh_facts(found)
        found |= _pipeline(found)
        found |= _batch(found, facts)
        return {**found, **_names(found)}

    def meaning(self, facts: Facts) -> Meaning:
        """See `Dialect.meaning`."""
        assumed: list[str] = []
        plan = {"framework": self.constants[0], **plan_values(facts, assumed)}
        return Meaning(plan, model_values(facts), tuple(assumed))

    def facts_of(self, job: Job, lacks: list[Lack]) -> dict[str, Any]:
        """See `Dialect.facts_of`."""
        return {**model_facts(job.model, lacks), **plan_facts(job, lacks)}

    def of_accelerator(self, accelerator: str) -> dict[str, Any]:
        """See `Dialect.of_accelerator`: the kind of hardware, and the fast attention of GPUs."""
        if accelerator.startswith("tpu"):
            return {"hardware": "tpu"}
        return {"hardware": "gpu", "attention": "cudnn_flash_te"}

    def rendered(self, settings: Mapping[str, Any], model: str) -> Rendered:
        """See `Dialect.rendered`: a file over base.yml, which the program of MaxText reads."""
        text = yaml.safe_dump({"base_config": "base.yml", **settings}, sort_keys=False)
        blanks = {
            "RUN_NAME": "a name of the run",
            "OUTPUT": "folder or bucket of logs and checkpoints",
            "DATA_PATH": "folder or bucket of the data set",
        }
        data = [
            Blank("RUN_NAME", "run_name="),
            Blank("OUTPUT", "base_output_directory="),
            Blank("DATA_PATH", "dataset_path="),
        ]
        return Rendered(["-m", _MODULE, _FILE, *data], {_FILE: f"# {model}\n{text}"}, blanks, "python")


def _pipeline(facts: Facts) -> dict[str, Any]:
    """The layers of the pipeline, its repeats and micro-batches, as the framework completes them."""
    pp, layers = facts.get("pp"), facts.get("layers")
    found: dict[str, Any] = {}
    if layers is not None:
        outside = facts.get("dense_layers") or 0
        found["pipeline_layers"] = (
            facts["pipeline_layers"] if facts["pipeline_layers"] > 0 else layers - outside
        )
    else:
        found["pipeline_layers"] = None
    if pp is None:
        return found
    each = pp * facts["layers_per_stage"]
    if facts["repeats"] < 1:
        found["repeats"] = found["pipeline_layers"] // each if layers is not None and each > 0 else None
    if facts["micro_batches"] == -1:
        found["micro_batches"] = pp
    found["parts"] = found.get("micro_batches", facts["micro_batches"]) if pp > 1 else 1
    return found


def _batch(facts: Facts, stated: Facts) -> dict[str, Any]:
    """The sequences of a pass (`total`), of a step and of a micro-batch."""
    npus, dp, parts = (facts.get(name) for name in ("npus", "dp", "parts"))
    if npus is None or npus < 1:
        return {}
    asked, gas = stated.get("gbs"), facts["gas"]
    per_device = facts["pdb"]
    if asked is not None and "pdb" not in stated and gas > 0:
        per_device = asked / npus / gas
    exact = per_device * npus
    total = math.floor(exact + _ROUNDING)
    found = {"pdb": per_device, "total": total, "is_whole": abs(exact - total) < _ROUNDING * max(1, total)}
    found["gbs"] = total * gas if asked is None else asked
    if stated.get("mbs") is None and dp and parts and parts > 0 and total % (dp * parts) == 0:
        found["mbs"] = total // (dp * parts)
    return found


def _names(facts: Facts) -> dict[str, Any]:
    """Whether the framework knows what the file names, and what it knows."""
    attentions = (*ATTENTIONS, *_SERVING)
    return {
        "is_remat": facts["remat"] in REMATS,
        "remats": ", ".join(REMATS),
        "is_attention": facts["attention"] in attentions,
        "attentions": ", ".join(ATTENTIONS),
        "is_quantization": facts["quantization"] in QUANTIZATIONS,
        "quantizations": ", ".join(name for name in QUANTIZATIONS if name),
        "is_context_strategy": facts["context_strategy"].lower() in _STRATEGIES,
        "is_hardware": facts["hardware"] in _HARDWARE,
        "is_tpu": facts["hardware"] == "tpu",
        "is_ring": facts["context_strategy"].lower() == "ring",
    }
