"""Times of a step's structure: the network's alone, by the engine, and the whole step in closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dse.base.trace_nodes import TraceNode
from dse.inputs.systems import SystemSpec
from dse.native import _engine
from dse.prediction.steps.schedules import StageTimes, pipeline
from dse.prediction.steps.structure import ChunkWork, Collective, Compute, Part, StepStructure
from dse.prediction.steps.traces import TraceWriter, traced_collective, traced_message, traced_system
from dse.simulation.simulators.native import NativeSimulator
from dse.simulation.workloads.nodes import compute_node
from dse.simulation.workloads.traces import workload_of


@dataclass(frozen=True)
class NetworkTimes:
    """Times of the network, alone: each collective, and a message over link s between stage s and the next.

    `unequal` says which of them do not take the same for all ranks of a stage.
    """

    collective_ns: Mapping[Collective, int]
    link_ns: Sequence[int]
    unequal: tuple[str, ...] = ()

    def parts_ns(self, parts: Sequence[Part]) -> int:
        """The time that parts take one after the other."""
        return sum(part.ns if isinstance(part, Compute) else self.collective_ns[part] for part in parts)


def step_ns(structure: StepStructure, network: NetworkTimes) -> int:
    """Return the time of the step in closed form: the pipeline, then gradients, optimizer and parameters.

    Collectives and messages take what they take alone, as on links of their own: gradients are reduced during
    what is left of the pipeline, one collective at a time.
    """
    stages = [
        [
            StageTimes(
                network.parts_ns(chunk.forward),
                network.parts_ns(chunk.backward) + chunk.weight_ns,
                chunk.weight_ns,
            )
            for chunk in stage
        ]
        for stage in structure.stages
    ]
    times = pipeline(structure.schedule, stages, structure.micro_batches, network.link_ns)
    ends = [
        _reduced_ns(structure, network, stage, gradients, finish)
        for stage, gradients, finish in zip(structure.stages, times.gradients_s, times.finish_s, strict=True)
    ]
    after = [network.parts_ns(parts) for parts in structure.after] or [0] * len(ends)
    return int(max(map(sum, zip(ends, after, strict=True))))


def _reduced_ns(
    structure: StepStructure,
    network: NetworkTimes,
    stage: Sequence[ChunkWork],
    gradients: Sequence[float],
    finish: float,
) -> float:
    """Return when a stage has its gradients reduced."""
    end = 0.0 if structure.overlap_gradients else finish
    for complete, chunk in sorted(zip(gradients, stage, strict=True), key=lambda pair: pair[0]):
        for part in chunk.gradients:
            end = max(end, complete) + network.collective_ns[part]
    return max(end, finish)


def network_times(structure: StepStructure, system: SystemSpec) -> NetworkTimes:
    """Return what collectives and messages of a step take alone on the network of a system, by the engine.

    A collective whose ranks end at different times counts with what a second one right after it adds.
    """
    writer = TraceWriter(structure)
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
                traced_collective(number, part, names[part.axis, rank], range(max(0, number - 1), number))
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
        ends = ends_ns([[_circulating(writer, rank, link)] for rank in ranks], takers)
        if min(ends) < max(ends):
            unequal.append(f"messages after stage {link} take {min(ends)} to {max(ends)} ns")
        links.append(max(ends))
    return NetworkTimes(collectives, links or [0], tuple(unequal))


def _circulating(writer: TraceWriter, rank: int, link: int) -> TraceNode:
    """Return what a rank does when all ranks of one stage send to the next; others compute for 1 ns."""
    stage, inner = divmod(rank, writer.ranks)
    count, size = len(writer.structure.stages), writer.structure.message_bytes
    tag = ("forward", 0, 0)
    following = (link + 1) % count
    if stage == link:
        return traced_message(0, "send", tag, following * writer.ranks + inner, size, ())
    if stage == following:
        return traced_message(0, "receive", tag, link * writer.ranks + inner, size, ())
    return compute_node(0, 1, ())
