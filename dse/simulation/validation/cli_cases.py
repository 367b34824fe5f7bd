"""Running a case through the stand-alone simulators, on files, and comparing every printed figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from dse.base.errors import InputError, SimulationError
from dse.base.programs import ProgramRunner, found_program, last_lines, private_folder, where_log_is
from dse.base.records import hints_of
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import NativeSimulator, RankMetrics
from dse.simulation.simulators.astrasim import write_inputs
from dse.simulation.validation.compare import (
    CRASHED,
    Case,
    Mismatch,
    Value,
    as_printed,
    crashed,
    printed_size,
)
from dse.simulation.validation.contents import read_log
from dse.simulation.validation.folders import EXIT_CODE_OF_DEADLOCK, simulator_options
from dse.simulation.workloads import DEFAULT_REFERENCE, Workload

BINARIES = {"congestion_unaware": "astrasim-unaware", "congestion_aware": "astrasim-aware"}
STATUS_OF_EXIT_CODE = {0: "ok", 2: "unsupported", EXIT_CODE_OF_DEADLOCK: "deadlock"}
_TIMEOUT_S = 600
_ALWAYS = ("finish_ns", "exposed_comm_ns")
_FIGURES = tuple(name for name in hints_of(RankMetrics) if name != "peak_memory_bytes")


def _is_whole(figures: Mapping[str, Value]) -> bool:
    """Whether a rank has all figures; ASTRA-sim of 2026 says little of ranks with CPU operations."""
    return "wall_time_ns" in figures


def check_standalone(case: Case, binary_folder: Path, simulator: NativeSimulator) -> list[Mismatch]:
    """Run `case` as files and return all differences from what is recorded and from `simulator`.

    The program runs in the folder of the case, below which its traces of custom collectives are.

    Raises:
        InputError: there is no simulator in `binary_folder`, or the case itself is wrong; names the case.
    """
    binary = found_program(binary_folder / BINARIES[case.network_model], "binary_folder")
    try:
        workload, system = case.load(simulator.reference)
        if case.expected.status == CRASHED:
            return [crashed(case, system)]
        with private_folder("dse-standalone-") as folder:
            log = folder / "simulator.log"
            options = [*_options(case, workload, system, folder), f"--reference={simulator.reference}"]
            code = ProgramRunner().run(
                [str(binary), *options], folder=case.folder or folder, log=log, timeout_s=_TIMEOUT_S
            )
            status = STATUS_OF_EXIT_CODE.get(code, f"exit code {code}")
            if status != case.expected.status:
                got = status
                if status not in ("ok", "deadlock"):
                    got = f"{status}: {last_lines(log) or where_log_is(log, None)}"
                return [Mismatch(case.name, None, "status", case.expected.status, got)]
            report = read_log(log)
    except InputError as error:
        if case.expected.status == CRASHED:
            return [crashed(case, refusal=str(error))]
        raise InputError(f"case {case.name}: {error}") from None
    if status == "unsupported":
        return []
    return [
        *_from_recorded(case, report),
        *_from_in_process(case.name, report, workload, system, simulator),
    ]


def _options(case: Case, workload: Workload, system: SystemSpec, folder: Path) -> list[str]:
    """The options of the simulator; files that are not there yet are written into `folder`."""
    if case.folder is None:
        return write_inputs(workload, system, folder)
    return simulator_options(case.folder.absolute())


def _from_recorded(case: Case, report: Mapping[int, Mapping[str, Value]]) -> Iterator[Mismatch]:
    if case.expected.ranks is None:
        return
    for rank in sorted(case.expected.ranks.keys() ^ report.keys()):
        yield Mismatch(case.name, rank, "finished", rank in case.expected.ranks, rank in report)
    for rank in sorted(case.expected.ranks.keys() & report.keys()):
        is_whole = _is_whole(report[rank])
        for key, figure in case.expected.ranks[rank].items():
            if not is_whole and key not in _ALWAYS:
                continue
            got = report[rank].get(key, 0)  # a class of nodes that does not occur has no line
            if isinstance(figure, str):
                got = printed_size(int(got))
            if got != figure:
                yield Mismatch(case.name, rank, key, figure, got)


def _from_in_process(
    name: str,
    report: Mapping[int, Mapping[str, Value]],
    workload: Workload,
    system: SystemSpec,
    simulator: NativeSimulator,
) -> Iterator[Mismatch]:
    try:
        outcome = simulator.simulate(workload, system)
    except SimulationError as error:
        yield Mismatch(name, None, "status", f"in process: unsupported: {error}", "a report")
        return
    has_peak = system.track_local_memory and (
        system.trace_enabled or simulator.reference != DEFAULT_REFERENCE
    )
    every_key = (*_FIGURES, "peak_memory_bytes") if has_peak else _FIGURES
    for rank in range(outcome.rank_count):
        metrics, figures = outcome.rank(rank), report.get(rank)
        if (metrics is None) != (figures is None):
            yield Mismatch(name, rank, "finished in process", metrics is not None, figures is not None)
        elif metrics is not None and figures is not None:
            for key in every_key if _is_whole(figures) else _ALWAYS:
                in_process, got = as_printed(metrics, key, 0), figures.get(key, 0)
                if in_process != got:
                    yield Mismatch(name, rank, f"{key} in process", in_process, got)
