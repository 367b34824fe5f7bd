"""Where a case folder keeps the traces of its custom collectives, which are no case themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.plain_data import load_json_object, read_yaml
from dse.simulation.validation.contents import SYSTEM_PART
from dse.simulation.validation.parts import Files

_OF_NODES = "per-node-custom-implementation"


def custom_folders(case: Path) -> set[Path]:
    """Return the folders, without links, of the traces that the system of a case names by prefixes.

    Files that cannot be read name none: whoever reads the case says what is wrong with them.
    """
    prefixes: list[Any] = []
    try:
        file = Files.of_folder(case).one(SYSTEM_PART)
        system = {} if file is None else load_json_object(file)
        for key, value in system.items():
            if key.endswith("-implementation-custom") and isinstance(value, list):
                prefixes += value
        if isinstance(of_nodes := system.get(_OF_NODES), str):
            prefixes += read_yaml(case / of_nodes).values()
    except InputError:
        pass
    return {(case / prefix).parent.resolve() for prefix in prefixes if isinstance(prefix, str)}
