"""A user's own ASTRA-sim as a simulator: one run of the program for each point, in a private folder."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, SimulationError, SimulationTimeout
from dse.base.files import make_folder, read_bytes, write_files
from dse.base.programs import ProgramRunner, ended_with, found_program, private_folder, where_log_is
from dse.base.records import hints_of
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.astrasim import system_files
from dse.simulation.simulators.base import Outcome, RankMetrics, Simulator
from dse.simulation.simulators.report import Figure, read_report, size_bytes, stated_deadlock
from dse.simulation.simulators.settings import SimulatorSettings
from dse.simulation.workloads import Workload

_PREFIX = "dse-astrasim-"  # of its temporary files


def make(settings: SimulatorSettings) -> Simulator:
    """Return the simulator that `simulator=astrasim` names.

    Raises:
        InputError: there is no such program.
    """
    if settings.binary is None:
        raise InputError(
            "simulator.binary is null; simulator=astrasim needs your ASTRA-sim program: simulator.binary=PATH"
        )
    assert settings.timeout_s is not None
    return AstraSimSimulator(settings.binary, settings.timeout_s, settings.log_dir)


@dataclass(frozen=True)
class AstraSimSimulator(Simulator):
    """Runs `binary`, whichever network model it has been built with, for at most `timeout_s` per point.

    With `keep_logs`, the output of every run is kept in that folder; without, only the output of runs that
    went wrong, in the folder for temporary files.
    """

    binary: Path
    timeout_s: float
    keep_logs: Path | None = None
    is_external = True
    _programs: ProgramRunner = field(default_factory=ProgramRunner, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Find the program."""
        found_program(self.binary, "simulator.binary")

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        """See `Simulator.simulate`.

        Raises:
            InputError: the program is not there or cannot be run; the workload or the system cannot be
                written as ASTRA-sim's files.
            SimulationError: the program crashed, or printed what is no report; says where its log is.
            SimulationTimeout: it was killed after `timeout_s`.
        """
        binary = found_program(self.binary, "simulator.binary")
        if workload.rank_count != system.npus:
            raise InputError(
                f"the workload has {workload.rank_count} ranks, but the network has {system.npus} NPUs"
            )
        with private_folder(_PREFIX) as folder:
            options = write_inputs(workload, _for_private_folder(system), folder)
            log = self._log(folder, system)
            try:
                status = self._programs.run(
                    [str(binary), *options], folder=folder, log=log, timeout_s=self.timeout_s
                )
                with log.open(encoding="utf-8", errors="replace") as lines:
                    cause = stated_deadlock(lines)
                if status != 0 and not cause:
                    raise SimulationError(ended_with(status, log))
                return self._outcome(workload, system, log, cause)
            except SimulationTimeout as error:
                where = self._kept(log)
                raise SimulationTimeout(f"ASTRA-sim {error} (simulator.timeout_s); {where}") from None
            except SimulationError as error:
                raise SimulationError(f"ASTRA-sim {error}; {self._kept(log)}") from None

    def identity(self) -> Mapping[str, str]:
        """See `Simulator.identity`: another program is another simulator, wherever it stands."""
        binary = found_program(self.binary, "simulator.binary")
        return {"name": "astrasim", "binary_sha256": hashlib.sha256(read_bytes(binary)).hexdigest()}

    def stop(self) -> None:
        """See `Simulator.stop`."""
        self._programs.stop()

    def _outcome(self, workload: Workload, system: SystemSpec, log: Path, cause: str) -> Outcome:
        """Read the report; ranks without one are those that hang. ASTRA-sim says no cause."""
        if log.stat().st_size == 0:
            raise SimulationError("ended with exit status 0 without a report: is simulator.binary it?")
        try:
            with log.open(encoding="utf-8", errors="replace") as lines:
                report = read_report(lines)
            metrics = {rank: _metrics(figures, system) for rank, figures in report.items()}
        except InputError as error:
            raise SimulationError(f"printed a report that cannot be read: {error}") from None
        ranks = workload.rank_count
        if any(rank >= ranks for rank in metrics):
            raise SimulationError(f"reported rank {max(metrics)}, but there are {ranks} ranks")
        traces = workload.native.trace_of_rank
        numbers: dict[tuple[int, RankMetrics | None], int] = {}
        class_of_rank = [
            numbers.setdefault((traces[rank], metrics.get(rank)), len(numbers)) for rank in range(ranks)
        ]
        finished = len(metrics) == ranks
        if finished and cause:
            raise SimulationError(f"reported all ranks and a deadlock: {cause}")
        cause = cause or "ASTRA-sim ended without their reports"
        return Outcome(
            status="ok" if finished else "deadlock",
            classes=tuple(figures for _, figures in numbers),
            class_of_rank=class_of_rank,
            obstacle="ASTRA-sim simulates every rank",
            note="" if finished else f"{cause}; {self._kept(log)}",
        )

    def _log(self, folder: Path, system: SystemSpec) -> Path:
        if self.keep_logs is None:
            return folder / "simulator.log"
        kept_logs = self.keep_logs.expanduser().absolute()
        make_folder(kept_logs)
        name = re.sub(r"[^\w.+-]", "_", system.name)
        return kept_logs / f"astrasim-{name}-{secrets.token_hex(6)}.log"

    def _kept(self, log: Path) -> str:
        return where_log_is(log, _PREFIX if self.keep_logs is None else None)


