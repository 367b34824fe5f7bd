"""Rules that a page has, too: functions that are translated for it, and their module."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from dse.base.pages.translated import translated
from dse.base.pages.translated_expressions import RUNTIME
from dse.base.records import converted
from dse.inputs.accelerators import Accelerator, Cluster, TierSpec, cluster
from dse.inputs.accelerators.algorithms import GroupAlgorithms
from dse.inputs.models import ModelSpec
from dse.inputs.models.flops import training_flops
from dse.inputs.models.huggingface import model_of_configuration
from dse.inputs.strategies.axes import label_word
from dse.inputs.systems.clusters import several_npus
from dse.prediction.intervals.kinds import KIND
from dse.prediction.runs.asked import steps_of_tokens
from dse.prediction.steps.native_inputs import cluster_record, model_record
from dse.prediction.steps.plan_rules import FILLED, REFUSALS
from dse.prediction.steps.verdicts import verdict
from dse.studies.points.methods.method import needed

RULES = Path(__file__).parent / "page" / "predicted" / "rules.js"
"""The place of the module among those of the page; no file has it."""


def configured(content: object, name: str) -> dict[str, Any]:
    """Return the model of a Hugging Face configuration, and notes on it.

    Raises:
        InputError: as `model_of_configuration`, `ModelSpec` and `model_record`.
    """
    found = model_of_configuration(content, name, "config.json")
    model = converted(found.values, ModelSpec, "model")
    model_record(model)  # what no step can be predicted of is refused at once
    return {"spec": model, "notes": found.notes}


def predictable(values: dict[str, Any]) -> dict[str, Any]:
    """Return what predicts steps of a model that a study stores: the engine's record, operations of a step.

    Raises:
        InputError: as `ModelSpec` and `model_record`.
    """
    model = converted(values, ModelSpec, "model")
    return {"record": model_record(model), "operations": training_flops(model)}


def clustered(values: dict[str, Any]) -> dict[str, Any]:
    """Return what predicts steps on a cluster that a study stores as a system: the engine's record, the peak.

    Raises:
        InputError: as `dse.inputs.accelerators.cluster` and `several_npus`.
    """
    found = _cluster(values)
    chip = found.accelerator
    return {"record": cluster_record(found), "peak_tflops": chip.peak_tflops[chip.format_16bit]}


def planned(model: dict[str, Any], system: dict[str, Any]) -> dict[str, Any]:
    """Return the rules of plans, and a model and a cluster, which studies store, as rules read them.

    Raises:
        InputError: as `ModelSpec` and `clustered`.
    """
    return {
        "given": {"model": converted(model, ModelSpec, "model"), "cluster": _cluster(system)},
        "refusals": REFUSALS,
        "filled": FILLED,
        "kind": KIND,
    }


def _cluster(values: dict[str, Any]) -> Cluster:
    algorithms = values.get("group_algorithms", {})
    found = cluster(
        values["name"],
        converted(values["accelerator"], Accelerator, "system.accelerator"),
        values["nodes"],
        values["npus_per_node"],
        [converted(tier, TierSpec, f"system.tiers.{at}") for at, tier in enumerate(values["tiers"])],
        converted(algorithms, GroupAlgorithms, "system.group_algorithms"),
    )
    return several_npus(found)


@cache
def rules() -> str:
    """Return the module that has all of these functions."""
    roots: list[Callable[..., Any]] = [configured, predictable, clustered, planned]
    roots += [label_word, needed, steps_of_tokens, verdict]
    return translated(roots, f"../../../../base/pages/{RUNTIME}")
