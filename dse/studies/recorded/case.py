"""One run of a study: traces on a system, changed by a what-if, and the simulator that runs it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from dse.base.files import read_bytes
from dse.base.plain_data import read_yaml
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.fields import CustomCollectives
from dse.simulation.simulators import Simulator
from dse.studies.recorded.traces import Traces
from dse.studies.store.lookup import KEY_DIGITS

VERSION = 2
"""Raised when the same case may give other figures."""


@dataclass(frozen=True, eq=False)
class Case:
    """Traces on a `system`; None leaves a recorded step on its own links.

    `system_name` is its name and the overrides behind it, parted by blanks; empty for that of the
    traces, or none. `asked` are the keys of the what-if as a user wrote them, `base_system` the one a step
    was recorded on.
    """

    traces: Traces
    system_name: str
    system: SystemSpec | None
    simulator: Simulator
    asked: Mapping[str, str] = field(default_factory=dict)
    base_system: SystemSpec | None = None
    base_name: str = ""

    @property
    def place(self) -> str:
        """Where the case runs, for people."""
        return self.system_name or ("as recorded" if self.traces.is_recorded else "its own")

    @cached_property
    def key(self) -> str:
        """A hash of all that the figures depend on: contents, not names, of traces and system.

        Raises:
            InputError: a file cannot be read.
        """
        inputs = {
            "version": VERSION,
            "traces": self.traces.digest,
            "systems": [_facts(self.system), _facts(self.base_system)],
            "asked": dict(self.asked),
            "simulator": {} if self.traces.is_recorded else dict(self.simulator.identity()),
        }
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:KEY_DIGITS]

    @property
    def simulator_facts(self) -> dict[str, str]:
        """The settings of the simulator, also the default version of ASTRA-sim that the engine equals."""
        reference = getattr(self.simulator, "reference", "")
        return {**self.simulator.identity(), **({"reference": reference} if reference else {})}


def _facts(system: SystemSpec | None) -> dict[str, Any] | None:
    """All of a system that its name does not say, with the digest of the files of its graphs."""
    if system is None:
        return None
    values = asdict(system)
    for unused in ("name", "omitted_keys"):
        del values[unused]
    for dimension in values["network"]:
        for key in ("file", "routes"):
            if dimension[key] is not None:
                dimension[key] = _digest(Path(dimension[key]))
    if system.custom_collectives is not None:
        values["custom_collectives"] = [_digest(path) for path in custom_files(system.custom_collectives)]
    return {key: value for key, value in values.items() if value is not None}


def custom_files(custom: CustomCollectives) -> list[Path]:
    """Return the traces of custom collectives that are there, and the file that names those of nodes."""
    folder = Path(custom.folder)
    of_nodes = [folder / custom.of_nodes] if custom.of_nodes else []
    named = [read_yaml(path) for path in of_nodes]
    prefixes = [prefix for _, prefix in custom.prefixes]
    prefixes += [str(prefix) for each in named if isinstance(each, dict) for prefix in each.values()]
    places = [folder / prefix for prefix in prefixes]
    traces = [path for place in places for path in sorted(place.parent.glob(f"{place.name}.*.et"))]
    return [*of_nodes, *traces]


def _digest(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()
