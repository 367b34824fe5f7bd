"""Section 6.3 of the simulator specification in plain Python: links, queues, store and forward.

Written from the specification, with the event queue (section 3) and the executor's rules for send, receive
and compute nodes (4.1 to 4.3), which decide in which order messages enter a link. Links and routes are those
that the engine shows; tests/inputs/networks/test_topologies.py checks these by themselves.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shapes import Link, steps

from dse.native import _engine
from dse.testing.builders import Node, comp, recv, send


class Step(NamedTuple):
    """A node of a rank: "send" or "receive" with the other rank, bytes and tag, or "compute" for some µs."""

    kind: str
    after: tuple[int, ...] = ()
    peer: int = 0
    size: int = 0
    tag: int = 0
    micros: int = 0

    def node(self, number: int) -> Node:
        if self.kind == "compute":
            return comp(number, after=self.after, micros=self.micros)
        make = send if self.kind == "send" else recv
        return make(number, self.peer, self.size, self.tag, after=self.after)


Program = Sequence[Step]
"""The nodes 0, 1, … of a rank."""


@dataclass
class _Rank:
    waits: list[set[int]]
    ready: list[int] = field(default_factory=list)
    busy: dict[str, bool] = field(default_factory=lambda: {"compute": False, "send": False})
    done: int = 0
    finish_ns: int | None = None


@dataclass
class _Link:
    latency_ns: float
    bytes_per_ns: float
    busy: bool = False
    waiting: deque[tuple[int, list[Link]]] = field(default_factory=deque)  # message, links that are left
    intervals: list[tuple[int, int]] = field(default_factory=list)


class Oracle:
    """Runs the programs of all ranks; afterwards says when each rank ends and what each link carried."""

    def __init__(self, fabric: _engine.Fabric, programs: Sequence[Program]) -> None:
        self.fabric, self.programs = fabric, programs
        self.links = {link[:2]: _Link(*link[2:]) for link in fabric.links}
        self.ranks = [_Rank([set(step.after) for step in program]) for program in programs]
        self.now = self.events = 0
        self.delivered: dict[int, int] = {}  # bytes by rank
        self.durations: list[tuple[int, int, int, int]] = []  # source, destination, bytes, ns of a message
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._messages: list[tuple[int, int, Step, int]] = []  # source, node, what it is, when it was sent
        self._posted: dict[tuple[int, int, int, int], deque[tuple[int, int]]] = {}
        self._arrived: dict[tuple[int, int, int, int], int] = {}

    def run(self) -> None:
        for rank, program in enumerate(self.programs):
            self.ranks[rank].ready = [node for node, step in enumerate(program) if not step.after]
            self._issue(rank)
        while self._queue:
            time, _, event = heapq.heappop(self._queue)
            assert time >= self.now, "time runs backwards"
            self.now = time
            self.events += 1
            event()

    def _at(self, time: int, event: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (time, next(self._numbers), event))

    def _issue(self, rank: int) -> None:
        state = self.ranks[rank]
        for node in sorted(state.ready):
            step = self.programs[rank][node]
            if state.busy.get(step.kind):
                continue
            state.ready.remove(node)
            if step.kind in state.busy:
                state.busy[step.kind] = True
            if step.kind == "compute":
                self._at(self.now + step.micros * 1000, lambda node=node: self._complete(rank, node))  # type: ignore[misc]
            elif step.kind == "send":
                self._messages.append((rank, node, step, self.now))
                route = steps(self.fabric.route(rank, step.peer))
                self._enter(len(self._messages) - 1, route)
            else:
                self._post((step.tag, step.peer, rank, step.size), rank, node)

    def _complete(self, rank: int, node: int) -> None:
        state = self.ranks[rank]
        kind = self.programs[rank][node].kind
        if kind in state.busy:
            state.busy[kind] = False
        state.done += 1
        for other, waits in enumerate(state.waits):
            if node in waits:
                waits.remove(node)
                if not waits:
                    state.ready.append(other)
        self._issue(rank)
        if state.done == len(self.programs[rank]):
            state.finish_ns = self.now

    def _post(self, key: tuple[int, int, int, int], rank: int, node: int) -> None:
        if self._arrived.get(key, 0) > 0:
            self._arrived[key] -= 1
            self._at(self.now, lambda: self._complete(rank, node))
        else:
            self._posted.setdefault(key, deque()).append((rank, node))

    def _enter(self, message: int, route: list[Link]) -> None:
        link = self.links[route[0]]
        if link.busy:
            link.waiting.append((message, route))
        else:
            self._transmit(link, message, route)

    def _transmit(self, link: _Link, message: int, route: list[Link]) -> None:
        size = self._messages[message][2].size
        link.busy = True
        free = self.now + int(size / link.bytes_per_ns)
        link.intervals.append((self.now, free))
        arrive = self._arrive if len(route) == 1 else lambda message: self._enter(message, route[1:])
        self._at(self.now + int(link.latency_ns + size / link.bytes_per_ns), lambda: arrive(message))
        self._at(free, lambda: self._free(link))

    def _free(self, link: _Link) -> None:
        link.busy = False
        if link.waiting:
            self._transmit(link, *link.waiting.popleft())

    def _arrive(self, message: int) -> None:
        source, node, step, sent = self._messages[message]
        self.delivered[step.peer] = self.delivered.get(step.peer, 0) + step.size
        self.durations.append((source, step.peer, step.size, self.now - sent))
        self._complete(source, node)
        key = (step.tag, source, step.peer, step.size)
        if self._posted.get(key):
            self._complete(*self._posted[key].popleft())
        else:
            self._arrived[key] = self._arrived.get(key, 0) + 1
