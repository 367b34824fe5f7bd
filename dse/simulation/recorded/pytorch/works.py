"""The communications of one rank on its host: gloo's work, and the call that issued it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from dse.simulation.recorded.pytorch.execution_trace import ExecutionTrace, tensors_of
from dse.simulation.recorded.pytorch.kineto import HostEvents

_KINDS = (
    ("allreduce", "all_reduce"),
    ("allgather", "all_gather"),
    ("reducescatter", "reduce_scatter"),
    ("alltoall", "all_to_all"),
    ("broadcast", "broadcast"),
    ("reduce", "reduce"),
    ("gather", "gather"),
    ("scatter", "scatter"),
    ("barrier", "barrier"),
    ("send", "send"),
    ("recv", "receive"),
)
_ONE_TENSOR = frozenset({"all_reduce", "broadcast", "reduce", "send", "receive"})
_MOST_CALLS_BACK = 8


@dataclass(eq=False)
class Work:
    """One communication of a rank. `end` is when it was measured to end, `done` when it must have been.

    `order` counts the calls of the rank. `peer` is the other rank of a message, numbered within its group.
    `outputs` are storages that may be read only when the work is done. `thread` is that of the call, `row` is
    its node. `is_watched`: a thread waited for it, so that `end` is when it was done. `is_blocking`: the
    caller
    did nothing else before it was done.
    """

    kind: str
    size_bytes: int
    begin: int
    end: int
    order: int
    thread: int
    call: int = -1
    runs_on: int | None = None
    peer: int = -1
    group: str = ""
    outputs: frozenset[int] = frozenset()
    row: int = -1
    is_watched: bool = True
    is_blocking: bool = False
    is_device: bool = False
    name: str = ""
    members: tuple[int, ...] = field(default=())

    @property
    def is_message(self) -> bool:
        """Whether it is a send or a receive."""
        return self.kind in ("send", "receive")


def kind_of(name: str) -> str:
    """Return the kind of a communication by the name of its call or of its kernel; empty if unknown."""
    word = re.sub(r"[^a-z]", "", name.lower())
    return next((kind for key, kind in _KINDS if key in word), "")


def host_works(
    host: HostEvents, works: HostEvents, trace: ExecutionTrace, events: Sequence[int]
) -> tuple[list[Work], int]:
    """Return gloo's work of a step, in the order of the calls, and the number of calls without work.

    The record function id of a work is given inside of its call: the call is the nearest one before it.
    """
    calls = sorted(
        (host.record_function[event], event)
        for event in events
        if host.name[event].startswith("c10d::") and kind_of(host.name[event])
    )
    found: list[Work] = []
    used: set[int] = set()
    for number in sorted(range(len(works.name)), key=lambda n: (works.record_function[n], works.begin_ns[n])):
        call = _call_of(works, number, host, calls, used)
        if call is None:
            continue
        used.add(call)
        found.append(_work(works, number, host, call, trace))
    return found, len(calls) - len(used)


def _call_of(
    works: HostEvents, number: int, host: HostEvents, calls: list[tuple[int, int]], used: set[int]
) -> int | None:
    at = bisect_left(calls, (works.record_function[number], -1))
    nearest = [
        event
        for _, event in reversed(calls[max(0, at - _MOST_CALLS_BACK) : at])
        if event not in used and host.begin_ns[event] <= works.begin_ns[number]
    ]
    kind = kind_of(works.name[number])
    alike = (event for event in nearest if kind_of(host.name[event]) == kind)
    # Gloo reduces and scatters by an all-reduce of its own.
    return next(alike, nearest[0] if nearest and kind == "all_reduce" else None)


def _work(works: HostEvents, number: int, host: HostEvents, call: int, trace: ExecutionTrace) -> Work:
    kind = kind_of(host.name[call])
    inputs = trace.inputs(host.record_function[call])
    results = list(tensors_of(inputs[0])) if inputs else []
    sources = results if kind in _ONE_TENSOR else list(tensors_of(inputs[1])) if len(inputs) > 1 else []
    peer = inputs[2] if kind in ("send", "receive") and len(inputs) > 2 and type(inputs[2]) is int else -1
    thread = host.thread[call]
    runs_on = works.thread[number]
    is_message = kind in ("send", "receive")
    return Work(
        kind,
        0 if kind == "barrier" else sum(tensor.size_bytes for tensor in sources),
        host.begin_ns[call] if is_message else works.begin_ns[number],  # gloo posts before it records
        works.end_ns[number],
        host.record_function[call],
        thread,
        call,
        None if runs_on == thread or is_message else runs_on,
        peer,
        is_blocking=is_message or False in [value for value in inputs if type(value) is bool][-1:],
        outputs=frozenset() if kind == "send" else frozenset(tensor.storage for tensor in results),
        name=works.name[number],
    )
