"""Steps as execution traces of every rank, for the engine and other simulators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dse.base.trace_nodes import TraceNode
from dse.inputs.systems import SystemSpec
from dse.native import _engine
from dse.prediction.steps.programs import Detached, Join, Receive, Send, Step, Tag, programs
from dse.prediction.steps.structure import Collective, Compute, StepStructure
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
    writer = TraceWriter(structure)
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


class TraceWriter:
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
                yield traced_message(number, "receive", step.tag, step.stage * self.ranks + inner, size, ())
                chain = (*chain, number)
            elif isinstance(step, Send):
                yield traced_message(number, "send", step.tag, step.stage * self.ranks + inner, size, chain)
            elif isinstance(step, Detached):
                part = step.collective
                yield traced_collective(number, part, names[part.axis, rank], chain)
                detached.append(number)
            else:
                yield traced_collective(number, step, names[step.axis, rank], chain)
                chain = (number,)


def traced_collective(number: int, part: Collective, group: str, after: Sequence[int]) -> TraceNode:
    """Return the node of a collective that starts after some nodes."""
    name = f"{part.axis}_{part.kind}_{number}"
    return collective_node(number, name, part.kind, part.bytes, group, after)


def traced_message(
    number: int, kind: MessageEnd, tag: Tag, peer: int, size: int, after: Sequence[int]
) -> TraceNode:
    """Return the node of an end of a message; its label is the same at both ends."""
    way, chunk, batch = tag
    label = (batch * 1024 + chunk) * 2 + _PASSES[way]
    return message_node(number, f"{kind}_{way}_{chunk}_{batch}", kind, label, peer, size, after)
