"""Running a case and comparing every figure, exactly."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from dse.base.errors import InputError, SimulationError
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import NativeSimulator, Outcome, RankMetrics
from dse.simulation.workloads import DEFAULT_REFERENCE, Reference, Workload


def check(case: Case, simulator: NativeSimulator) -> list[Mismatch]:
    """Run `case` and return all differences from the reference of the simulator.

    Raises:
        InputError: the case itself is wrong: an unreadable file, an unknown key; names the case.
    """
    try:
        workload, system = case.load(simulator.reference)
        if case.expected.status == CRASHED:
            return [crashed(case, system)]
        outcome = simulator.simulate(workload, system)
    except InputError as error:
        if case.expected.status == CRASHED:
            return [crashed(case, refusal=str(error))]
        raise InputError(f"case {case.name}: {error}") from None
    except SimulationError as error:
        if case.expected.status == "unsupported":
            return []
        return [Mismatch(case.name, None, "status", case.expected.status, f"unsupported: {error}")]
    return list(_differences(case.name, case.expected, workload, outcome))


def _differences(name: str, expected: Expected, workload: Workload, outcome: Outcome) -> Iterator[Mismatch]:
    if outcome.status != expected.status:
        yield Mismatch(name, None, "status", expected.status, outcome.status)
    groups = workload.communicator_group_count
    if expected.communicator_groups not in (None, groups):
        yield Mismatch(name, None, "communicator_groups", expected.communicator_groups, groups)
    for rank, counts in expected.trace_counts.items():
        got_counts = dataclasses.asdict(workload.counts(rank))
        for key, value in counts.items():
            if got_counts.get(key) != value:
                yield Mismatch(name, rank, f"trace_counts.{key}", value, got_counts.get(key))
    if expected.ranks is None:
        return
    for rank in range(outcome.rank_count):
        metrics = outcome.rank(rank)
        figures = expected.ranks.get(rank)
        if (metrics is None) != (figures is None):
            yield Mismatch(name, rank, "finished", figures is not None, metrics is not None)
        elif metrics is not None and figures is not None:
            for key, figure in figures.items():
                got = as_printed(metrics, key, figure)
                if got != figure:
                    yield Mismatch(name, rank, key, figure, got)


def crashed(case: Case, system: SystemSpec | None = None, *, refusal: str = "") -> Mismatch:
    """Return what is said of a case whose reference crashed, with the cause where we know it.

    `refusal` is what is said of the case here, if it cannot be read.
    """
    known = refusal or (_known_crash(system) if system is not None else None)
    cause = f"; {known}" if known else ""
    return Mismatch(case.name, None, CRASHED, "a whole run", f"{case.expected.crash}{cause}")


def _known_crash(system: SystemSpec) -> str | None:
    """A feature that crashes the reference and not this simulator (docs/simulator.md, Extensions)."""
    if system.network_model == "congestion_aware":
        for index, dimension in enumerate(system.network):
            if dimension.topology == "Ring" and dimension.npus == 2:
                return (
                    f"network.{index} is a congestion-aware Ring of 2 NPUs, which the reference cannot "
                    "connect; that we simulate it is an extension"
                )
    return None


def as_printed(metrics: RankMetrics, key: str, expected: Value) -> Value:
    """Return our figure in the form in which the reference printed its own.

    Doubles have three decimals, rounded half to even on the exact binary value; a negative exposed time wraps
    to 64 bits; a peak memory with a unit is rounded as the unmodified reference rounds it.
    """
    value: int | float = getattr(metrics, key)
    if isinstance(value, float):
        return float(f"{value:.3f}")
    if key == "exposed_comm_ns":
        return int(value) % 2**64
    if isinstance(expected, str):
        return printed_size(int(value))
    return int(value)


def printed_size(size_bytes: int) -> str:
    """Return bytes as the unmodified reference prints them: `31.99 GB`, 1024-based, via single precision.

    The value is rounded to single precision, divided by 1024 until it is below 1024 or the unit is TB, and
    printed with two decimals.
    """
    import struct

    value = struct.unpack("f", struct.pack("f", float(size_bytes)))[0]
    units = ["B", "KB", "MB", "GB", "TB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.2f} {units[0]}"


Value = int | float | str
"""A figure as expected: an exact integer, a percentage with three decimals, or a printed text."""


@dataclass(frozen=True)
class Expected:
    """The figures that the reference produced.

    `ranks` maps the ranks that finished to their figures; None if nothing is known about ranks. Under the
    status `unsupported` the reference crashes, and we must answer with an error. Under the status `crashed`
    its run ended by force before every rank had reported: nothing can be compared, and `crash` says how that
    is known.
    """

    status: str
    ranks: Mapping[int, Mapping[str, Value]] | None = None
    trace_counts: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    communicator_groups: int | None = None
    crash: str = ""


class Load(Protocol):
    """Makes the workload and the system of a case, its traces read as a reference reads them."""

    def __call__(self, reference: Reference = DEFAULT_REFERENCE, /) -> tuple[Workload, SystemSpec]:
        """Raises InputError for files that are wrong."""
        ...


@dataclass(frozen=True)
class Case:
    """A case that is not loaded yet: `load` makes the workload and the system.

    `folder` holds the case as files, if it comes from such; `taken` says which were found by their content.
    """

    name: str
    network_model: str
    load: Load
    expected: Expected
    folder: Path | None = None
    taken: str = ""


CRASHED = "crashed"


class Mismatch(NamedTuple):
    """One difference between expected and got; `rank` is None if it concerns the whole case.

    The metric `crashed` means that there is nothing to compare with; `got` says why.
    """

    case: str
    rank: int | None
    metric: str
    expected: object
    got: object

    def describe(self) -> str:
        """One line for people."""
        if self.metric == CRASHED:
            return f"CRASHED {self.case}: the reference crashed: not comparable ({self.got})"
        rank = "" if self.rank is None else f" rank {self.rank}"
        return f"MISMATCH {self.case}:{rank} {self.metric}: expected {self.expected}, got {self.got}"
