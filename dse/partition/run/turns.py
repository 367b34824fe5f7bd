"""The step of processes that share cores: who has work at a time shares them equally, as schedulers do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from dse.base.trace_nodes import COMPUTE, SEND, TraceNode
from dse.partition.problem.problem import Devices
from dse.simulation.workloads.nodes import TRACE_TFLOPS

_Message = tuple[int, int, int, int]  # pipeline, source, destination and tag


@dataclass(frozen=True)
class End:
    """The end of a process after its passes: it averages gradients with its `group`, then it computes.

    Averaging begins when the last of the group is there, and takes `averaging_ns` whoever computes meanwhile.
    """

    group: int
    averaging_ns: float
    after_ns: float


@dataclass
class _Pass:
    awaited: list[_Message]
    ns: float
    sent: list[tuple[_Message, int]] = field(default_factory=list)


class _Process:
    """A process between its passes, in one, averaging, or in what comes after."""

    def __init__(self, rank: tuple[int, int], program: Sequence[TraceNode], end: End) -> None:
        self.end, self.passes = end, _passes(rank, program)
        self.number = 0
        self.left_ns: float | None = None  # of the pass that has begun
        self.passed_ns = inf  # when the last pass was over
        self.is_done = False

    def begins_ns(self, arrivals: dict[_Message, float], ready_ns: float) -> float:
        """Return when the next work can begin, inf if that is not known yet; `ready_ns` when all averaged."""
        if self.is_done:
            return inf
        if self.number < len(self.passes):
            return max((arrivals.get(one, inf) for one in self.passes[self.number].awaited), default=0.0)
        return ready_ns

    def begin(self) -> None:
        """Begin the next pass, or what comes after the last one."""
        is_pass = self.number < len(self.passes)
        self.left_ns = self.passes[self.number].ns if is_pass else self.end.after_ns

    def finish(self, now_ns: float) -> list[tuple[_Message, int]]:
        """End what has begun; return the messages that leave then, with their bytes."""
        self.left_ns = None
        if self.number == len(self.passes):
            self.is_done = True
            return []
        self.number += 1
        if self.number == len(self.passes):
            self.passed_ns = now_ns
        return self.passes[self.number - 1].sent


def shared_step_ns(
    programs: Sequence[Sequence[TraceNode]],
    ends: Sequence[End],
    links: Devices,
    devices: Sequence[int],
    cores: float,
    pipelines: int = 1,
) -> float:
    """Return when all processes are done that pass their `programs` on so many `cores`, in ns.

    Of more processes with work than cores each has an equal share of all; one has a core at most. Ranks are
    on `devices`, whose links no message shares with another. So many `pipelines` do the same; a group has
    processes of all.
    """
    running = [
        _Process((pipeline, rank), program, end)
        for pipeline in range(pipelines)
        for rank, (program, end) in enumerate(zip(programs, ends, strict=True))
    ]
    arrivals: dict[_Message, float] = {}
    now_ns = 0.0
    while not all(process.is_done for process in running):
        ready_ns = {
            group: max(one.passed_ns + one.end.averaging_ns for one in running if one.end.group == group)
            for group in {process.end.group for process in running}
        }
        next_ns = inf
        for process in running:
            if process.left_ns is None:
                begins_ns = process.begins_ns(arrivals, ready_ns[process.end.group])
                if begins_ns <= now_ns:
                    process.begin()
                else:
                    next_ns = min(next_ns, begins_ns)
        working = [process for process in running if process.left_ns is not None]
        share = min(1.0, cores / max(1, len(working)))
        # Times are compared as they are, so that each turn ends a work or begins one.
        worked_ns = least_ns = min((process.left_ns or 0.0 for process in working), default=inf)
        if next_ns < now_ns + least_ns / share:
            worked_ns = (next_ns - now_ns) * share
            now_ns = next_ns
        else:
            now_ns += least_ns / share
        for process in working:
            process.left_ns = max(0.0, (process.left_ns or 0.0) - worked_ns)
            if process.left_ns == 0.0:
                for message, size in process.finish(now_ns):
                    arrivals[message] = now_ns + _takes_ns(links, devices, message, size)
    return now_ns


def _passes(rank_in: tuple[int, int], program: Sequence[TraceNode]) -> list[_Pass]:
    pipeline, rank = rank_in
    found: list[_Pass] = []
    awaited: list[_Message] = []
    for node in program:
        values = {name: value for name, (_, value) in node["attributes"].items()}
        if node["type"] == COMPUTE:
            found.append(_Pass(awaited, int(values["num_ops"] / TRACE_TFLOPS / 1000)))
            awaited = []
        elif node["type"] == SEND:
            message = (pipeline, rank, values["comm_dst"], values["comm_tag"])
            found[-1].sent.append((message, values["comm_size"]))
        else:
            awaited.append((pipeline, values["comm_src"], rank, values["comm_tag"]))
    return found


def _takes_ns(links: Devices, devices: Sequence[int], message: _Message, size: int) -> float:
    source, destination = devices[message[1]], devices[message[2]]
    latency_ns = links.latency_ns[source][destination] if links.latency_ns else 0.0
    return latency_ns + (links.ns_per_byte[source][destination] * size if links.ns_per_byte else 0.0)
