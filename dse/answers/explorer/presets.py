"""Models and systems of conf/ that a page has besides its own; what cannot be live, with the reason."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from dse.answers.explorer.fields import divisibility_field, system_fields
from dse.inputs.models import ModelSpec
from dse.inputs.models.settings import models_of_conf
from dse.inputs.models.traces import untraceable
from dse.inputs.systems import SystemSpec, is_synthesized
from dse.inputs.systems.settings import systems_of_conf
from dse.studies.points import Scenario
from dse.studies.points.inputs import model_json, system_json

_GRAPH_FILES = ("file", "routes")
MOST_NPUS = 512
"""Of a preset: a sweep over more NPUs takes seconds in a page."""


@dataclass(frozen=True)
class Preset:
    """A model or a system by its name; `words` are those of a command line that choose it."""

    name: str
    spec: ModelSpec | SystemSpec
    words: tuple[str, ...]


def why_not_live(scenario: Scenario) -> str:
    """Return why the engine in a page cannot evaluate a scenario, and what to write; empty where it can."""
    problem = scenario.method.why_not_in_a_page(scenario)
    return problem or _model_problem(scenario.model) or _system_problem(scenario.system)


def _model_problem(model: ModelSpec) -> str:
    if fields := untraceable(model):
        named = ", ".join(f"model.{name}" for name in fields)
        return (
            f"model {model.name} has {named}, which no execution trace can show, and a page simulates "
            "traces: choose another model, such as model=llama70b, or dse sweep on a cluster"
        )
    return ""


def _system_problem(system: SystemSpec) -> str:
    if system.npu_types:
        return (
            f"system {system.name} has NPUs of several types, which the engine in a page does not know: "
            "choose another system, such as system=system1, or write dse sweep"
        )
    for index, dimension in enumerate(system.network):
        if any(getattr(dimension, name) is not None for name in _GRAPH_FILES):
            return (
                f"system.network.{index} is a Graph, and a page reads no files: "
                "choose another topology, or write dse sweep"
            )
    algorithms = [
        name for names in vars(system.collectives).values() for name in names if is_synthesized(name)
    ]
    if algorithms:
        return (
            f"system {system.name} has collectives that are {algorithms[0]}, and a page synthesises none: "
            "choose fixed algorithms, such as ring, or write dse sweep"
        )
    return ""


def models_beside(scenario: Scenario) -> list[Preset]:
    """Return the models of conf/model, besides that of the scenario, under which all else stays as it is.

    They have its fidelity, since other fields belong to another one, and sizes may not divide there.
    """
    own = scenario.model
    return [
        Preset(name, model, (f"model={name}",))
        for name, model in models_of_conf()
        if model != own
        and model.resolved_repairs == own.resolved_repairs
        and model.fidelity == own.fidelity
        and not _model_problem(model)
    ]


def systems_beside(scenario: Scenario) -> list[Preset]:
    """Return the systems of conf/system, besides that of the scenario, that can be live with its model."""
    own = scenario.system
    return [
        Preset(name, system, (f"system={name}",))
        for name, system in systems_of_conf()
        if system != own
        and system.npus <= max(MOST_NPUS, own.npus)
        and not why_not_live(replace(scenario, system=system))
    ]


def model_data(preset: Preset) -> dict[str, Any]:
    """Return a model as data of the page."""
    assert isinstance(preset.spec, ModelSpec)
    return {"name": preset.name, "spec": json.loads(model_json(preset.spec)), "words": list(preset.words)}


def system_data(preset: Preset, scenario: Scenario) -> dict[str, Any]:
    """Return a system as data of the page, with all fields but those of the model."""
    system = preset.spec
    assert isinstance(system, SystemSpec)
    return {
        "name": preset.name,
        "spec": json.loads(system_json(system)),
        "words": list(preset.words),
        "fields": [each.to_json() for each in (divisibility_field(scenario), *system_fields(system))],
    }
