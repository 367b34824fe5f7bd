"""The data of a page that predicts: records of models and clusters, frameworks, intervals, and the space."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dse.answers.explorer.data import Subject, constraint_data
from dse.answers.explorer.predicted_fields import predicted_fields
from dse.answers.explorer.presets import Preset
from dse.answers.explorer.run_data import run_of_page
from dse.answers.fidelities import fidelity_of
from dse.base.errors import InputError
from dse.inputs.models import ModelSpec
from dse.inputs.models.settings import models_of_conf
from dse.inputs.strategies import AXES, StrategyAxis
from dse.inputs.strategies.precisions import PRECISIONS
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.settings import systems_of_conf
from dse.native import _engine
from dse.prediction.frameworks.dialect import FRAMEWORKS, dialect_named
from dse.prediction.intervals.interval import interval_of
from dse.prediction.intervals.kinds import WIDER, Kind
from dse.prediction.intervals.ties import tie_gap
from dse.prediction.intervals.unseen import Unseen, unseen_runs
from dse.prediction.runs.asked import AskedRun
from dse.prediction.runs.run import run_record
from dse.prediction.steps.frameworks import framework_named, framework_names
from dse.prediction.steps.native_inputs import framework_text
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import CATEGORIES, PARTS
from dse.studies.points.inputs import engine_version, model_json, result_version, system_json
from dse.studies.points.methods.predicted_columns import COMPUTE_PARTS
from dse.studies.space import DesignSpace

_SYNTHESIZED = "synthesized"


def predicted_page_data(subject: Subject) -> dict[str, Any]:
    """Return the data of a page that predicts as plain JSON.

    Raises:
        InputError: the page has no engine for a choice of the cluster.
    """
    on = subject.scenario
    assert on.system.cluster is not None
    run = run_of_page(on.run, on.system.accelerator)
    if _SYNTHESIZED in vars(on.system.group_algorithms).values():
        raise InputError(
            "system.group_algorithms has synthesized, and a page synthesises nothing: choose others, or "
            "write dse sweep"
        )
    return {
        "version": engine_version(),
        "result_version": result_version(),
        "title": f"{on.model.name} on {on.system.name}",
        "fidelity": fidelity_of(on.model_spec, on.options),
        "live": True,
        "scenario": {
            "model": model_data(on.model),
            "system": cluster_data(on.system),
            "choices": {},
        },
        "command": subject.words.sweep(),
        "point_command": subject.words.point(),
        "fields": [each.to_json() for each in predicted_fields(on.model, on.system, subject.choices, run)],
        "presets": _presets(subject, run),
        "space": {
            "choices": {
                name: None if values is None else list(values) for name, values in subject.choices.items()
            },
            "constraints": list(map(constraint_data, subject.constraints)),
        },
        "run": run_record(run.of_steps(1, on.model, Plan(), on.system.cluster)),
        "run_columns": _engine.run_columns(),
        "compute_parts": COMPUTE_PARTS,
        "axes": [axis_data(axis) for axis in AXES],
        "plan_columns": _engine.plan_columns(),
        "plan_numbers": _engine.PLAN_NUMBERS,
        "memory_cap_bytes": subject.memory_cap_bytes,
        "frameworks": {name: json.loads(framework_text(framework_named(name))) for name in framework_names()},
        "dialects": [
            {"name": name, "constants": list(dialect_named(name).constants)} for name in FRAMEWORKS.listed()
        ],
        "margins": {name: framework_named(name).memory.margin for name in framework_names()},
        "precisions": [[name, recipe.format, recipe.bits] for name, recipe in PRECISIONS.items()],
        "intervals": interval_tree(),
        "measured": sorted({run.kind.accelerator for run in unseen_runs()}),
        "tie_gap": tie_gap(),
        "parts": PARTS,
        "categories": CATEGORIES,
    }


def predicted_choices(space: DesignSpace) -> dict[str, Sequence[Any] | None]:
    """Return the values of all axes of a space; None means every degree that fills the system.

    Raises:
        InputError: the space has axes over fields of model and system.
    """
    if space.axes:
        raise InputError(
            f"space.axes.{space.axes[0][0]} has no effect on dse explore, where every number has a slider; "
            "leave it out, or write python -m dse.sweep"
        )
    return dict(space.choices)


def model_data(model: ModelSpec) -> dict[str, Any]:
    """Return a model as a study stores it."""
    spec: dict[str, Any] = json.loads(model_json(model))
    return spec


def cluster_data(system: SystemSpec) -> dict[str, Any]:
    """Return a cluster as a study stores it, and the power of a board, which predicted runs need."""
    assert system.accelerator is not None
    spec: dict[str, Any] = json.loads(system_json(system))
    spec["accelerator"]["board_power_w"] = system.accelerator.board_power_w
    return spec


def axis_data(axis: StrategyAxis) -> Mapping[str, Any]:
    """Return an axis as a page knows it."""
    names = ("name", "kind", "word", "meaning", "default", "since")
    return {
        **{name: getattr(axis, name) for name in names},
        "heading": " ".join(filter(None, axis.heading)),
    }


def _presets(subject: Subject, run: AskedRun) -> dict[str, Any]:
    own = subject.scenario
    models = [
        Preset(name, model, (f"model={name}",))
        for name, model in models_of_conf()
        if model != own.model and model.fidelity == own.model.fidelity
    ]
    systems = [
        Preset(name, system, (f"system={name}",))
        for name, system in systems_of_conf()
        if system != own.system and system.cluster is not None
    ]
    return {
        "models": [
            _preset(each, model_data(each.spec)) for each in models if isinstance(each.spec, ModelSpec)
        ],
        "systems": [
            {
                **_preset(each, cluster_data(each.spec)),
                "memory_cap_bytes": each.spec.memory_bytes,
                "fields": [
                    field.to_json()
                    for field in predicted_fields(own.model, each.spec, subject.choices, run)
                    if not field.key.startswith("model.")
                ],
            }
            for each in systems
            if isinstance(each.spec, SystemSpec)
        ],
    }


def _preset(preset: Preset, spec: Any) -> dict[str, Any]:
    return {"name": preset.name, "spec": spec, "words": list(preset.words)}


_ORDER = tuple(reversed(WIDER))
_NONE = {"accelerator": "?", "bits": 0, "blocks": "?", "context": None, "framework": "?", "scale": "?"}

OTHERS = "*"
"""The key of values that no run has."""


def interval_tree() -> dict[str, Any]:
    """Return nested values of `Kind`, framework first; a leaf has `[low, high]` of two sorts of kinds.

    The kinds are those whose accelerator some run had, whatever else it was, and all others.
    """
    return _node(unseen_runs(), {})


def _node(runs: Sequence[Unseen], known: Mapping[str, Any]) -> dict[str, Any]:
    if len(known) == len(_ORDER):
        return _leaf(known)
    name = _ORDER[len(known)]
    found: dict[str, Any] = {OTHERS: _leaf(known)}
    for value in sorted({getattr(run.kind, name) for run in runs}):
        below = [run for run in runs if getattr(run.kind, name) == value]
        found[str(value).lower() if isinstance(value, bool) else str(value)] = _node(
            below, {**known, name: value}
        )
    return found


def _leaf(known: Mapping[str, Any]) -> dict[str, Any]:
    """A kind without the next feature of any run; below that, only what its accelerator is still counts."""
    if "accelerator" in known or not unseen_runs():
        return {"known": _bounds(Kind(**{**_NONE, **known})), "unknown": None}
    elsewhere = unseen_runs()[0].kind.accelerator
    if len(known) == _ORDER.index("accelerator"):  # an accelerator of runs, but of none with these features
        these = {
            run.kind.accelerator
            for run in unseen_runs()
            if all(getattr(run.kind, name) == value for name, value in known.items())
        }
        others = sorted({run.kind.accelerator for run in unseen_runs()} - these)
        elsewhere = others[0] if others else ""
    return {
        "known": _bounds(Kind(**{**_NONE, **known, "accelerator": elsewhere})) if elsewhere else None,
        "unknown": _bounds(Kind(**{**_NONE, **known})),
    }


def _bounds(kind: Kind) -> list[float] | None:
    found = interval_of(kind)
    return None if found is None else [found.low, found.high]
