"""Values of fields as overrides have them, without what is not said anyway."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any

from dse.base.texts import printable, shared_json
from dse.inputs.systems.clusters import DERIVED
from dse.inputs.systems.fields import DEFAULT_MEMORY_BYTES, FOLLOWING, Derating, LinkFault, NpuType


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


def following(values: dict[str, Any]) -> tuple[str, ...]:
    """The fields of a stored system that follow from its accelerator and tiers, or from its types of NPUs."""
    return (
        *(DERIVED if values.get("accelerator") is not None else ()),
        *(FOLLOWING if values.get("npu_types") else ()),
    )


def own_fields(varying: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Fields, by dotted names, in which stored systems differ, less what follows from others of a system.

    Accelerators of several names are single values, their names.
    """
    stored = {text: shared_json(text) for text in varying}
    accelerators = {text: values.get("accelerator") for text, values in stored.items()}
    names = {accelerator["name"] for accelerator in accelerators.values() if accelerator is not None}
    rings = _only_rings(varying) if all(accelerators.values()) else set()
    found = {}
    for text, fields in varying.items():
        accelerator, first = accelerators[text], {name: name.split(".")[1] for name in fields}
        left_out = {*following(stored[text]), *(("accelerator",) if accelerator and len(names) > 1 else ())}
        found[text] = {
            name: value for name, value in fields.items() if first[name] not in left_out and name not in rings
        }
        if "accelerator" in left_out and "accelerator" in first.values():
            found[text] = {"system.accelerator": accelerator["name"], **found[text]}
    return found


def _only_rings(varying: dict[str, dict[str, Any]]) -> set[str]:
    """The collectives that are a ring on every tier of every cluster: their length follows from the tiers."""
    names = {name for fields in varying.values() for name in fields if name.startswith("system.collectives.")}
    lists = {name: [fields.get(name) for fields in varying.values()] for name in names}
    return {
        name
        for name, values in lists.items()
        if all(isinstance(value, list) and set(value) == {"ring"} for value in values)
    }
