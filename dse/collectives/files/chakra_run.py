"""Inputs of the engine for the Chakra traces of a schedule, run as ASTRA-sim runs a custom collective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dse.base.errors import InputError, SimulationError
from dse.base.lazy import _engine
from dse.base.units import format_duration_ns
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule


class ChakraRun(NamedTuple):
    """The time of a schedule, and that of its traces in whole ns; None and the reason if they do not run."""

    schedule_ps: int
    time_ns: int | None
    why_not: str = ""

    def data(self) -> dict[str, Any]:
        """Return the entries of `summary.json`."""
        reason = {"chakra_not_run": self.why_not} if self.time_ns is None else {}
        return {"chakra_time_ns": self.time_ns, **reason}

    def row(self) -> tuple[str, str]:
        """Return the row of the table: the time, and how far it is from that of the schedule."""
        if self.time_ns is None:
            return "as Chakra", f"not run: {self.why_not}"
        text = f"{format_duration_ns(self.time_ns)} ({self.time_ns} ns)"
        more_ps = self.time_ns * 1000 - self.schedule_ps
        if more_ps == 0:
            return "as Chakra", f"{text}, as the schedule"
        which = "more" if more_ps > 0 else "less"
        ratio = self.time_ns * 1000 / self.schedule_ps
        return (
            "as Chakra",
            f"{text}, {abs(more_ps) / 1000:.12g} ns {which} than the schedule ({ratio:.5g} times)",
        )


def chakra_time_ns(problem: Problem, traces: Sequence[bytes]) -> int:
    """Return when the last rank ends, in whole ns as ASTRA-sim counts.

    Every node runs as soon as what it waits for has ended. A link carries one message at a time and is free
    again when its bytes have left; a send ends when it has arrived. A message takes the link that it names.

    Raises:
        InputError: the network is too large for the engine, or the traces cannot be read.
        SimulationError: some message takes no time at the start, where ASTRA-sim stops.
    """
    from dse.base.cancellation import current_cancellation

    graph, cancellation = problem.graph, current_cancellation()
    bytes_per_gb = 10**9 if problem.model.gb == "1e9" else 2**30
    speeds = [
        (float(kind.latency_ns), float(kind.bandwidth_gbps) * bytes_per_gb / 10**9) for kind in graph.kinds
    ]
    sources, destinations = graph.sources.tolist(), graph.destinations.tolist()
    pairs = list(zip(sources, destinations, strict=True))
    edges = [(*pair, *speeds[kind]) for pair, kind in zip(pairs, graph.kind_of.tolist(), strict=True)]
    config = _engine.SystemConfig()
    config.add_graph(
        graph.npus, graph.nodes, edges, [(source, to, [to]) for source, to in pairs], cancellation
    )
    config.congestion_aware = True
    config.hardware_slots = False
    config.roofline = config.track_memory = False
    names = [f"schedule.{rank}.et" for rank in range(len(traces))]
    workload = _engine.import_workload(list(traces), names, [], cancellation)
    result = _engine.simulate(workload, config, _engine.Method.GENERAL, cancellation)
    if result.deadlock:
        raise SimulationError(f"rank {result.blocked[0].rank} waits for ever: {result.blocked[0].cause}")
    return max(rank.finish_ns for rank in result.classes)


def run_chakra(schedule: Schedule, traces: Sequence[bytes]) -> ChakraRun:
    """Run the traces of a schedule; what the engine refuses is the reason why there is no time."""
    try:
        return ChakraRun(schedule.time_ps, chakra_time_ns(schedule.problem, traces))
    except (InputError, SimulationError) as error:
        return ChakraRun(schedule.time_ps, None, str(error))
