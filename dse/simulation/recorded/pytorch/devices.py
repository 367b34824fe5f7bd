"""Kernels and copies on the streams of devices: their launches, and what streams and the host wait for."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from dse.simulation.recorded.pytorch.execution_trace import PARAMETERS, ExecutionTrace
from dse.simulation.recorded.pytorch.kineto import DeviceEvent, HostEvents
from dse.simulation.recorded.pytorch.nodes import UPDATE, RankNodes
from dse.simulation.recorded.pytorch.works import Work, kind_of
from dse.simulation.recorded.step import NodeKind

_SYNCHRONIZE = "Synchronize"
_COPIES = frozenset({"cudaMemcpy", "hipMemcpy", "hipMemcpyWithStream"})
"""Calls that return when the copy is done, as those that synchronize."""

_COLLECTIVE = "Collective name"
_LEAST_QUEUE_NS = 10_000
_MOST_HANDOVER_NS = 20_000
"""Between the end of a kernel and the begin of one on another stream that waited for its event."""

_BYTES = {
    **dict.fromkeys(("half", "short"), 2),
    **dict.fromkeys(("float", "int", "complexhalf"), 4),
    **dict.fromkeys(("double", "long", "complexfloat"), 8),
    "complexdouble": 16,
}
"""Of the types whose names do not say their bits, as those of BFloat16, uint32 and Float8_e4m3fn do."""

_BITS = re.compile(r"[0-9]{1,3}", re.ASCII)


def add_devices(
    nodes: RankNodes,
    host: HostEvents,
    device: Sequence[DeviceEvent],
    launches: Mapping[Hashable, int],
    trace: ExecutionTrace,
    world_size: int,
) -> tuple[list[Work], int]:
    """Add the kernels that a step launched; return those that communicate, and how many have no launch.

    `launches` are the events of the host by correlation, `world_size` the number of ranks.
    """
    works, lost, rows = [], 0, list[tuple[int, int, int]]()
    last: dict[str, int] = {}
    for kernel in sorted(device, key=lambda kernel: kernel.begin_ns):
        call = launches.get(kernel.correlation, -1) if isinstance(kernel.correlation, int) else -1
        if call < 0:
            lost += 1
            continue
        lane = nodes.lane_of(kernel.stream, is_device=True)
        begin = kernel.begin_ns
        if kernel.stream in last:
            begin = max(begin, nodes.end[last[kernel.stream]])
        communicates = "nccl" in kernel.name.lower() or _COLLECTIVE in kernel.args
        name = kernel.name if communicates or not nodes.updates(call) else UPDATE + kernel.name
        row = nodes.add(name, NodeKind.KERNEL, lane, begin, kernel.end_ns)
        launcher = nodes.launched_by(call, host.thread[call], begin)
        if launcher >= 0:
            nodes.add_before(row, launcher)
        if communicates:
            works.append(_work(kernel, row, call, nodes, host, trace, world_size))
        previous = last.get(kernel.stream, -1)
        _add_handover(
            nodes, row, previous, host.end_ns[call], [at for s, at in last.items() if s != kernel.stream]
        )
        rows.append((host.begin_ns[call], row, call))
        last[kernel.stream] = row
    _add_streams_of_works(nodes, works, sorted(rows))
    _add_synchronizations(nodes, host, sorted(rows))
    return works, lost


def _add_handover(nodes: RankNodes, row: int, previous: int, launched: int, others: Sequence[int]) -> None:
    """A kernel that was launched long before, with its stream at rest, waited for another stream."""
    begin = nodes.begin[row]
    ready = max(launched, nodes.end[previous] if previous >= 0 else launched)
    if begin - ready < _LEAST_QUEUE_NS:
        return
    ended = [at for at in others if begin - _MOST_HANDOVER_NS <= nodes.end[at] <= begin]
    if ended:
        nodes.add_before(row, max(ended, key=lambda at: nodes.end[at]))


def _add_streams_of_works(
    nodes: RankNodes, works: Sequence[Work], launched: Sequence[tuple[int, int, int]]
) -> None:
    """NCCL lets its stream wait for the stream of the caller: for the kernel launched before on that one."""
    at_of = {row: at for at, (_, row, _) in enumerate(launched)}
    for work in works:
        for at in range(at_of[work.row] - 1, max(-1, at_of[work.row] - 64), -1):
            other = launched[at][1]
            if nodes.lane[other] != nodes.lane[work.row]:
                nodes.add_before(work.row, other)
                break


def _add_synchronizations(
    nodes: RankNodes, host: HostEvents, launched: Sequence[tuple[int, int, int]]
) -> None:
    """A call that synchronizes ends when kernels have: only what is left after them is its own time."""
    lanes: dict[int, int] = {}  # the kernel that was launched last on each stream
    at = 0
    for event in sorted(nodes.event_rows, key=lambda event: host.begin_ns[event]):
        name, row = host.name[event], nodes.event_rows[event][1] - 1
        if not (name.endswith(_SYNCHRONIZE) or name in _COPIES) or row < nodes.event_rows[event][0]:
            continue
        while at < len(launched) and launched[at][0] <= host.begin_ns[event]:
            lanes[nodes.lane[launched[at][1]]] = launched[at][1]
            at += 1
        ended = [other for other in lanes.values() if nodes.end[other] <= nodes.end[row]]
        for other in ended:
            nodes.begin[row] = max(nodes.begin[row], nodes.end[other])
        for other in ended:
            nodes.add_before(row, other)


def _work(
    kernel: DeviceEvent,
    row: int,
    call: int,
    nodes: RankNodes,
    host: HostEvents,
    trace: ExecutionTrace,
    world_size: int,
) -> Work:
    outer = call
    while outer >= 0 and host.name[outer] != PARAMETERS:
        outer = nodes.parent.get(outer, -1)
    facts = _Facts(kernel.args, host.args[outer] if outer >= 0 else {}, trace, host.record_function[outer])
    name = facts.text(_COLLECTIVE, "collective_name")
    kind = kind_of(name) or kind_of(kernel.name)
    peer = facts.number("Dst Rank" if kind == "send" else "Src Rank", "")
    size = facts.number("In msg nelems", "in_msg_nelems")
    if kind == "receive" and size <= 0:
        size = facts.number("Out msg nelems", "out_msg_nelems")
    width = _bytes_of(facts.text("dtype", "dtype"))
    return Work(
        kind,
        0 if kind == "barrier" else max(size, 0) * width,
        nodes.begin[row],
        nodes.end[row],
        nodes.begin[row],
        host.thread[call],
        call,
        peer=peer,
        group=facts.text("Process Group Name", "pg_name"),
        row=row,
        is_device=True,
        name=kernel.name,
        members=facts.ranks(world_size),
    )


def _bytes_of(dtype: str) -> int:
    """Return the bytes of an element of a type; 1 for types of bytes and for unknown ones."""
    name = dtype.lower().rpartition(".")[2]
    bits = _BITS.search(name)
    return max(1, int(bits[0]) // 8) if bits else _BYTES.get(name, 1)


class _Facts:
    """Facts of a communication: from its kernel, else its call in Kineto, else in the execution trace."""

    def __init__(
        self, kernel: Mapping[str, Any], call: Mapping[str, Any], trace: ExecutionTrace, record: int
    ) -> None:
        self.sources = (kernel, call)
        self.trace, self.record = trace, record

    def get(self, key: str, attribute: str) -> Any:
        for source in self.sources:
            if key in source:
                return source[key]
        return self.trace.attribute(self.record, attribute) if attribute else None

    def text(self, key: str, attribute: str) -> str:
        value = self.get(key, attribute)
        return value if isinstance(value, str) else ""

    def number(self, key: str, attribute: str) -> int:
        value = self.get(key, attribute)
        return value if type(value) is int and 0 <= value < 2**56 else -1

    def ranks(self, world_size: int) -> tuple[int, ...]:
        """The ranks of the group; none where only the first ones are said, unless the group has all."""
        value = self.get("Process Group Ranks", "")
        text = value if isinstance(value, str) else ""
        words = text.strip("[] ").split(",") if "..." not in text else []
        numbers = [
            int(word) for word in words if word.strip().isascii() and word.strip().isdigit() and len(word) < 9
        ]
        if numbers and len(numbers) == len(words):
            return tuple(numbers)
        return tuple(range(world_size)) if self.number("Group size", "pg_size") == world_size else ()
