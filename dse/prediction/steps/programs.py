"""The program of a rank of each stage, node by node: the form between a step's structure and its traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dse.inputs.strategies.schedules import schedule_named
from dse.inputs.strategies.schedules.schedule import (
    BACKWARD,
    FORWARD,
    WEIGHT,
    Message,
    Operation,
    Position,
    operations,
)
from dse.prediction.steps.structure import Collective, Compute, StepStructure

Tag = tuple[str, int, int]
"""Names a message: the kind of pass that made it, the chunk that it goes to, the micro-batch."""


@dataclass(frozen=True)
class Receive:
    """The chain waits for a message from `stage`."""

    stage: int
    tag: Tag


@dataclass(frozen=True)
class Send:
    """Starts when what is before it in the chain ends; the chain does not wait for it."""

    stage: int
    tag: Tag
    link: int


@dataclass(frozen=True)
class Detached:
    """A collective that starts when the chain is there; the chain goes on meanwhile."""

    collective: Collective


@dataclass(frozen=True)
class Join:
    """The chain waits for all detached collectives."""


Step = Compute | Collective | Receive | Send | Detached | Join


def programs(structure: StepStructure) -> list[list[Step]]:
    """Return what a rank of each stage runs, in the order in which it becomes ready."""
    schedule = schedule_named(structure.schedule)
    count, chunks = len(structure.stages), structure.chunks
    messages = schedule.messages(count, chunks)
    orders = operations(schedule, count, chunks, structure.micro_batches)
    return [list(_program(structure, stage, order, messages)) for stage, order in enumerate(orders)]


def _program(
    structure: StepStructure, stage: int, order: list[Operation], messages: list[Message]
) -> Iterator[Step]:
    sent = {(m.kind, m.source.chunk): m for m in messages if m.source.stage == stage}
    received = {(m.kind, m.destination.chunk): m for m in messages if m.destination.stage == stage}
    split = schedule_named(structure.schedule).splits_backward
    left = [structure.micro_batches] * structure.chunks
    late: list[Collective] = []
    for operation in order:
        kind, chunk, batch = operation
        work = structure.stages[stage][chunk]
        message = received.get((kind, chunk))
        if message is not None:
            yield Receive(message.source.stage, (kind, chunk, batch))
        yield from {FORWARD: work.forward, BACKWARD: work.backward, WEIGHT: ()}[kind]
        is_last = kind == (WEIGHT if split else BACKWARD)
        if is_last and work.weight_ns:
            yield Compute(work.weight_ns)
        left[chunk] -= is_last
        if message := sent.get((kind, chunk)):
            place: Position = message.destination
            yield Send(place.stage, (kind, place.chunk, batch), message.link)
        if is_last and left[chunk] == 0:
            if structure.overlap_gradients:
                yield from map(Detached, work.gradients)
            else:
                late += work.gradients
    yield Join()
    yield from late
    if structure.after:
        yield from structure.after[stage]
