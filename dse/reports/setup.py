"""What was asked: the model and the system of a question, as labels and values for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

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
VARIES = "varies, see each point"


def setup(table: pa.Table) -> dict[str, Any]:
    """Return the facts of the model and of the system of a question, and the dimensions of its network.

    Keys: model, system (lists of label and value), network (a list of dimensions, empty if they vary), known
    (False for rows of schema version 1, which do not say them).
    """
    models, systems = (_objects(table, name) for name in ("model_spec", "system_spec"))
    if not models or not systems:
        return {"model": [], "system": [], "network": [], "known": False}
    networks = [system.get("network", []) for system in systems]
    return {
        "model": [(label, _common([model.get(key) for model in models])) for key, label in _MODEL.items()],
        "system": [
            (label, _common([system.get(key) for system in systems], unit))
            for key, (label, unit) in _SYSTEM.items()
        ],
        "network": networks[0] if all(network == networks[0] for network in networks) else [],
        "known": True,
    }


def _objects(table: pa.Table, name: str) -> list[dict[str, Any]]:
    texts = table[name].unique().to_pylist()
    return [json.loads(text) for text in texts if text is not None]


def _common(values: list[Any], unit: str = "") -> str:
    if any(value != values[0] for value in values):
        return VARIES
    value = values[0]
    shown = f"{value:,.10g}".replace(",", "\u202f") if isinstance(value, int | float) else str(value)
    return f"{shown} {unit}".strip()
