"""How points were computed: as the reference computes them, or as a prediction of hardware."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from dse.answers.texts import any_text_has, combined, texts_of
from dse.base.files import conf_file, conf_names
from dse.base.lazy import pa
from dse.base.plain_data import read_yaml
from dse.simulation.workloads import DEFAULT_REFERENCE
from dse.studies.points import PREDICTION, SIMULATION, method_of_options

PREDICTED = "predicted on hardware (fidelity=realistic)"
SIMULATED = "simulated without the reference's limits (fidelity=realistic)"
SEVERAL = "of several fidelities"
REFERENCE = f"as STAGE and {DEFAULT_REFERENCE} compute it (fidelity=stage)"

_ACCELERATOR = '"accelerator":{'  # in the JSON of a cluster
_SHAPE = ("d_model", "num_layers", "num_heads")


def fidelity_of(model_spec: str | None, options: str | None) -> str:
    """Return how a point was computed, in words; rows of schema version 1 are those of the reference."""
    return _WORDS[method_of_options(options).name](*_about(model_spec), _simulator(options))


def fidelity_of_rows(table: pa.Table) -> str:
    """Return the same for all rows of a table; empty if it has none."""
    methods = {(method_of_options(text).name, _simulator(text)) for text in texts_of(table["options"])}
    methods = methods or {(SIMULATION.name, _simulator(None))}
    models = {_about(text) for text in texts_of(table["model_spec"])}
    if not table.num_rows:
        return ""
    models = models or {_about(None)}
    found = {_WORDS[method](*model, simulator) for model in models for method, simulator in methods}
    return found.pop() if len(found) == 1 else SEVERAL


def hints_of_rows(table: pa.Table) -> list[str]:
    """Return what is easily mistaken in rows: a simulation on a cluster of accelerators is no prediction."""
    if not any_text_has(combined(table["system_spec"]).dictionary, _ACCELERATOR):
        return []
    systems = [text for text in texts_of(table["system_spec"]) if _ACCELERATOR in text][:1]
    if not systems:
        return []
    models, options = texts_of(table["model_spec"]), texts_of(table["options"])
    return list(dict.fromkeys([hint for a in models for b in options for hint in hints_of(a, systems[0], b)]))


def hints_of(model_spec: str, system_spec: str, options: str) -> list[str]:
    """Return the same of one point."""
    programs = json.loads(options)
    native = all(programs[part]["name"] == "native" for part in ("simulator", "workload"))
    if not native or _ACCELERATOR not in system_spec or _about(model_spec)[0] != "stage":
        return []
    return [_no_prediction(json.loads(model_spec))]


def _no_prediction(model: Mapping[str, Any]) -> str:
    """Return the line that says that a model on a cluster is simulated, and how to have it predicted."""
    shape = tuple(model.get(name) for name in _SHAPE)
    other = "".join(
        f"model={name}, which is predicted, or " for name in _predicted_models().get(shape, ())[:1]
    )
    return f"note: no prediction of the hardware: did you mean {other}model.fidelity=realistic?"


@functools.cache
def _predicted_models() -> dict[tuple[Any, ...], list[str]]:
    """The models of conf/model whose fidelity is realistic, by their shapes."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for name in conf_names("model"):
        values = read_yaml(conf_file("model", name))
        if values.get("fidelity") == "realistic":
            found.setdefault(tuple(values.get(key) for key in _SHAPE), []).append(name)
    return found


@functools.lru_cache(maxsize=4096)
def _about(model_spec: str | None) -> tuple[str, bool]:
    """The fidelity of a model, and whether some of its limits are repaired."""
    model = json.loads(model_spec) if model_spec else {}
    repaired = any(value is not None for value in (model.get("repairs") or {}).values())
    return model.get("fidelity") or "stage", repaired


@functools.lru_cache(maxsize=4096)
def _simulator(options: str | None) -> str:
    """The version of ASTRA-sim that the engine equals; that of a program of the user's own is not known."""
    simulator = (json.loads(options) if options else {}).get("simulator", {})
    if simulator.get("name", "native") != "native":
        return "ASTRA-sim"
    return str(simulator.get("reference", DEFAULT_REFERENCE))


def _simulated(fidelity: str, is_repaired: bool, simulator: str) -> str:
    if fidelity != "stage":
        return SIMULATED if simulator == DEFAULT_REFERENCE else f"{SIMULATED}, by {simulator}'s rules"
    repairs = ", but for model.repairs" if is_repaired else ""
    return f"as STAGE and {simulator} compute it{repairs} (fidelity=stage)"


_WORDS: dict[str, Callable[[str, bool, str], str]] = {
    PREDICTION.name: lambda _fidelity, _is_repaired, _simulator: PREDICTED,
    SIMULATION.name: _simulated,
}
