"""The contract of a pipeline schedule: the tick at which each stage runs each operation, as arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ticks = NDArray[np.int64]
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

    `timetable(p, v, m)` orders m micro-batches; `in_flight(p, v, m)` are the most activations (of one chunk
    and one micro-batch) that each stage holds at once, from the start of the forward pass to the end of what
    needs them last. `problem(p, v, m)` says why a combination is not allowed; it is empty if it is.
    """

    name: str
    timetable: Callable[[int, int, int], Timetable]
    in_flight: Callable[[int, int, int], list[int]]
    problem: Callable[[int, int, int], str]
    splits_backward: bool = False
    is_v_shaped: bool = False

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


def one_chunk(name: str) -> Callable[[int, int, int], str]:
    """Return the `problem` of a schedule whose stages hold one contiguous part of the model."""

    def problem(stages: int, chunks: int, micro_batches: int) -> str:  # noqa: ARG001
        return "" if chunks == 1 else f"chunks is {chunks}: schedule={name} has one chunk a stage"

    return problem


def grid(stages: int, chunks: int, micro_batches: int) -> tuple[Ticks, Ticks, Ticks]:
    """Return the numbers of stages, chunks and micro-batches, to be combined to ticks of operations."""
    return (
        np.arange(stages).reshape(-1, 1, 1),
        np.arange(chunks).reshape(1, -1, 1),
        np.arange(micro_batches).reshape(1, 1, -1),
    )
