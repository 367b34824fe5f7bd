"""The contract of a simulator: a workload and a system in, the metrics of every rank out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from dse.inputs.systems import SystemSpec
from dse.simulation.workloads import Workload


@dataclass(frozen=True)
class RankMetrics:
    """Figures of one rank, as ASTRA-sim reports them (docs/simulator.md).

    `exposed_comm_ns` is the finish time minus the sum of compute runtimes; it can be negative. The class
    times are lengths of unions of intervals. `peak_memory_bytes` is None when memory is not tracked.
    """

    finish_ns: int
    wall_time_ns: int
    exposed_comm_ns: int
    gpu_time_ns: int
    cpu_time_ns: int
    comm_time_ns: int
    remote_memory_time_ns: int
    compute_bound_pct: float
    compute_utilization_pct: float
    memory_utilization_pct: float
    operation_intensity: float
    peak_memory_bytes: int | None

    @property
    def overlap_ns(self) -> int:
        """Time with both computing and communication on a rank with nothing else and without pauses."""
        if self.gpu_time_ns == 0 or self.comm_time_ns == 0:
            return 0
        return max(0, self.gpu_time_ns + self.comm_time_ns - self.wall_time_ns)


@dataclass(frozen=True)
class BlockedNode:
    """A node that keeps its rank from finishing, the ranks that it waits for, and the cause."""

    rank: int
    node_id: int
    name: str
    kind: str
    communicator: str
    peers: tuple[int, ...]
    cause: str

    def describe(self) -> str:
        """One line for people."""
        group = f" on group {self.communicator}" if self.communicator else ""
        peers = f" (waits for rank {', '.join(map(str, self.peers))})" if self.peers else ""
        return f"rank {self.rank}: {self.kind} node {self.node_id} {self.name}{group}{peers}: {self.cause}"


@dataclass(frozen=True)
class Outcome:
    """How a simulation ended.

    Ranks that run the same trace with the same figures form a class: `classes` in order of their lowest rank,
    None for ranks that never finished, and the class of every rank. Under `deadlock` the figures of the
    finished ranks stand, and `blocked` says what holds the others; where ranks were simulated class by class,
    it names the lowest rank of each class; `note` says what else is known, such as where a log is. `events`
    counts executed events; `obstacle` says why ranks were not simulated class by class, None if they were.
    """

    status: Literal["ok", "deadlock"]
    classes: tuple[RankMetrics | None, ...]
    class_of_rank: Sequence[int]
    blocked: tuple[BlockedNode, ...] = ()
    events: int = 0
    obstacle: str | None = None
    note: str = field(default="", compare=False)

    @property
    def rank_count(self) -> int:
        """Number of ranks."""
        return len(self.class_of_rank)

    def rank(self, rank: int) -> RankMetrics | None:
        """Figures of a rank, None if it never finished."""
        return self.classes[self.class_of_rank[rank]]

    @property
    def reason(self) -> str:
        """Why ranks did not finish, in one line; empty if all did."""
        if self.status == "ok":
            return ""
        ranks = sorted(rank for rank in range(self.rank_count) if self.rank(rank) is None)
        causes = [self.blocked[0].describe()] if self.blocked else []
        notes = [self.note] if self.note else []
        return "; ".join([f"{len(ranks)} of {self.rank_count} ranks never finish", *causes, *notes])


class Simulator(ABC):
    """Runs workloads on systems. Implementations are re-entrant and keep no state between calls."""

    is_external = False
    """Whether it runs programs of the user's own, which may take any time."""

    @abstractmethod
    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        """Run `workload` on `system`.

        Raises:
            InputError: workload and system do not fit each other, or the simulator lacks what they ask for.
            SimulationError: no simulator can finish this, such as a collective without an algorithm.
            SimulationTimeout: it took longer than its limit.
        """

    def identity(self) -> Mapping[str, str]:
        """Settings that a result depends on besides workload and system, for the keys of design points."""
        return {"name": type(self).__name__}

    def stop(self) -> None:  # noqa: B027 (most have nothing to do)
        """End the programs that run; the calls that wait for them raise."""
