"""Simulators that fail, refuse or answer as a test sets, for the contract of executors."""

from __future__ import annotations

from dse.base.errors import InputError, SimulationError
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import NativeSimulator, Outcome, RankMetrics, Simulator
from dse.simulation.workloads import Workload


class FailingSimulator(Simulator):
    """Fails on pipelines only."""

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        if len(set(workload.native.trace_of_rank)) > 1:
            raise SimulationError("no algorithm for pipelines")
        return NativeSimulator().simulate(workload, system)


class RefusingSimulator(Simulator):
    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        raise InputError(f"{system.name} cannot run {workload.rank_count} ranks")


class FixedSimulator(Simulator):
    """Ranks 0 to 3 are of class 0, 4 to 7 of class 1, and so on."""

    def __init__(self, *classes: RankMetrics) -> None:
        self._classes = classes

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        del workload, system
        return Outcome("ok", self._classes, [rank // 4 for rank in range(16)])


def metrics(finish_ns: int, gpu_time_ns: int, peak_memory_bytes: int | None) -> RankMetrics:
    return RankMetrics(
        *(finish_ns, finish_ns, finish_ns - gpu_time_ns, gpu_time_ns, 0, 7, 0),
        *(1.5, 2.5, 3.5, 4.5),
        peak_memory_bytes,
    )
