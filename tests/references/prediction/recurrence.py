"""The times of a pipeline by plain recursion: slow, and what the engine is tested against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dse.inputs.strategies.schedules.schedule import (
    BACKWARD,
    FORWARD,
    WEIGHT,
    Operation,
    Position,
    Schedule,
    operations,
)
from dse.prediction.steps.schedules import PipelineTimes, StageTimes


@dataclass
class _Stage:
    """How far a stage is: its next operation, when it is free, and when its link is."""

    next: int = 0
    free_s: float = 0
    link_free_s: float = 0


@dataclass
class Recurrence:
    """Starts and ends of every operation: start = max(stage free, arrival of what it needs).

    A message leaves when its operation has ended and the one before it has arrived.
    """

    schedule: Schedule
    stages: Sequence[Sequence[StageTimes]]
    micro_batches: int
    links: Sequence[float]

    def __post_init__(self) -> None:
        stages, chunks = len(self.stages), len(self.stages[0])
        self.orders = operations(self.schedule, stages, chunks, self.micro_batches)
        messages = self.schedule.messages(stages, chunks)
        self._sent = {(message.kind, message.source): message for message in messages}
        self._received = {(message.kind, message.destination) for message in messages}
        self.spans: list[dict[Operation, tuple[float, float]]] = [{} for _ in self.stages]
        self._arrivals: dict[tuple[int, Operation], float] = {}

    def run(self) -> PipelineTimes:
        """Evaluate all operations, in any order that what they need allows."""
        states = [_Stage() for _ in self.stages]
        left = sum(map(len, self.orders))
        while left:
            before = left
            for stage, state in enumerate(states):
                left -= sum(1 for _ in self._advance(stage, state))
            if left == before:
                raise RuntimeError(f"the schedule {self.schedule.name} waits for itself")
        return self._times()

    def duration_s(self, stage: int, operation: Operation) -> float:
        """The time that an operation takes."""
        times = self.stages[stage][operation.chunk]
        if operation.kind == FORWARD:
            return times.forward_s
        if operation.kind == WEIGHT:
            return times.weight_s
        return times.backward_s - times.weight_s if self.schedule.splits_backward else times.backward_s

    def _advance(self, stage: int, state: _Stage) -> Iterator[Operation]:
        """Run the stage as far as it comes."""
        order = self.orders[stage]
        while state.next < len(order):
            operation = order[state.next]
            arrival = self._arrival(stage, operation)
            if arrival is None:
                return
            start = max(state.free_s, arrival)
            state.free_s = start + self.duration_s(stage, operation)
            self.spans[stage][operation] = (start, state.free_s)
            self._send(stage, state, operation)
            state.next += 1
            yield operation

    def _arrival(self, stage: int, operation: Operation) -> float | None:
        """Return when an operation has what it needs from other stages; None if that is not known yet."""
        if (operation.kind, Position(stage, operation.chunk)) not in self._received:
            return 0
        return self._arrivals.get((stage, operation))

    def _send(self, stage: int, state: _Stage, operation: Operation) -> None:
        message = self._sent.get((operation.kind, Position(stage, operation.chunk)))
        if message is None:
            return
        state.link_free_s = max(state.free_s, state.link_free_s) + self.links[message.link]
        place = message.destination
        self._arrivals[place.stage, operation._replace(chunk=place.chunk)] = state.link_free_s

    def _times(self) -> PipelineTimes:
        last = WEIGHT if self.schedule.splits_backward else BACKWARD
        backward = [[op for op in order if op.kind == BACKWARD][-1] for order in self.orders]
        finish = tuple(max(end for _, end in spans.values()) for spans in self.spans)
        busy = tuple(
            self.micro_batches * sum(times.forward_s + times.backward_s for times in stage)
            for stage in self.stages
        )
        return PipelineTimes(
            makespan_s=max(finish),
            busy_s=busy,
            bubble_s=tuple(max(finish) - time for time in busy),
            last_backward_start_s=tuple(spans[op][0] for spans, op in zip(self.spans, backward, strict=True)),
            gradients_s=tuple(
                tuple(
                    max(end for op, (_, end) in spans.items() if op.kind == last and op.chunk == chunk)
                    for chunk in range(len(self.stages[0]))
                )
                for spans in self.spans
            ),
            finish_s=finish,
            in_flight=tuple(self._in_flight(order) for order in self.orders),
        )

    def _in_flight(self, order: Sequence[Operation]) -> int:
        last = WEIGHT if self.schedule.splits_backward else BACKWARD
        held = peak = 0
        for operation in order:
            held += (operation.kind == FORWARD) - (operation.kind == last)
            peak = max(peak, held)
        return peak
