"""The program of a rank of each stage, node by node: the form between a step's structure and its traces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dse.inputs.strategies.schedules import schedule_named
from dse.inputs.strategies.schedules.schedule import Message, Position
from dse.prediction.steps.schedules.recurrence import BACKWARD, FORWARD, WEIGHT, Operation, operations
from dse.prediction.steps.structure import Collective, Compute, NetworkTimes, StepStructure

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


@dataclass(frozen=True)
class SlotTimes:
    """A step of ranks with one communication slot each; `waits_ns` is how long nodes waited for it in all."""

    step_ns: int
    waits_ns: int


class SlotRecurrence:
    """Runs the programs with one slot for all communication of a rank, as the simulators have.

    What wants the slot gets it in the order of the program. `waits_ns` leaves out what the closed form knows
    of: that messages wait for messages, and gradients for gradients.
    """

    def __init__(self, structure: StepStructure, network: NetworkTimes) -> None:
        self._network = network
        self._programs = programs(structure)
        self._arrivals: dict[tuple[int, Tag], int] = {}
        count = len(self._programs)
        self._next = [0] * count
        self._chain = [0] * count
        self._detached = [0] * count
        self._slot = [0] * count
        self._holder: list[type | None] = [None] * count
        self._waits = 0

    def run(self) -> SlotTimes:
        """Evaluate all programs to their ends."""
        left = sum(map(len, self._programs))
        while left:
            ran = sum(map(self._advance, range(len(self._programs))))
            if not ran:
                raise RuntimeError("the programs of a step wait for each other")
            left -= ran
        return SlotTimes(max(*self._chain, *self._slot), self._waits)

    def _advance(self, stage: int) -> int:
        """Run a stage as far as it comes; return how many steps that are."""
        program, first = self._programs[stage], self._next[stage]
        while self._next[stage] < len(program) and self._step(stage, program[self._next[stage]]):
            self._next[stage] += 1
        return self._next[stage] - first

    def _step(self, stage: int, step: Step) -> bool:
        if isinstance(step, Receive):
            arrival = self._arrivals.get((stage, step.tag))
            if arrival is None:
                return False
            self._chain[stage] = max(self._chain[stage], arrival)
        elif isinstance(step, Compute):
            self._chain[stage] += step.ns
        elif isinstance(step, Join):
            self._chain[stage] = max(self._chain[stage], self._detached[stage])
        elif isinstance(step, Send):
            self._arrivals[step.stage, step.tag] = self._occupy(stage, step, self._network.link_ns[step.link])
        elif isinstance(step, Detached):
            self._detached[stage] = self._occupy(stage, step, self._network.collective_ns[step.collective])
        else:
            self._chain[stage] = self._occupy(stage, step, self._network.collective_ns[step])
        return True

    def _occupy(self, stage: int, step: Step, ns: int) -> int:
        """Give a step the slot; return when it ends."""
        start = max(self._chain[stage], self._slot[stage])
        if self._holder[stage] is not type(step):
            self._waits += start - self._chain[stage]
        self._holder[stage] = type(step)
        self._slot[stage] = start + ns
        return self._slot[stage]
