"""The graph executor in plain Python (simulator specification, sections 2.4, 3, 4, 6.2), without collectives.

Written from the specification: slots, issue passes, timers of a rank in buckets, remote memory for each NPU
and as a pool, messages on the congestion-unaware network; broadcasts are timers on the communication slot,
which are no GPU time.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dse.inputs.systems import Dimension, SystemSpec
from dse.testing.builders import BROADCAST, Node, coll, comp, load, recv, send, store

_SLOT = {
    "compute": "compute",
    "cpu": "cpu",
    "broadcast": "communication",
    "load": "communication",
    "store": "communication",
    "send": "communication",
}


class Step(NamedTuple):
    """A node of a rank; `size` are bytes, `micros` and `ops` what computing takes."""

    kind: str  # compute, cpu, broadcast, load, store, send or receive
    after: tuple[int, ...] = ()
    micros: int = 0
    ops: int = 0
    size: int = 0
    peer: int = 0
    tag: int = 0

    def node(self, number: int) -> Node:
        """The same as a node of a trace."""
        if self.kind in ("compute", "cpu"):
            cpu = self.kind == "cpu"
            return comp(number, self.ops, self.size, cpu=cpu, after=self.after, micros=self.micros)
        if self.kind == "broadcast":
            return coll(number, BROADCAST, self.size, after=self.after, micros=self.micros)
        if self.kind in ("load", "store"):
            return (load if self.kind == "load" else store)(number, self.size, after=self.after)
        make = send if self.kind == "send" else recv
        return make(number, self.peer, self.size, self.tag, after=self.after)


Program = Sequence[Step]
"""The nodes 0, 1, … of a rank."""
_Event = Callable[[], None]


class Figures(NamedTuple):
    """What a rank that ends reports."""

    finish_ns: int
    exposed_comm_ns: int
    gpu_time_ns: int
    cpu_time_ns: int
    comm_time_ns: int
    remote_memory_time_ns: int


@dataclass
class _Rank:
    waits: list[set[int]]
    ready: set[int] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    started: dict[int, int] = field(default_factory=dict)
    ended: dict[int, int] = field(default_factory=dict)
    gpu_ns: int = 0  # runtimes, not their union
    finish_ns: int | None = None


class GraphOracle:
    """Runs the programs of all ranks; `figures` says what each reports, None where it never ends."""

    def __init__(self, system: SystemSpec, programs: Sequence[Program]) -> None:
        self.system, self.programs = system, programs
        self.ranks = [_Rank([set(step.after) for step in program]) for program in programs]
        self.now = 0
        self._queue: list[tuple[int, int, _Event]] = []
        self._numbers = itertools.count()
        self._buckets: dict[tuple[int, int], deque[_Event]] = {}
        self._posted: dict[tuple[int, int, int, int], deque[tuple[int, int]]] = {}
        self._arrived: dict[tuple[int, int, int, int], int] = {}
        self._pool: deque[tuple[int, int]] = deque()  # the head is being served

    def run(self) -> list[Figures | None]:
        """Simulate to the end."""
        for rank, state in enumerate(self.ranks):
            state.ready = {node for node, waits in enumerate(state.waits) if not waits}
            self._issue(rank)
        while self._queue:
            self.now, _, event = heapq.heappop(self._queue)
            event()
        return [self._figures(rank) for rank in range(len(self.ranks))]

    def _at(self, time: int, event: _Event) -> None:
        heapq.heappush(self._queue, (time, next(self._numbers), event))

    def _after(self, rank: int, delay: int, event: _Event) -> None:
        """A timer of a rank: those for the same tick run together, where the first was queued."""
        key = (rank, self.now + delay)
        if key in self._buckets:
            self._buckets[key].append(event)
            return
        self._buckets[key] = deque([event])

        def run_bucket() -> None:
            while self._buckets[key]:
                self._buckets[key].popleft()()
            del self._buckets[key]

        self._at(key[1], run_bucket)

    def _issue(self, rank: int) -> None:
        state = self.ranks[rank]
        for node in sorted(state.ready):
            slot = _SLOT.get(self.programs[rank][node].kind)
            if slot in state.taken:
                continue
            if slot:
                state.taken.add(slot)
            state.ready.remove(node)
            state.started[node] = self.now
            self._start(rank, node, self.programs[rank][node])
        if not state.ready and len(state.started) == len(state.ended) and state.finish_ns is None:
            state.finish_ns = self.now

    def _start(self, rank: int, node: int, step: Step) -> None:
        if step.kind in ("compute", "cpu", "broadcast"):
            duration = self._duration(step)
            if step.kind == "compute":
                self.ranks[rank].gpu_ns += duration
            self._after(rank, duration, lambda: self._complete(rank, node))
        elif step.kind in ("load", "store"):
            self._access(rank, node)
        elif step.kind == "send":
            delay = self._delay(rank, step.peer, step.size)
            self._at(self.now + delay, lambda: self._arrive(rank, node, step))
        else:
            key = (step.tag, step.peer, rank, step.size)
            if self._arrived.get(key):
                self._arrived[key] -= 1
                self._at(self.now, lambda: self._complete(rank, node))
            else:
                self._posted.setdefault(key, deque()).append((rank, node))

    def _duration(self, step: Step) -> int:
        if step.kind == "compute" and self.system.roofline_enabled:
            intensity = step.ops / step.size
            bandwidth, peak = self.system.memory_bandwidth_gbps * 1e9, self.system.peak_tflops * 1e12
            return math.floor(step.ops / min(bandwidth * intensity, peak) * 1e9)
        return 1000 * step.micros or 1

    def _access(self, rank: int, node: int) -> None:
        memory = self.system.remote_memory
        if memory.memory_type != "MEMORY_POOL":
            self._after(rank, self._access_ns(rank, node), lambda: self._complete(rank, node))
            return
        self._pool.append((rank, node))
        if len(self._pool) == 1:
            self._serve()

    def _serve(self) -> None:
        rank, node = self._pool[0]

        def served() -> None:
            self._complete(rank, node)
            self._pool.popleft()
            if self._pool:
                self._serve()

        self._after(rank, self._access_ns(rank, node), served)

    def _access_ns(self, rank: int, node: int) -> int:
        memory = self.system.remote_memory
        return memory.latency_ns + self.programs[rank][node].size // memory.bandwidth_bytes_per_ns

    def _arrive(self, rank: int, node: int, step: Step) -> None:
        self._complete(rank, node)
        key = (step.tag, rank, step.peer, step.size)
        if self._posted.get(key):
            self._complete(*self._posted[key].popleft())
        else:
            self._arrived[key] = self._arrived.get(key, 0) + 1

    def _delay(self, source: int, destination: int, size: int) -> int:
        for dimension in self.system.network:
            a, b = source % dimension.npus, destination % dimension.npus
            if a != b:
                bytes_per_ns = dimension.bandwidth_gbps * 2**30 / 1e9
                return math.floor(_hops(dimension, a, b) * dimension.latency_ns + size / bytes_per_ns)
            source, destination = source // dimension.npus, destination // dimension.npus
        raise AssertionError("a message to itself")

    def _complete(self, rank: int, node: int) -> None:
        state = self.ranks[rank]
        state.taken.discard(_SLOT.get(self.programs[rank][node].kind, ""))
        state.ended[node] = self.now
        for other, waits in enumerate(state.waits):
            if node in waits:
                waits.remove(node)
                if not waits:
                    state.ready.add(other)
        self._issue(rank)

    def _figures(self, rank: int) -> Figures | None:
        state = self.ranks[rank]
        if state.finish_ns is None:
            return None
        classes = (("compute",), ("cpu",), ("send", "receive", "broadcast"), ("load", "store"))
        times = [self._union(rank, kinds) for kinds in classes]
        return Figures(state.finish_ns, state.finish_ns - state.gpu_ns, *times)

    def _union(self, rank: int, kinds: Sequence[str]) -> int:
        state, total, until = self.ranks[rank], 0, 0
        nodes = [node for node, step in enumerate(self.programs[rank]) if step.kind in kinds]
        for start, end in sorted((state.started[node], state.ended[node]) for node in nodes):
            total += max(0, end - max(start, until))
            until = max(until, end)
        return total


def _hops(dimension: Dimension, a: int, b: int) -> int:
    if dimension.topology == "Ring":
        return min((b - a) % dimension.npus, (a - b) % dimension.npus)
    return {"FullyConnected": 1, "Switch": 2}[dimension.topology]
