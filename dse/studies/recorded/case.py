"""One run of a study: traces on a system, changed by a what-if, and the simulator that runs it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from dse.base.files import read_bytes
from dse.base.plain_data import read_yaml
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.fields import CustomCollectives
from dse.simulation.simulators import Simulator
from dse.studies.recorded.traces import Traces
from dse.studies.store.lookup import KEY_DIGITS
from dse.studies.store.records import (
    RecordType,
    count,
    flag,
    number,
    percent,
    repeated_text,
    size_bytes,
    text,
    time_ns,
)

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


OK, DEADLOCK, FAILED, TIMEOUT = "ok", "deadlock", "failed", "timeout"
SIMULATED, REPLAYED = "simulated", "replayed"


@dataclass(frozen=True)
class RunRow:
    """One run; figures are None where it did not end, and `reason` says why.

    Figures are those of the rank that ends last. Of a recorded step, its compute, exposed and gap time are
    those of the path to its end and add up to the wall time.
    """

    traces: Annotated[str, text("the traces as they were asked for")]
    paths: Annotated[str, repeated_text("where their files were, as JSON")]
    kind: Annotated[str, repeated_text("traces of Chakra, or a recorded step", allowed=(SIMULATED, REPLAYED))]
    system: Annotated[
        str, text("the system and its overrides; empty: that of the traces, or links as recorded")
    ]
    base_system: Annotated[str, repeated_text("the system on which the step was recorded; empty: unknown")]
    simulator: Annotated[str, repeated_text("settings of the simulator, as JSON")]
    asked: Annotated[str, repeated_text("keys of the what-if, as JSON", json_texts=())]
    ranks: Annotated[int | None, count("ranks of the run", least=1)]
    nodes: Annotated[int | None, count("nodes of all ranks", least=0)]
    status: Annotated[str, repeated_text("how it ended", allowed=(OK, DEADLOCK, FAILED, TIMEOUT))]
    reason: Annotated[str, repeated_text("why it did not end")]
    wall_time_ns: Annotated[int | None, time_ns("when the last rank ends", least=0)]
    slowest_rank: Annotated[int | None, number("the rank that ends last", least=0)]
    compute_time_ns: Annotated[int | None, time_ns("of that rank: computation", least=0)]
    comm_time_ns: Annotated[int | None, time_ns("of that rank: communication is under way", least=0)]
    exposed_comm_ns: Annotated[int | None, time_ns("of that rank: communication that nothing hides")]
    gap_time_ns: Annotated[int | None, time_ns("of that rank: gaps that no node explains", least=0)]
    peak_memory_bytes: Annotated[int | None, size_bytes("the largest peak; null: not tracked", least=0)]
    measured_ns: Annotated[int | None, time_ns("the recorded step as it was measured", least=0)]
    replayed_ns: Annotated[int | None, time_ns("the recorded step played again unchanged", least=0)]
    replay_error_pct: Annotated[float | None, percent("the largest error of that, of all ranks")]
    trusted: Annotated[
        bool | None, flag("every rank within 10 %, none missing in a what-if; null: simulated")
    ]
    work_bound_ns: Annotated[int | None, time_ns("with communication that takes no time", least=0)]
    comm_bound_ns: Annotated[int | None, time_ns("with work that takes no time", least=0)]
    path_bound_ns: Annotated[int | None, time_ns("the longest chain of both, without gaps", least=0)]
    key: Annotated[str, text("a hash of all that the figures depend on")]


RUNS = RecordType(
    name="run of traces",
    row=RunRow,
    order=("traces", "system", "asked", "simulator", "key"),
    status="status",
    transient=(FAILED, TIMEOUT),
)
"""The record type of runs of traces."""
