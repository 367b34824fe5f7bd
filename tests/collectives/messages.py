"""Schedules played message by message in plain Python: what each switch can do, by its rules alone."""

from __future__ import annotations

from collections import deque

from dse.collectives import Schedule


def faults_of(schedule: Schedule) -> list[str]:
    """Return what is wrong with a schedule, one text per fault; empty where it solves its problem.

    A node has a set of contributions per chunk. A switch that cannot copy (plain) or add (sums) has a queue
    of messages instead, each of which leaves once, the oldest first. A whole sum that a switch adds and
    cannot copy leaves once too.
    """
    return _Play(schedule).faults


class _Play:
    def __init__(self, schedule: Schedule) -> None:
        problem = schedule.problem
        graph, collective = problem.graph, problem.collective
        self.graph = graph
        self.sums = collective.is_reducing
        self.everyone = frozenset(range(graph.npus)) if self.sums else frozenset({0})
        self.has: dict[tuple[int, int], frozenset[int]] = {}
        self.queues: dict[tuple[int, int, bool], deque[frozenset[int]]] = {}
        self.sent_own: set[tuple[int, int]] = set()
        self.faults: list[str] = []
        if self.sums:
            for npu in range(graph.npus):
                for chunk in range(collective.chunks):
                    self.has[npu, chunk] = frozenset({npu})
        else:
            for npu, chunk in zip(*(column.tolist() for column in collective.holdings()), strict=True):
                self.has[npu, chunk] = self.everyone
        self._run(schedule)
        for npu, chunk in zip(*(column.tolist() for column in collective.wants()), strict=True):
            if self.has.get((npu, chunk), frozenset()) != self.everyone:
                self.faults.append(f"NPU {npu} lacks chunk {chunk}")

    def _run(self, schedule: Schedule) -> None:
        graph, problem = self.graph, schedule.problem
        events: list[tuple[int, int, int]] = []  # time, 0 arrival or 1 start, send
        starts, ends = schedule.start_ps.tolist(), schedule.end_ps.tolist()
        free: dict[int, int] = {}
        links, chunks, marks = schedule.link.tolist(), schedule.chunk.tolist(), schedule.reduce.tolist()
        for send in sorted(range(len(schedule)), key=lambda send: (starts[send], send)):
            if starts[send] < free.get(links[send], 0):
                self.faults.append(f"send {send} is on a link that is not free")
            free[links[send]] = starts[send] + int(problem.held_ps[links[send]])
            events += [(starts[send], 1, send), (ends[send], 0, send)]
        carried: dict[int, frozenset[int]] = {}
        for _, kind, send in sorted(events):
            ends_of = int(graph.sources[links[send]]), int(graph.destinations[links[send]])
            if kind == 1:
                carried[send] = self._leave(ends_of[0], chunks[send], marks[send], send)
            else:
                self._come(ends_of[1], chunks[send], marks[send], carried.get(send, frozenset()), send)

    def _is_queue(self, node: int, is_sum: bool) -> bool:
        return node in (self.graph.cannot_add if is_sum else self.graph.cannot_copy)

    def _leave(self, node: int, chunk: int, is_sum: bool, send: int) -> frozenset[int]:
        if self._is_queue(node, is_sum):
            queue = self.queues.get((node, chunk, is_sum))
            if queue:
                return queue.popleft()
            own = self.has.get((node, chunk), frozenset())
            if self.sums and not is_sum and own == self.everyone and (node, chunk) not in self.sent_own:
                self.sent_own.add((node, chunk))
                return own
            self.faults.append(f"send {send}: nothing waits in switch {node}")
            return frozenset()
        own = self.has.get((node, chunk), frozenset())
        if not own:
            self.faults.append(f"send {send}: node {node} has nothing of chunk {chunk}")
        if self.sums and not is_sum and own != self.everyone:
            self.faults.append(f"send {send} copies a part of a sum")
        return own

    def _come(self, node: int, chunk: int, is_sum: bool, what: frozenset[int], send: int) -> None:
        if self._is_queue(node, is_sum):
            self.queues.setdefault((node, chunk, is_sum), deque()).append(what)
            return
        before = self.has.get((node, chunk), frozenset())
        if not is_sum:
            self.has[node, chunk] = what
            return
        if before & what:
            self.faults.append(f"send {send} adds a contribution twice")
        self.has[node, chunk] = before | what
