"""Order in a plan of MSCCL++: signals, semaphores and barriers, and what each block knows to be over."""

from __future__ import annotations

from collections import Counter, deque
from typing import NamedTuple

from dse.collectives.interpret.clocks import Accesses, Clock, Clocks
from dse.collectives.interpret.plan_records import Operation, Plan, PlanBlock

_Channel = tuple[str, int, int, int]


class Signal(NamedTuple):
    """A signal on its way: what is visible after its wait, and GPUs that are known to run."""

    clock: Clock | None
    running: frozenset[int]


class Order:
    """Operations that synchronise; the clocks are of the blocks, and of the proxy of every port channel."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        channels = {each for block in plan.blocks for op in block.operations for each in op.channels}
        ports = sorted(each for each in channels if each[0] == "port")
        self._proxy = {port: len(plan.blocks) + i for i, port in enumerate(ports)}
        self._clocks = Clocks(len(plan.blocks) + len(ports))
        self._accesses = Accesses(self._clocks)
        for thread in range(len(plan.blocks) + len(ports)):
            self._clocks.tick(thread)
        self._pending: list[list[Clock]] = [[] for _ in plan.blocks]  # is visible after the next nop
        self._signals: dict[_Channel, deque[Signal]] = {}
        self._semaphores: list[list[deque[Signal]]] = [
            [deque([Signal(None, frozenset())] * count) for count in counts] for counts in plan.semaphores
        ]
        self._at_barrier: dict[tuple[int, int], list[int]] = {}
        self._passed: set[int] = set()
        self._waiters: dict[_Channel, int] = {}
        self._running = [frozenset([block.gpu]) for block in plan.blocks]
        self._known = list(self._running)  # the same after the next nop
        self._done = [0] * len(plan.blocks)
        self._found: list[str] = []

    def _is_reached(self, number: int, block: PlanBlock, op: Operation) -> bool:
        """Whether a block can go on through an operation that waits for others."""
        if op.name in ("wait", "rlxwait"):
            awaited = Counter(map(other_end, op.channels))
            return all(len(self._signals.get(channel, ())) >= count for channel, count in awaited.items())
        if op.name == "sem_acquire":
            taken = Counter(op.semaphores)
            return all(len(self._semaphores[block.gpu][each]) >= count for each, count in taken.items())
        if op.name == "barrier":
            there = self._at_barrier.setdefault((block.gpu, op.barrier[0]), [])
            if number in self._passed:
                self._passed.remove(number)
                return True
            if number not in there:
                there.append(number)
            if len(there) == op.barrier[1]:
                self._meet(there)
                self._passed.remove(number)
                return True
            return False
        return True

    def _meet(self, there: list[int]) -> None:
        for each in there:
            self._sync(each)
        clocks = [self._over(each) for each in there]
        running = frozenset().union(*(self._running[each] for each in there))
        for each in there:
            self._running[each] = self._known[each] = running | self._known[each]
            for clock in clocks:
                self._clocks.learn(each, clock)
        self._passed.update(there)
        there.clear()

    def _sync(self, number: int) -> None:
        """The threads of a block meet: all that they have seen and done is over for all of them."""
        for clock in self._pending[number]:
            self._clocks.learn(number, clock)
        self._pending[number].clear()
        self._running[number] |= self._known[number]
        self._clocks.tick(number)

    def _over(self, number: int) -> Clock:
        """Return the steps that are over for certain: of the block itself all before the last nop."""
        clock = self._clocks.snapshot(number)
        clock[number] -= 1
        return clock

    def _nop(self, number: int, _: Operation) -> None:
        self._sync(number)

    def _barrier(self, number: int, _: Operation) -> None:
        """All blocks of a barrier have met when the last one came."""

    def _signal(self, number: int, op: Operation) -> None:
        for channel in op.channels:
            clock = self._over(number)
            if channel in self._proxy:  # comes after what was put before
                self._clocks.learn(self._proxy[channel], clock)
                clock = self._clocks.snapshot(self._proxy[channel])
            self._send_signal(channel, Signal(clock, self._running[number]))

    def _rlxsignal(self, number: int, op: Operation) -> None:
        for channel in op.channels:
            self._send_signal(channel, Signal(None, self._running[number]))

    def _send_signal(self, channel: _Channel, signal: Signal) -> None:
        self._signals.setdefault(channel, deque()).append(signal)

    def _wait(self, number: int, op: Operation) -> None:
        for channel in op.channels:
            signal = self._taken(number, channel)
            if signal.clock is not None and op.name == "wait":
                self._pending[number].append(signal.clock)

    _rlxwait = _wait

    def _taken(self, number: int, channel: _Channel) -> Signal:
        if self._waiters.setdefault(channel, number) != number:
            self._say(number, f"and another block wait on one channel to GPU {channel[2]}")
        signal = self._signals[other_end(channel)].popleft()
        self._known[number] |= signal.running
        return signal

    def _sem_release(self, number: int, op: Operation) -> None:
        gpu = self._plan.blocks[number].gpu
        for each in op.semaphores:
            self._semaphores[gpu][each].append(Signal(self._over(number), self._running[number]))

    def _sem_acquire(self, number: int, op: Operation) -> None:
        gpu = self._plan.blocks[number].gpu
        for each in op.semaphores:
            released = self._semaphores[gpu][each].popleft()
            self._known[number] |= released.running
            if released.clock is not None:
                self._pending[number].append(released.clock)

    def _flush(self, number: int, op: Operation) -> None:
        for channel in op.channels:
            self._pending[number].append(self._clocks.snapshot(self._proxy[channel]))

    def _say(self, number: int, text: str) -> None:
        self._found.append(f"{self._plan.blocks[number].name}, operation {self._done[number]} {text}")


def other_end(channel: _Channel) -> _Channel:
    """Return a channel as its other end names it."""
    kind, gpu, peer, which = channel
    return kind, peer, gpu, which
