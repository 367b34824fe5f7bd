"""The structure of a training step: what each stage computes, sends and reduces, in whole nanoseconds.

A predicted step is written down in this form to be timed in closed form here, or node by node by a simulator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dse.prediction.steps.schedules import StageTimes, pipeline


@dataclass(frozen=True)
class Compute:
    """Computation without communication, of at least 1 ns."""

    ns: int


@dataclass(frozen=True)
class Collective:
    """A collective of the ranks that differ in one axis only, or in several: `cp-dp`.

    `kind` is all_reduce, all_gather, reduce_scatter or all_to_all; `bytes` is the size in a trace: what a
    rank holds before it.
    """

    axis: str
    kind: str
    bytes: int


Part = Compute | Collective


@dataclass(frozen=True)
class ChunkWork:
    """One micro-batch on one chunk of a stage, and what follows when all have passed.

    Parts come one after the other. `backward` is without the gradients of weights, which take `weight_ns`:
    right after it, or later where the schedule splits the backward pass. `gradients` start when those of all
    micro-batches are complete.
    """

    forward: tuple[Part, ...]
    backward: tuple[Part, ...]
    weight_ns: int
    gradients: tuple[Collective, ...] = ()


@dataclass(frozen=True)
class StepStructure:
    """A training step: `stages` of chunks, the same on every rank of a stage.

    `axes` are the degrees inside a stage, innermost first, as (("tp", 2), ("dp", 4)); ranks of a stage follow
    each other. `message_bytes` go from a rank to its like in the next stage per micro-batch and chunk. With
    `overlap_gradients` the collectives of a chunk's gradients start when they are complete, else when the
    stage has no more micro-batches. Then each stage has what `after` says: its optimizer, and parameters to
    gather; nothing if empty.
    """

    schedule: str
    stages: tuple[tuple[ChunkWork, ...], ...]
    micro_batches: int
    axes: tuple[tuple[str, int], ...] = ()
    message_bytes: int = 1
    overlap_gradients: bool = True
    after: tuple[tuple[Part, ...], ...] = ()

    def __post_init__(self) -> None:  # noqa: D105
        degrees = dict(self.axes)
        for part in self.collectives():
            if math.prod(degrees.get(axis, 0) for axis in part.axis.split("-")) < 2:
                raise ValueError(f"{part} joins one rank or none; axes are {self.axes}")

    @property
    def chunks(self) -> int:
        """Chunks of the model on each stage."""
        return len(self.stages[0])

    def collectives(self) -> Iterator[Collective]:
        """All collectives, with repetitions."""
        for chunk in (chunk for stage in self.stages for chunk in stage):
            for part in (*chunk.forward, *chunk.backward, *chunk.gradients):
                if isinstance(part, Collective):
                    yield part
        for after in self.after:
            yield from (part for part in after if isinstance(part, Collective))


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
