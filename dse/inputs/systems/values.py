"""Values of fields as overrides have them, without what is not said anyway."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any

from dse.base.texts import printable, shared_json
from dse.inputs.systems.clusters import DERIVED
from dse.inputs.systems.fields import DEFAULT_MEMORY_BYTES, Derating, LinkFault, NpuType


def shown(value: Any) -> str:
    """A value of a field as an override has it; of faults and slow NPUs only what is not the default."""
    if isinstance(value, dict):
        usual = _usual_values(frozenset(value))
        entries = [
            f"{key}:{shown(entry)}"
            for key, entry in value.items()
            if entry is not None and not (key in usual and usual[key] == entry)
        ]
        return "{" + ",".join(entries) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(shown, value)) + "]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value) if not isinstance(value, str) else printable(value)


@functools.lru_cache(maxsize=64)
def _usual_values(names: frozenset[str]) -> dict[str, Any]:
    """The defaults of the part of a system that has fields of these names."""
    for part in (LinkFault, Derating, NpuType):
        found = dataclasses.fields(part)
        if names <= {entry.name for entry in found}:
            return {entry.name: entry.default for entry in found}
    return {}


def memory_of_spec(system_spec: str | None) -> int:
    """The memory of an NPU of a stored system, as `SystemSpec.memory_bytes`."""
    values = shared_json(system_spec or "{}")
    if types := values.get("npu_types"):
        return max(each.get("memory_bytes", DEFAULT_MEMORY_BYTES) for each in types)  # type: ignore[no-any-return]
    accelerator = values.get("accelerator") or {}
    whole: int = accelerator.get("memory_bytes", DEFAULT_MEMORY_BYTES)
    return whole - accelerator.get("memory_reserve_bytes", 0)  # type: ignore[no-any-return]


def label_of_spec(values: dict[str, Any]) -> str:
    """The label that distinguishes stored systems: the name, and of a cluster that of the accelerator too."""
    name = str(values.get("name", ""))
    accelerator = values.get("accelerator")
    return name if accelerator is None else f"{name} ({accelerator.get('name')})"


def own_fields(varying: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Fields, by dotted names, in which stored systems differ, less what follows from others of a cluster.

    Accelerators of several names are single values, their names.
    """
    accelerators = {text: shared_json(text).get("accelerator") for text in varying}
    if not any(accelerators.values()):
        return varying
    names = {accelerator["name"] for accelerator in accelerators.values() if accelerator is not None}
    found = {}
    for text, fields in varying.items():
        found[text] = fields
        if (accelerator := accelerators[text]) is None:
            continue
        first = {name: name.removeprefix("system.").split(".")[0] for name in fields}
        left_out = {*DERIVED, "accelerator"} if len(names) > 1 else {*DERIVED}
        found[text] = {name: value for name, value in fields.items() if first[name] not in left_out}
        if "accelerator" in left_out and "accelerator" in first.values():
            found[text] = {"system.accelerator": accelerator["name"], **found[text]}
    return found