def write_inputs(workload: Workload, system: SystemSpec, folder: Path) -> list[str]:
    """Write everything that an ASTRA-sim needs into `folder`; return its command-line options.

    Raises:
        InputError: the folder cannot be written, the traces of the workload are not kept, or the system has
            faults, deratings, types of NPUs or the safe issue order, for which ASTRA-sim has no files.
    """
    further = []
    if system.queues_per_dimension != 1:
        further.append(f"--num-queues-per-dim={system.queues_per_dimension}")
    if system.rendezvous_protocol:
        further.append("--rendezvous-protocol=true")
    if system.injection_scale != 1.0:
        further.append(f"--injection-scale={system.injection_scale}")
    case = json.dumps({"network_model": system.network_model, "options": further}, indent=2)
    own = {**system_files(system, folder), "case.json": f"{case}\n".encode()}  # what its files do not say
    write_files(folder, chain(own.items(), workload.files()))
    return [
        f"--workload-configuration={folder / 'trace'}",
        f"--comm-group-configuration={folder / 'comm_group.json'}",
        f"--system-configuration={folder / 'system.json'}",
        f"--network-configuration={folder / 'network.yml'}",
        f"--remote-memory-configuration={folder / 'remote_memory.json'}",
        *further,
    ]


def _for_private_folder(system: SystemSpec) -> SystemSpec:
    """The same system, its memory traces inside the folder, and peak memories printed if there are any.

    ASTRA-sim prints those only with `trace-enabled`, which changes nothing else in its report.
    """
    return replace(
        system,
        trace_enabled=system.trace_enabled or system.track_local_memory,
        local_memory_trace_filename="local_mem_trace",
    )


def _metrics(figures: dict[str, Figure], system: SystemSpec) -> RankMetrics:
    """Return the figures of a rank: a class of nodes that does not occur took no time."""
    found: dict[str, Any] = {
        name: kind(figures.get(name, 0))
        for name, kind in hints_of(RankMetrics).items()
        if kind in (int, float)
    }
    exposed = int(figures["exposed_comm_ns"])
    peak = figures.get("peak_memory_bytes") if system.track_local_memory else None
    found |= {
        "wall_time_ns": int(figures.get("wall_time_ns", figures["finish_ns"])),
        "exposed_comm_ns": exposed - 2**64 if exposed >= 2**63 else exposed,  # printed as unsigned
        "peak_memory_bytes": None if peak is None else size_bytes(peak),
    }
    return RankMetrics(**found)
