"""A schedule as Chakra execution traces, one per NPU, as ASTRA-sim takes them for a custom collective."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from dse.collectives.files.steps import ordered_steps
from dse.collectives.schedule import Schedule
from dse.errors import InputError

_COMPUTE, _SEND, _RECEIVE = 4, 5, 6  # types of nodes and kinds of values in the format
_INT32, _INT64, _UINT64 = 7, 9, 13


def chakra_traces(schedule: Schedule) -> Iterator[bytes]:
    """Yield the trace of each NPU: a send and a receive node per send, with the send's number as tag.

    A send depends on the receive that brought the chunk (where sums arrive: on a compute node that joins all
    of them) and on the previous send of its link.

    Raises:
        InputError: the schedule goes through switches, which have no traces.
    """
    from dse import _engine

    graph = schedule.problem.graph
    if graph.nodes > graph.npus:
        raise InputError(
            f"Chakra traces know no switches, but the network has {graph.nodes - graph.npus}; "
            "synthesise with switches=unrolled, or leave chakra out"
        )
    for nodes in _nodes_of(schedule):
        yield _engine.trace_file(nodes).encode()


def _nodes_of(schedule: Schedule) -> list[list[dict[str, Any]]]:
    """The nodes of every trace; ids count from 0 in each."""
    graph = schedule.problem.graph
    sources = graph.sources[schedule.link].tolist()
    destinations = graph.destinations[schedule.link].tolist()
    links, chunks, adds = schedule.link.tolist(), schedule.chunk.tolist(), schedule.reduce.tolist()
    size = math.ceil(schedule.problem.chunk_bytes)
    traces: list[list[dict[str, Any]]] = [[] for _ in range(graph.npus)]
    before: dict[int, int] = {}  # per link the node of its latest send
    ready: dict[int, int] = {}  # per send the node after which its chunk is at its destination

    def add(npu: int, name: str, kind: int, after: Sequence[int], **attributes: tuple[int, int]) -> int:
        number = len(traces[npu])
        traces[npu].append(_node(number, name, kind, after, attributes))
        return number

    for step in ordered_steps(schedule):
        send = step.send
        here = [] if step.written_by is None else [ready[step.written_by]]
        message = {"comm_size": (_INT64, size), "comm_tag": (_INT32, send)}
        what = f"chunk {chunks[send]}"
        if not step.arrives:
            link = links[send]
            after = sorted({*here, *([before[link]] if link in before else [])})
            to = {"comm_dst": (_INT32, destinations[send])}
            before[link] = add(sources[send], f"send {send}: {what}", _SEND, after, **message, **to)
            continue
        npu, origin = destinations[send], {"comm_src": (_INT32, sources[send])}
        ready[send] = add(npu, f"receive {send}: {what}", _RECEIVE, [], **message, **origin)
        if adds[send]:
            # A roofline of no operations at all is 0/0, and would never end; one of a byte takes 0 ns.
            least = {"num_ops": (_INT64, 1), "tensor_size": (_UINT64, 1)}
            ready[send] = add(npu, f"add {send}: {what}", _COMPUTE, sorted([*here, ready[send]]), **least)
    return traces


def _node(
    number: int, name: str, kind: int, after: Sequence[int], attributes: dict[str, tuple[int, int]]
) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "type": kind,
        "duration_micros": 0,
        "ctrl_deps": [],
        "data_deps": list(after),
        "attributes": attributes,
    }
