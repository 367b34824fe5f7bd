"""The structure of a training step: what each stage computes, sends and reduces, in whole nanoseconds.

A predicted step is written down in this form to be traced, and timed node by node by a simulator.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass


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
