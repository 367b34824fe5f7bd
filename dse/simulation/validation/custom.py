"""Where a case folder keeps the traces of its custom collectives, which are no case themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.plain_data import load_json_object, read_yaml
from dse.simulation.validation.parts import SYSTEM

_OF_NODES = "per-node-custom-implementation"


def custom_folders(case: Path) -> set[Path]:
    """Return the folders, without links, of the traces that system.json of a case names by prefixes.

    Files that cannot be read name none: whoever reads the case says what is wrong with them.
    """
    prefixes: list[Any] = []
    try:
        system = load_json_object(case / SYSTEM)
        for key, value in system.items():
            if key.endswith("-implementation-custom") and isinstance(value, list):
                prefixes += value
        if isinstance(of_nodes := system.get(_OF_NODES), str):
            prefixes += read_yaml(case / of_nodes).values()
    except InputError:
        pass
    return {(case / prefix).parent.resolve() for prefix in prefixes if isinstance(prefix, str)}
