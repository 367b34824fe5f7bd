"""The contract of a pipeline schedule: the tick at which each stage runs each operation, as arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Ticks: TypeAlias = "NDArray[np.int64]"
"""Of shape stages x chunks x micro-batches."""


KINDS = ("forward", "backward", "weight")
"""Passes of a micro-batch; the last one is apart only where a schedule splits the backward pass."""


class Position(NamedTuple):
    """Where one part of the model lives; parts are numbered in the order of the forward pass."""

    stage: int
    chunk: int


class Timetable(NamedTuple):
    """When operations come, in ticks; a stage runs at most one a tick, and its operations in ascending ticks.

    Ticks are no times: they only order. What an operation waits for has a lower tick, whatever its stage.
    `backward` is the whole backward pass of a micro-batch, or the gradient of its input where `weight`, the
    gradient of its weights, has a place of its own.
    """

    forward: Ticks
    backward: Ticks
    weight: Ticks | None = None


class Message(NamedTuple):
    """A message from one stage to another: activations after `forward`, their gradients after `backward`.

    `link` s lies between stage s and the next; the last one between the last stage and the first.
    """

    kind: str
    source: Position
    destination: Position
    link: int


@dataclass(frozen=True)
class Schedule:
    """A schedule of p stages with v chunks of the model each.

    `timetable(p, v, m)` orders m micro-batches. `in_flight` is asked no more and goes in the next minor
    release: the engine counts the activations that the timetable holds. `chunks` is the number of chunks that
    every stage has; None means that a strategy chooses it. `limit(p, v, m)` says what else forbids a
    combination; None and an empty text allow all.
    """

    name: str
    timetable: Callable[[int, int, int], Timetable]
    in_flight: Callable[[int, int, int], list[int]] | None = None
    chunks: int | None = 1
    limit: Callable[[int, int, int], str] | None = None
    splits_backward: bool = False
    is_v_shaped: bool = False

    def __post_init__(self) -> None:
        """Warn of what goes."""
        if self.in_flight is not None:
            text = f"schedule {self.name}: leave out in_flight, the engine counts what the timetable holds"
            warnings.warn(text, DeprecationWarning, stacklevel=3)

    def problem(self, stages: int, chunks: int, micro_batches: int) -> str:
        """Say why the schedule cannot run so many; empty if it can."""
        if self.chunks not in (None, chunks):
            count = "one chunk" if self.chunks == 1 else f"exactly {self.chunks} chunks"
            return f"chunks is {chunks}: schedule={self.name} has {count} a stage"
        return self.limit(stages, chunks, micro_batches) if self.limit else ""

    def positions(self, stages: int, chunks: int) -> list[Position]:
        """Where the parts 0, 1, ... of the model live: round and round, or down and up again (a V)."""
        places = []
        for chunk in range(chunks):
            way = [Position(stage, chunk) for stage in range(stages)]
            places += way[::-1] if self.is_v_shaped and chunk % 2 else way
        return places

    def messages(self, stages: int, chunks: int) -> list[Message]:
        """Return who sends what to whom; parts next to each other on one stage send nothing."""
        found = []
        for here, there in pairwise(self.positions(stages, chunks)):
            if here.stage != there.stage:
                link = min(here.stage, there.stage) if self.is_v_shaped else here.stage
                found += [Message("forward", here, there, link), Message("backward", there, here, link)]
        return found


def grid(stages: int, chunks: int, micro_batches: int) -> tuple[Ticks, Ticks, Ticks]:
    """Return the numbers of stages, chunks and micro-batches, to be combined to ticks of operations."""
    import numpy as np

    return (
        np.arange(stages).reshape(-1, 1, 1),
        np.arange(chunks).reshape(1, -1, 1),
        np.arange(micro_batches).reshape(1, 1, -1),
    )
