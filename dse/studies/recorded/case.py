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
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import Simulator
from dse.studies.recorded.traces import Traces

VERSION = 1
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
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()

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
                dimension[key] = hashlib.sha256(read_bytes(Path(dimension[key]))).hexdigest()
    return {key: value for key, value in values.items() if value is not None}
