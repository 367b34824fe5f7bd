"""Steps as execution traces of every rank, for the engine and other simulators; what networks take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dse.base.trace_nodes import TraceNode
from dse.inputs.systems import SystemSpec
from dse.native import _engine
from dse.prediction.steps.programs import Detached, Join, Receive, Send, Step, Tag, programs
from dse.prediction.steps.structure import Collective, Compute, NetworkTimes, StepStructure
from dse.simulation.simulators.native import NativeSimulator
from dse.simulation.workloads.nodes import (
    TRACE_TFLOPS,
    MessageEnd,
    collective_node,
    compute_node,
    message_node,
)
from dse.simulation.workloads.traces import ImportedWorkload, workload_of

_PASSES = {"forward": 0, "backward": 1}


def trace_workload(structure: StepStructure) -> ImportedWorkload:
    """Return the step as one trace for each rank.

    A compute node has its time as `duration_micros`, rounded to at least 1, and as operations, for its
    nanoseconds on a `traced_system`. Communication has its bytes, and takes what the network takes that runs
    it. Memory is not traced.
    """
    writer = _Writer(structure)
    names, groups = writer.groups()
    traces = [
        writer.trace(program, stage, inner, names)
        for stage, program in enumerate(programs(structure))
        for inner in range(writer.ranks)
    ]
    return workload_of(traces, groups)


def traced_system(system: SystemSpec) -> SystemSpec:
    """Return a system on which compute nodes of traced steps take their time, and nothing tracks memory."""
    return replace(system, peak_tflops=TRACE_TFLOPS, roofline_enabled=True, track_local_memory=False)


def network_times(structure: StepStructure, system: SystemSpec) -> NetworkTimes:
    """Return what collectives and messages of a step take alone on the network of a system, by the engine.

    A collective whose ranks end at different times counts with what a second one right after it adds.
    """
    writer = _Writer(structure)
    names, groups = writer.groups()
    ranks = range(writer.ranks * len(structure.stages))

    unequal: list[str] = []

    def ends_ns(traces: Sequence[Sequence[TraceNode]], among: Sequence[int]) -> list[int]:
        encoded = [_engine.trace_file(list(nodes)).encode() for nodes in traces]
        outcome = NativeSimulator().simulate(workload_of(encoded, groups), traced_system(system))
        return [metrics.finish_ns for rank in among if (metrics := outcome.rank(rank)) is not None]

    def in_a_row(part: Collective, times: int) -> list[int]:
        chain = [
            [
                _collective_node(number, part, names[part.axis, rank], range(max(0, number - 1), number))
                for number in range(times)
            ]
            for rank in ranks
        ]
        return ends_ns(chain, ranks)

    def alone(part: Collective) -> int:
        ends = in_a_row(part, 1)
        if min(ends) == max(ends):
            return ends[0]
        unequal.append(
            f"{part.kind} of {part.bytes} bytes over {part.axis} ends after {min(ends)} to {max(ends)} ns"
        )
        return max(in_a_row(part, 2)) - max(ends)

    collectives = {part: alone(part) for part in dict.fromkeys(structure.collectives())}
    links = []
    for link in range(len(structure.stages) if len(structure.stages) > 1 else 0):
        takers = [rank for rank in ranks if rank // writer.ranks == (link + 1) % len(structure.stages)]
        ends = ends_ns([[writer.circulating(rank, link)] for rank in ranks], takers)
        if min(ends) < max(ends):
            unequal.append(f"messages after stage {link} take {min(ends)} to {max(ends)} ns")
        links.append(max(ends))
    return NetworkTimes(collectives, links or [0], tuple(unequal))


class _Writer:
    """Ranks, groups and nodes of a structure: axes innermost first, then stages."""

    def __init__(self, structure: StepStructure) -> None:
        self.structure = structure
        self.ranks = math.prod(degree for _, degree in structure.axes)

    def groups(self) -> tuple[dict[tuple[str, int], str], dict[str, list[int]]]:
        """Return the group of each rank in each axis, and the members of groups by their names."""
        names: dict[tuple[str, int], str] = {}
        groups: dict[str, list[int]] = {}
        ranks = range(self.ranks * len(self.structure.stages))
        for axis in dict.fromkeys(part.axis for part in self.structure.collectives()):
            strides = self._strides(axis.split("-"))
            members: dict[int, list[int]] = {}
            for rank in ranks:
                first = rank - sum(rank // stride % degree * stride for stride, degree in strides)
                members.setdefault(first, []).append(rank)
            for group in members.values():
                name = str(len(groups) + 1)
                groups[name] = group
                names.update(((axis, member), name) for member in group)
        return names, groups

    def _strides(self, axes: Sequence[str]) -> list[tuple[int, int]]:
        """Return the stride and the degree of axes."""
        found, stride = [], 1
        for axis, degree in self.structure.axes:
            if axis in axes:
                found.append((stride, degree))
            stride *= degree
        return found

    def circulating(self, rank: int, link: int) -> TraceNode:
        """Return what a rank does when all ranks of one stage send to the next; others compute for 1 ns."""
        stage, inner = divmod(rank, self.ranks)
        count, size = len(self.structure.stages), self.structure.message_bytes
        tag = ("forward", 0, 0)
        following = (link + 1) % count
        if stage == link:
            return _message_node(0, "send", tag, following * self.ranks + inner, size, ())
        if stage == following:
            return _message_node(0, "receive", tag, link * self.ranks + inner, size, ())
        return compute_node(0, 1, ())

    def trace(
        self, program: Sequence[Step], stage: int, inner: int, names: dict[tuple[str, int], str]
    ) -> bytes:
        """Return the trace of the rank `inner` of a stage."""
        rank = stage * self.ranks + inner
        return _engine.trace_file(list(self._nodes(program, rank, inner, names))).encode()

    def _nodes(
        self, program: Sequence[Step], rank: int, inner: int, names: dict[tuple[str, int], str]
    ) -> Iterator[TraceNode]:
        chain: tuple[int, ...] = ()
        detached: list[int] = []
        size = self.structure.message_bytes
        numbers = itertools.count()
        for step in program:
            if isinstance(step, Join):
                chain = (*chain, *detached)
                continue
            number = next(numbers)
            if isinstance(step, Compute):
                yield compute_node(number, step.ns, chain)
                chain = (number,)
            elif isinstance(step, Receive):
                yield _message_node(number, "receive", step.tag, step.stage * self.ranks + inner, size, ())
                chain = (*chain, number)
            elif isinstance(step, Send):
                yield _message_node(number, "send", step.tag, step.stage * self.ranks + inner, size, chain)
            elif isinstance(step, Detached):
                part = step.collective
                yield _collective_node(number, part, names[part.axis, rank], chain)
                detached.append(number)
            else:
                yield _collective_node(number, step, names[step.axis, rank], chain)
                chain = (number,)


def _collective_node(number: int, part: Collective, group: str, after: Sequence[int]) -> TraceNode:
    name = f"{part.axis}_{part.kind}_{number}"
    return collective_node(number, name, part.kind, part.bytes, group, after)


def _message_node(
    number: int, kind: MessageEnd, tag: Tag, peer: int, size: int, after: Sequence[int]
) -> TraceNode:
    way, chunk, batch = tag
    label = (batch * 1024 + chunk) * 2 + _PASSES[way]
    return message_node(number, f"{kind}_{way}_{chunk}_{batch}", kind, label, peer, size, after)
