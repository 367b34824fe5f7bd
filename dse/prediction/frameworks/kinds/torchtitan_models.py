"""Models of torchtitan: flavours of its registry, and a function in a file for what no option says."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dse.base.plain_data import read_yaml
from dse.inputs.models import ModelSpec
from dse.prediction.frameworks.job import Lack
from dse.prediction.frameworks.models import model_from, model_of_framework, model_values
from dse.prediction.frameworks.table import TABLES

_CONVERTERS = "model_spec.converters"
MODULE = "dse_torchtitan"
"""The module of that file, which stands where the job starts."""

CONVERTERS = {
    "fp8": (
        'Float8LinearConverter.Config(filter_fqns=["lm_head", "router.gate"], model_compile_enabled=True)',
        "Float8GroupedExpertsConverter.Config(model_compile_enabled=True)",
    ),
    "mxfp8": (
        'MXFP8LinearConverter.Config(fqns=["attention", "feed_forward", "shared_experts"], '
        "model_compile_enabled=True)",
        "MXFP8GroupedExpertsConverter.Config(pad_multiple=128, model_compile_enabled=True)",
    ),
    "fp4": ('NVFP4LinearConverter.Config(fqns=["layers"], model_compile_enabled=True)', ""),
}
"""By precision: the converters of products in layers, and those of experts. The head stays in 16 bit."""

_OF_THE_JOB = ("name", "seq_len", "batch_size", "micro_batches", "prediction_layers")


@dataclass(frozen=True)
class Flavour:
    """A model as torchtitan knows it; `function` is what its configuration starts from."""

    module: str
    flavour: str
    function: str
    longest_seq: int


@functools.cache
def _data() -> Mapping[str, Any]:
    found: dict[str, Any] = read_yaml(TABLES / "torchtitan-models.yaml")
    return found


def flavour_of(name: str) -> Flavour | None:
    """Return the flavour of a model as conf/model or a framework names it; None where there is none."""
    entry = _data()["flavours"].get(model_of_framework(name) or name)
    return Flavour(**entry) if entry else None


def flavours() -> tuple[str, ...]:
    """Return the names in conf/model that have a flavour."""
    return tuple(_data()["flavours"])


def function_facts(module: str, function: str) -> dict[str, Any]:
    """Return the facts that a function of the registry sets; empty for another, or of another module."""
    modules = {entry["module"] for entry in _data()["flavours"].values()}
    is_own = not module or module.removeprefix("torchtitan.models.") in modules
    found = dict(_data()["functions"].get(function, {})) if is_own else {}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def check_model(model: ModelSpec, lacks: list[Lack]) -> None:
    """Add to `lacks` what of a model no flavour has."""
    name = model_of_framework(model.name)
    if flavour_of(name) is None or _shape(model) != _shape(model_from(model_values(name))):
        known = "a model of torchtitan's registry"
        reason = f"its flavours are {', '.join(flavours())}; another shape needs a function of your own"
        lacks.append(Lack("model.name", model.name, known, reason))
    if model.prediction_layers:
        reason = "flavours train without layers that predict further tokens"
        lacks.append(Lack("model.prediction_layers", model.prediction_layers, 0, reason))


def _shape(model: ModelSpec) -> dict[str, Any]:
    return {key: value for key, value in asdict(model).items() if key not in _OF_THE_JOB}


def function_file(model: str, flavour: Flavour, settings: Mapping[str, Any]) -> str:
    """Return the file of a function that says what no option can: flavour, backends and parts of the model.

    The function is called as the model.
    """
    arguments = [f'"{flavour.flavour}"']
    arguments += [
        f"{key.partition('.')[2]}={value!r}"
        for key, value in settings.items()
        if key.startswith("model_spec.") and key != _CONVERTERS
    ]
    converters = _converters(model, settings.get(_CONVERTERS))
    imports = []
    if converters:
        names = ", ".join(sorted(text.partition(".")[0] for text in converters))
        imports = [f"from torchtitan.components.quantization import {names}"]
        arguments.append(f"converters=[{', '.join(converters)}]")
    lines = [
        f'"""The configuration of {model} for torchtitan 0.3: what its command line cannot say."""',
        "",
        *imports,
        f"from torchtitan.models.{flavour.module} import config_registry, model_registry",
        "",
        "",
        f"def {model}():",
        f"    config = config_registry.{flavour.function}()",
        f"    config.model_spec = model_registry({', '.join(arguments)})",
    ]
    for key, value in settings.items():
        if not key.startswith("model_spec."):
            lines.append(f"    config.{key} = {value!r}")
    return "\n".join([*lines, "    return config", ""])


def _converters(model: str, precision: Any) -> list[str]:
    """Return the converters that run the products of a model in a precision; none for None."""
    if precision is None:
        return []
    of_layers, of_experts = CONVERTERS[precision]
    has_experts = model_from(model_values(model)).experts is not None
    return [of_layers, of_experts] if has_experts else [of_layers]
