"""The contract of a pipeline schedule: the tick at which each stage runs each operation, as arrays.

Schedules that repeat a building block: the passes of a micro-batch, and the same again every six ticks.

Qi et al. 2024, "Pipeline Parallelism with Controllable Memory", https://arxiv.org/abs/2405.15362. A stage has
two chunks in the shape of a V. In a period it runs a forward pass, a gradient of inputs and one of weights of
each, a tick long. The longer the block, the more activations are held. Idle ticks go when a step is timed:
the paper calls that squeezing. Its last step, other orders for warm-up and drain, is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import NamedTuple, TypeAlias

from dse.base.lazy import NDArray, np

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
    return (
        np.arange(stages).reshape(-1, 1, 1),
        np.arange(chunks).reshape(1, -1, 1),
        np.arange(micro_batches).reshape(1, 1, -1),
    )


FORWARD, BACKWARD, WEIGHT = KINDS


class Operation(NamedTuple):
    """One pass of one micro-batch through one chunk."""

    kind: str
    chunk: int
    micro_batch: int


def operations(schedule: Schedule, stages: int, chunks: int, micro_batches: int) -> list[list[Operation]]:
    """Return what each stage runs, in its order."""
    timetable = schedule.timetable(stages, chunks, micro_batches)
    placed: list[list[tuple[int, Operation]]] = [[] for _ in range(stages)]
    for kind, ticks in zip(KINDS, timetable, strict=True):
        if ticks is None:
            continue
        for stage in range(stages):
            placed[stage] += [
                (int(ticks[stage, chunk, batch]), Operation(kind, chunk, batch))
                for chunk in range(chunks)
                for batch in range(micro_batches)
            ]
    return [[operation for _, operation in sorted(place)] for place in placed]


def replicated_operations(
    schedule: Schedule, replicas: Sequence[int], chunks: int, micro_batches: int
) -> list[list[list[Operation]]]:
    """Return what each replica of each stage runs, in its order, where they take micro-batches in turn.

    Micro-batch m goes to replica m mod r of a stage with r. A stage runs as the first of as many stages as it
    takes to keep all later ones busy: ceil(replicas from here on / own replicas), as PipeDream starts.
    Narayanan et al. 2019, https://arxiv.org/abs/1806.03377, section 3.2.
    """
    if max(replicas) == 1:
        return [[order] for order in operations(schedule, len(replicas), chunks, micro_batches)]
    found = []
    for stage, number in enumerate(replicas):
        depth = -(-sum(replicas[stage:]) // number)
        first = operations(schedule, depth, chunks, micro_batches // number)[0]
        found.append(
            [
                [one._replace(micro_batch=one.micro_batch * number + replica) for one in first]
                for replica in range(number)
            ]
        )
    return found


_PERIOD = 6  # ticks: three passes of two chunks


def v_schedule(name: str, rise: int, delays: Callable[[int], tuple[int, int, int]]) -> Schedule:
    """Return the schedule of a block whose passes go down the V a tick a stage, and up in `rise` ticks each.

    `delays(stages)` are ticks from the pass before each turn to the pass after it: at the last stage, at the
    loss, and at the last stage again. No two passes of a stage may come in the same tick of the period.
    """

    def timetable(stages: int, chunks: int, micro_batches: int) -> Timetable:  # noqa: ARG001
        block = np.array([_stage_ticks(stages, stage, rise, delays(stages)) for stage in range(stages)])
        ticks = block[..., np.newaxis] + _PERIOD * np.arange(micro_batches)
        return Timetable(*(ticks[:, kind] for kind in range(3)))

    return Schedule(name, timetable, chunks=2, splits_backward=True, is_v_shaped=True)


def _stage_ticks(stages: int, stage: int, rise: int, delays: tuple[int, int, int]) -> list[list[int]]:
    """Return the ticks of a stage in the first block: for each kind of pass, of both chunks."""
    last = stages - 1
    up, turn = rise * (last - stage), last + delays[0]
    loss = turn + rise * last + delays[1]
    forwards, backwards = [stage, turn + up], [loss + last + delays[2] + up, loss + stage]
    taken = {tick % _PERIOD for tick in (*forwards, *backwards)}
    weights = []
    for backward in backwards:
        weights.append(next(tick for tick in count(backward + 1) if tick % _PERIOD not in taken))
        taken.add(weights[-1] % _PERIOD)
    return [forwards, backwards, weights]
