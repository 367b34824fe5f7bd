"""The question of a report: the model and the system of a question, as labels and values for people."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

from dse.base.lazy import pa
from dse.base.units import format_bytes
from dse.inputs.models import ModelSpec
from dse.inputs.systems import SystemSpec

Facts = list[tuple[str, str]]

_MODEL = {
    "num_layers": "layers",
    "d_model": "hidden width",
    "d_ff": "feed-forward width",
    "num_heads": "attention heads",
    "seq_len": "sequence length (tokens)",
    "batch_size": "global batch (sequences)",
    "input_dim": "input embedding (vocabulary)",
    "output_dim": "output embedding (vocabulary)",
    "fidelity": "fidelity of the workload",
}
_SYSTEM = {
    "peak_tflops": ("peak performance of an NPU", "TFLOPS"),
    "memory_bandwidth_gbps": ("memory bandwidth of an NPU", "GB/s"),
    "endpoint_delay_ns": ("endpoint delay", "ns"),
    "network_model": ("network model", ""),
}
_MODEL_IF_CHANGED = {
    "num_kv_heads": "key and value heads",
    "gated_mlp": "gated feed-forward",
    "micro_batches": "micro-batches",
    "head_dim": "width of a head",
    "experts": "mixture of experts",
    "latent_attention": "latent attention",
    "tied_embeddings": "tied embeddings",
    "biases": "biases",
    "dropout": "dropout",
    "prediction_layers": "layers that predict further tokens",
    "windows": "attention windows",
    "sparse_attention": "sparse attention",
    "state_space": "state-space mixers",
    "layer_pattern": "pattern of layers",
    "lora": "low-rank adapters",
}
_SYSTEM_IF_CHANGED = {
    "faults": "faults of links",
    "deratings": "slow NPUs",
    "npu_types": "types of NPUs",
    "roofline_enabled": "roofline model",
    "collective_optimization": "collective optimisation",
    "active_chunks_per_dimension": "active chunks a dimension",
    "preferred_dataset_splits": "chunks of a collective",
    "queues_per_dimension": "queues a dimension",
    "rendezvous_protocol": "rendezvous protocol",
    "injection_scale": "scale of the endpoint delay",
}
VARIES = "varies, see each point"


def setup(table: pa.Table) -> dict[str, Any]:
    """Return the facts of the model and of the system of a question, and the dimensions of its network.

    Keys: model, system (lists of label and value), network (a list of dimensions, empty if they vary),
    hardware (NPUs and network in a line, empty if they vary), known (False for rows of
    schema version 1, which do not say them).
    """
    models, systems = (_objects(table, name) for name in ("model_spec", "system_spec"))
    if not models or not systems:
        return {"model": [], "system": [], "network": [], "hardware": "", "known": False}
    networks = [system.get("network", []) for system in systems]
    return {
        "model": [
            *((label, _common([model.get(key) for model in models])) for key, label in _MODEL.items()),
            *_changed(models, _MODEL_IF_CHANGED, ModelSpec),
            *_repairs(models),
        ],
        "system": [
            *_cluster(systems),
            *(
                (label, _common([system.get(key) for system in systems], unit))
                for key, (label, unit) in _SYSTEM.items()
            ),
            *_changed(systems, _SYSTEM_IF_CHANGED, SystemSpec),
        ],
        "network": networks[0] if all(network == networks[0] for network in networks) else [],
        "hardware": _hardware(systems),
        "known": True,
    }


def _cluster(systems: list[dict[str, Any]]) -> Facts:
    """The parts of a cluster, and what the constants of its accelerator were fitted on."""
    if any(system.get("accelerator") is None for system in systems):
        return []
    accelerators = [system["accelerator"] for system in systems]
    facts = [
        ("accelerator", _common([accelerator["name"] for accelerator in accelerators])),
        ("nodes", _common([system["nodes"] for system in systems])),
        ("accelerators of a node", _common([system["npus_per_node"] for system in systems])),
        (
            "memory of an accelerator",
            _common([format_bytes(accelerator["memory_bytes"]) for accelerator in accelerators]),
        ),
    ]
    calibrations = [accelerator.get("calibration", "") for accelerator in accelerators]
    if any(calibrations):
        facts.append(("calibration", _common(calibrations)))
    return facts


def _hardware(systems: list[dict[str, Any]]) -> str:
    """Such as "64 NPUs of 450 TFLOPS and 1000 GB/s; Ring 4 x Ring 4 at 50 GB/s"; empty if it varies."""
    lines = set(map(_hardware_line, systems))
    return lines.pop() if len(lines) == 1 else ""


def _hardware_line(system: dict[str, Any]) -> str:
    dimensions = system.get("network", [])
    npus = math.prod(dimension.get("npus", 1) for dimension in dimensions)
    rates = dict.fromkeys(f"{dimension.get('bandwidth_gbps', 0):g}" for dimension in dimensions)
    names = " x ".join(f"{dimension.get('topology')} {dimension.get('npus')}" for dimension in dimensions)
    speed = "" if any(dimension.get("file") for dimension in dimensions) else f" at {' x '.join(rates)} GiB/s"
    return (
        f"{npus} NPUs of {system.get('peak_tflops', 0):g} TFLOPS and "
        f"{system.get('memory_bandwidth_gbps', 0):g} GB/s of memory; {names}{speed}"
    )


def _objects(table: pa.Table, name: str) -> list[dict[str, Any]]:
    texts = table[name].unique().to_pylist()
    return [json.loads(text) for text in texts if text is not None]


def _changed(specs: list[dict[str, Any]], labels: dict[str, str], spec: type) -> Facts:
    """The facts that are not as the specification has them by default."""
    defaults = {field.name: field.default for field in dataclasses.fields(spec)}
    facts = []
    for key, label in labels.items():
        values = [_listed(values.get(key, defaults[key])) for values in specs]
        if any(value != _listed(defaults[key]) for value in values):
            facts.append((label, _common(values)))
    return facts


def _listed(value: Any) -> Any:
    """A list of faults or slow NPUs as its length, a group as its keys and values, a flag as a word."""
    if isinstance(value, dict):
        named = [(name.replace("_", " "), entry) for name, entry in value.items() if entry is not None]
        return ", ".join(f"{name} {_listed(entry)}" for name, entry in named)
    if isinstance(value, list | tuple):
        return len(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "as the fidelity says" if value is None else value


def _repairs(models: list[dict[str, Any]]) -> Facts:
    """Repairs that were switched one by one."""
    names = dict.fromkeys(name for model in models for name in model.get("repairs") or {})
    facts = []
    for name in names:
        values = [(model.get("repairs") or {}).get(name) for model in models]
        if any(value is not None for value in values):
            facts.append((f"repair: {name.replace('_', ' ')}", _common([_listed(value) for value in values])))
    return facts


def _common(values: list[Any], unit: str = "") -> str:
    if any(value != values[0] for value in values):
        return VARIES
    value = values[0]
    shown = f"{value:,.10g}".replace(",", "\u202f") if isinstance(value, int | float) else str(value)
    return f"{shown} {unit}".strip()
