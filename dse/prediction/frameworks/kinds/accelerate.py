"""Accelerate: its YAML file for a program of the user's own, and arguments of a Trainer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from dse.prediction.frameworks.dialect import Dialect, Rendered
from dse.prediction.frameworks.job import Document, Job, Lack, Meaning
from dse.prediction.frameworks.kinds.accelerate_plans import STRATEGIES, plan_facts, plan_values
from dse.prediction.frameworks.kinds.adapters import adapters_of
from dse.prediction.frameworks.kinds.known_keys import TOP, facts_of_unknown
from dse.prediction.frameworks.rules import Facts
from dse.prediction.frameworks.writing.script import Blank

_TYPES = ("NO", "MULTI_CPU", "MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "MULTI_XPU",
          "MULTI_HPU", "MULTI_NEURON", "DEEPSPEED", "FSDP", "XLA", "MEGATRON_LM")  # fmt: skip
_POLICIES = ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP")
_STATES = ("FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT")
_PRECISIONS = ("no", "fp16", "bf16", "fp8")
_SWITCHES = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")
_PARALLEL = ("replicas", "shards", "tp", "ring_cp", "exchange_cp")
_TRAINER_BATCH = 8  # sequences on a GPU where a Trainer is not told
_FILE = "accelerate.yaml"


class Accelerate(Dialect):
    """The YAML file of accelerate."""

    name = "accelerate"
    constants = ("torchtitan", "torchtitan-compiled")
    always_written = frozenset({"version"})

    def stated(self, document: Document) -> tuple[dict[str, Any], dict[str, Any]]:
        """See `Dialect.stated`."""
        facts, others = super().stated(document)
        settings = document.settings
        facts |= {
            "is_trainer": any(key.startswith("--") for key in settings),
            "has_fsdp_keys": any(key.startswith("fsdp_config.") for key in settings),
            "has_parallelism": any(name in facts for name in _PARALLEL),
        }
        facts |= facts_of_unknown("top", settings, self.name, (TOP,))
        facts |= facts_of_unknown("fsdp", settings, self.name, ("fsdp_config",))
        return facts, others

    def derive(self, facts: Facts) -> Facts:
        """See `Dialect.derive`."""
        found = {**self.table.defaults, **_of_trainer(facts), **facts}
        found.setdefault("has_parallelism", any(facts.get(name, 1) != 1 for name in _PARALLEL))
        has_fsdp = found.get("has_fsdp_keys") or found.get("trainer_fsdp")
        found.setdefault("distributed", "FSDP" if has_fsdp else "MULTI_GPU")
        found |= _names(found)
        found["cp"] = found["ring_cp"] * found["exchange_cp"]
        npus, ranks = found.get("npus"), found["tp"] * found["cp"]
        if npus is not None and ranks > 0 and npus % ranks == 0:
            found["dp"] = npus // ranks
        if found.get("mbs") is None and found.get("is_trainer"):
            found["mbs"] = _TRAINER_BATCH
        mbs, dp = found.get("mbs"), found.get("dp")
        if mbs is not None and dp is not None and found.get("gbs") is None:
            found["gbs"] = mbs * dp * (found.get("gas") or 1)
        return found

    def meaning(self, facts: Facts) -> Meaning:
        """See `Dialect.meaning`."""
        assumed: list[str] = []
        plan = plan_values(facts, assumed)
        model = {"seq_len": facts.get("seq"), "batch_size": facts.get("gbs")}
        known = {key: value for key, value in model.items() if value} | adapters_of(facts, assumed)
        return Meaning(plan, known, tuple(assumed))

    def facts_of(self, job: Job, lacks: list[Lack]) -> dict[str, Any]:
        """See `Dialect.facts_of`."""
        return plan_facts(job, lacks)

    def rendered(self, settings: Mapping[str, Any], model: str) -> Rendered:
        """See `Dialect.rendered`: accelerate reads the file, and starts the program with its arguments."""
        nested: dict[str, Any] = {"compute_environment": "LOCAL_MACHINE"}
        options: list[str] = []
        for key, value in settings.items():
            if key.startswith("--"):
                options += [key, str(value)]
                continue
            group, _, name = key.rpartition(".")
            (nested.setdefault(group, {}) if group else nested)[name] = value
        meaning = f"a program of your own that trains {model} with accelerate or a Trainer"
        words: list[str | Blank] = ["--config_file", _FILE, Blank("TRAIN_SCRIPT"), *options]
        text = yaml.safe_dump(nested, sort_keys=False)
        return Rendered(words, {_FILE: text}, {"TRAIN_SCRIPT": meaning}, "accelerate")


def _of_trainer(facts: Facts) -> dict[str, Any]:
    """Facts that --fsdp of a Trainer says, such as `full_shard auto_wrap offload`."""
    words = str(facts.get("trainer_fsdp") or "").lower().split()
    if not words:
        return {}
    strategy = next((word for word in words if word.upper() in STRATEGIES), None)
    found: dict[str, Any] = {"offload": "offload" in words}
    return found | ({"sharding": strategy.upper()} if strategy else {})


def _names(facts: Facts) -> dict[str, Any]:
    """Whether the framework knows what the file names, and what it knows."""
    version = facts["version"]
    sharding = str(facts.get("sharding") or STRATEGIES[0]).upper()
    digits = tuple(map(str, range(1, len(STRATEGIES) + 1)))
    states = _STATES if version == 1 else tuple(name for name in _STATES if name != "LOCAL_STATE_DICT")
    kind = str(facts["distributed"]).upper()
    mixed = facts.get("mixed")
    return {
        "is_known_type": kind in _TYPES,
        "types": ", ".join(_TYPES),
        "is_fsdp": kind == "FSDP",
        "is_deepspeed": kind == "DEEPSPEED",
        "has_sharding": facts.get("sharding") is not None,
        "has_reshard": facts.get("reshard") is not None,
        "is_strategy": sharding in (*STRATEGIES, *digits),
        "strategies": ", ".join(STRATEGIES),
        "strategy": STRATEGIES[int(sharding) - 1] if sharding in digits else sharding,
        "is_switch": str(facts.get("reshard")).lower() in _SWITCHES,
        "is_policy": str(facts["wrap"]).upper() in _POLICIES,
        "policies": ", ".join(_POLICIES),
        "is_state_dict": str(facts["state_dict"]).upper() in states,
        "state_dicts": ", ".join(states),
        "is_precision": mixed is None or str(mixed).lower() in _PRECISIONS,
    }
