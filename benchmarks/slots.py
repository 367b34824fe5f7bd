"""Times of a step whose ranks have one communication slot each, as the simulators have."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.step_times import NetworkTimes
from dse.prediction.steps.programs import Detached, Join, Receive, Send, Step, Tag, programs
from dse.prediction.steps.structure import Compute, StepStructure


@dataclass(frozen=True)
class SlotTimes:
    """A step of ranks with one communication slot each; `waits_ns` is how long nodes waited for it in all."""

    step_ns: int
    waits_ns: int


class SlotRecurrence:
    """Runs the programs with one slot for all communication of a rank, as the simulators have.

    Collectives and messages get the slot in the order of the program. `waits_ns` leaves out two waits that
    the closed form counts: of messages for messages, and of gradients for gradients.
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
