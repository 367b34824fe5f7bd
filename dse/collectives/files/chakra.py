"""A schedule as Chakra execution traces, one per NPU, as ASTRA-sim takes them for a custom collective."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from dse.base.errors import InputError
from dse.base.trace_nodes import COMPUTE, INT32, INT64, RECEIVE, SEND, TraceNode, trace_node, trace_of
from dse.collectives.files.messages import ordered_steps
from dse.collectives.problem.engines import refuse_engines
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule

# ASTRA-sim runs every node without operations for 1 ns, so that few sums may be joined by one.
_MOST_FED = 64
_Arrivals = frozenset[int]
"""Nodes of one trace: receives, or what joins many of them."""


def check_traceable(problem: Problem) -> None:
    """Check that a network can be written as traces.

    Raises:
        InputError: it has switches, which have no traces, parallel links, which they do not name, or NPUs
            that drive few links at once, which no simulation of traces keeps to.
    """
    graph = problem.graph
    refuse_engines(problem, "export=[chakra]")
    if graph.has_parallel_links:
        raise InputError(
            "Chakra traces name NPUs and no links, but the network has several from one to another; "
            "add their bandwidths, or leave chakra out"
        )
    if graph.nodes > graph.npus:
        raise InputError(
            f"Chakra traces know no switches, but the network has {graph.nodes - graph.npus}; "
            "synthesise with switches=unrolled, or leave chakra out"
        )


def chakra_traces(schedule: Schedule) -> Iterator[bytes]:
    """Yield the trace of each NPU: a send and a receive node per send, with the send's number as tag.

    A send waits for the receives that brought what it carries. Links have queues of their own in ASTRA-sim,
    and what is ready at once goes in the order of ids, which is that of the schedule. So that sends over one
    link keep this order, a send also waits for the receives that those before it wait for. Where the schedule
    holds a link until the chunk has arrived (`occupancy=total`), it waits for the send before it.

    Raises:
        InputError: as `check_traceable`.
    """
    check_traceable(schedule.problem)
    writer = _Writer(schedule)
    for step in ordered_steps(schedule):
        if step.arrives:
            writer.receive(step.send, step.written_by)
        else:
            writer.send(step.send, step.written_by)
    for nodes in writer.traces:
        # A trace without a node is none; a rank that has nothing to do waits for 1 ns.
        yield trace_of(nodes or [trace_node(0, COMPUTE, "nothing to send or receive", [], {})])


class _Writer:
    """The nodes of every trace; ids count from 0 in each."""

    def __init__(self, schedule: Schedule) -> None:
        graph = schedule.problem.graph
        self.traces: list[list[TraceNode]] = [[] for _ in range(graph.npus)]
        self._sources = graph.sources[schedule.link].tolist()
        self._destinations = graph.destinations[schedule.link].tolist()
        self._links, self._chunks = schedule.link.tolist(), schedule.chunk.tolist()
        self._adds = schedule.reduce.tolist()
        self._size = math.ceil(schedule.problem.chunk_bytes)
        self._holds_until_arrival = schedule.problem.model.occupancy == "total"
        self._latest: dict[int, int] = {}  # per link the node of its latest send
        self._order: dict[
            int, dict[int, int]
        ] = {}  # per link, per link into its source: the receive to wait for
        self._brought: dict[int, _Arrivals] = {}  # per send what its content waits for where it has arrived
        self._came_over: list[dict[int, int]] = [{} for _ in range(graph.npus)]  # per receive its link

    def send(self, send: int, written_by: int | None) -> None:
        """Add the node of a send that carries what another brought, None what its NPU had."""
        npu, link = self._sources[send], self._links[send]
        content = _Arrivals() if written_by is None else self._brought[written_by]
        if self._holds_until_arrival:
            before = [self._latest[link]] if link in self._latest else []
            after = content.union(before)
        else:
            after = content | self._in_order(link, content, self._came_over[npu])
        self._latest[link] = self._add(send, npu, SEND, after, comm_dst=self._destinations[send])

    def _in_order(self, link: int, content: _Arrivals, came_over: Mapping[int, int]) -> _Arrivals:
        """The sends that later sends over a link wait for, with `content`: the last of each link."""
        latest = self._order.setdefault(link, {})
        for node in content:
            origin = came_over[node]
            latest[origin] = max(node, latest.get(origin, node))
        return _Arrivals(latest.values())

    def receive(self, send: int, written_by: int | None) -> None:
        """Add the node of what a send brings; a sum also needs what was there."""
        npu, link = self._destinations[send], self._links[send]
        node = self._add(send, npu, RECEIVE, (), comm_src=self._sources[send])
        self._came_over[npu][node] = link
        content = _Arrivals([node])
        if self._adds[send] and written_by is not None:
            content |= self._brought[written_by]
        if len(content) > _MOST_FED:
            name = f"add {send}: chunk {self._chunks[send]}"
            node = self._append(npu, COMPUTE, name, content, {})
            self._came_over[npu][node] = -1 - send  # after no other
            content = _Arrivals([node])
        self._brought[send] = content

    def _add(self, send: int, npu: int, kind: int, after: Iterable[int], **peer: int) -> int:
        what = "send" if kind == SEND else "receive"
        attributes = {
            "comm_size": (INT64, self._size),
            "comm_tag": (INT32, send),
            **{key: (INT32, value) for key, value in peer.items()},
        }
        return self._append(npu, kind, f"{what} {send}: chunk {self._chunks[send]}", after, attributes)

    def _append(
        self,
        npu: int,
        kind: int,
        name: str,
        after: Iterable[int],
        attributes: Mapping[str, tuple[int, int]],
    ) -> int:
        number = len(self.traces[npu])
        self.traces[npu].append(trace_node(number, kind, name, sorted(after), attributes))
        return number
