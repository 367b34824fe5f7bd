"""A schedule as Chakra execution traces, one per NPU, as ASTRA-sim takes them for a custom collective."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from dse.collectives.files.steps import ordered_steps
from dse.collectives.schedule import Schedule
from dse.errors import InputError
from dse.trace_nodes import COMPUTE, INT32, INT64, RECEIVE, SEND, UINT64, TraceNode, trace_node, trace_of


def chakra_traces(schedule: Schedule) -> Iterator[bytes]:
    """Yield the trace of each NPU: a send and a receive node per send, with the send's number as tag.

    A send depends on the receive that brought the chunk (where sums arrive: on a compute node that joins all
    of them) and on the previous send of its link.

    Raises:
        InputError: the schedule goes through switches, which have no traces.
    """
    graph = schedule.problem.graph
    if graph.nodes > graph.npus:
        raise InputError(
            f"Chakra traces know no switches, but the network has {graph.nodes - graph.npus}; "
            "synthesise with switches=unrolled, or leave chakra out"
        )
    for nodes in _nodes_of(schedule):
        yield trace_of(nodes)


def _nodes_of(schedule: Schedule) -> list[list[TraceNode]]:
    """The nodes of every trace; ids count from 0 in each."""
    graph = schedule.problem.graph
    sources = graph.sources[schedule.link].tolist()
    destinations = graph.destinations[schedule.link].tolist()
    links, chunks, adds = schedule.link.tolist(), schedule.chunk.tolist(), schedule.reduce.tolist()
    size = math.ceil(schedule.problem.chunk_bytes)
    traces: list[list[TraceNode]] = [[] for _ in range(graph.npus)]
    before: dict[int, int] = {}  # per link the node of its latest send
    ready: dict[int, int] = {}  # per send the node after which its chunk is at its destination

    def add(npu: int, name: str, kind: int, after: Sequence[int], **attributes: tuple[int, int]) -> int:
        number = len(traces[npu])
        traces[npu].append(trace_node(number, kind, name, after, attributes))
        return number

    for step in ordered_steps(schedule):
        send = step.send
        here = [] if step.written_by is None else [ready[step.written_by]]
        message = {"comm_size": (INT64, size), "comm_tag": (INT32, send)}
        what = f"chunk {chunks[send]}"
        if not step.arrives:
            link = links[send]
            after = sorted({*here, *([before[link]] if link in before else [])})
            to = {"comm_dst": (INT32, destinations[send])}
            before[link] = add(sources[send], f"send {send}: {what}", SEND, after, **message, **to)
            continue
        npu, origin = destinations[send], {"comm_src": (INT32, sources[send])}
        ready[send] = add(npu, f"receive {send}: {what}", RECEIVE, [], **message, **origin)
        if adds[send]:
            # A roofline of no operations at all is 0/0, and would never end; one of a byte takes 0 ns.
            least = {"num_ops": (INT64, 1), "tensor_size": (UINT64, 1)}
            ready[send] = add(npu, f"add {send}: {what}", COMPUTE, sorted([*here, ready[send]]), **least)
    return traces
