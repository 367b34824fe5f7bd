"""Values of fields as overrides have them, without what is not said anyway."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any

from dse.systems.spec import Derating, LinkFault
from dse.texts import printable


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
    for part in (LinkFault, Derating):
        found = dataclasses.fields(part)
        if names <= {entry.name for entry in found}:
            return {entry.name: entry.default for entry in found}
    return {}
