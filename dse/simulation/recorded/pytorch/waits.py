"""Threads that wait for communications of their own rank: by their pauses, and by the tensors they take."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from dse.simulation.recorded.pytorch.execution_trace import ExecutionTrace, tensors_of
from dse.simulation.recorded.pytorch.kineto import HostEvents
from dse.simulation.recorded.pytorch.nodes import RankNodes
from dse.simulation.recorded.pytorch.works import Work

_LEAST_PAUSE_NS = 50_000
"""A thread that waited had nothing to do for so long before the work ended. Python alone, between two
operators, takes 5 to 40 µs."""

_MOST_DELAY_NS = 1_000_000
"""Between the end of a wait and the first operator that takes the result."""

_MOST_LATE_NS = 100_000_000
_MOST_TOUCHES = 64
_VIEWS = frozenset(
    f"aten::{name}"
    for name in (
        *(
            "view",
            "as_strided",
            "slice",
            "select",
            "narrow",
            "split",
            "split_with_sizes",
            "chunk",
            "detach",
            "t",
        ),
        *(
            "transpose",
            "permute",
            "expand",
            "reshape",
            "unsqueeze",
            "squeeze",
            "alias",
            "flatten",
            "unflatten",
        ),
        *("set_", "resize_", "record_stream", "_unsafe_view", "view_as", "unbind"),
    )
)


def add_waits(
    nodes: RankNodes, works: Sequence[Work], host: HostEvents, events: Sequence[int], trace: ExecutionTrace
) -> int:
    """Let rows wait for the works of their rank; return how many works have no row that waits.

    The first operator that takes a result waits for it. The row after a pause in which a work ended does too:
    if its caller blocks, if the result is taken soon, or if it is not known who takes it. A row that waits in
    its middle begins when the work has ended: the part before was spent on waiting.
    """
    touches = _touches(nodes, works, host, events, trace)
    for work in works:
        if not work.is_message:
            _end_in_time(nodes, work, touches[work.row], host)
    begun = list(nodes.begin)
    takers = _takers(nodes, works, touches)
    lost = 0
    for work in sorted(works, key=lambda work: work.end):
        row, pause = _after_pause(nodes, begun, work)
        taker = takers.get(work.row, -1)
        is_long = pause >= _LEAST_PAUSE_NS
        if work.is_message:
            work.is_watched = is_long
        if not work.is_blocking:
            is_soon = taker < 0 or (row >= 0 and begun[taker] - max(begun[row], work.end) <= _MOST_DELAY_NS)
            row = row if is_long and is_soon else -1
        if row >= 0:
            nodes.begin[row] = max(nodes.begin[row], work.end)
            nodes.add_before(row, work.row)
        if taker >= 0:
            nodes.add_before(taker, work.row)
        lost += row < 0 and taker < 0
    return lost


def _end_in_time(nodes: RankNodes, work: Work, touches: Sequence[tuple[int, int]], host: HostEvents) -> None:
    """End a work when its caller went on or its result was used, if that was before: it was noted late."""
    for row, event in touches:
        if host.name[event] not in _VIEWS and not host.name[event].startswith("c10d::"):
            if work.begin <= nodes.begin[row] < work.end:
                work.end = nodes.end[work.row] = nodes.begin[row]
            break
    at = nodes.event_rows.get(work.call, (0, -1))[1]
    if not work.is_blocking or not 0 <= at < nodes.threads[work.thread].last:
        return
    went_on = nodes.end[at] if nodes.may_wait[at] else nodes.begin[at]
    if work.end > went_on:
        work.is_blocking = work.begin <= went_on and work.end - went_on <= _MOST_LATE_NS
        if work.is_blocking:
            work.end = nodes.end[work.row] = went_on


def _after_pause(nodes: RankNodes, begun: Sequence[int], work: Work) -> tuple[int, int]:
    """Return the row with which the caller went on after a work, and its pause until then; -1 if none."""
    rows = nodes.threads.get(work.thread)
    if rows is None:
        return -1, 0
    at = bisect_right(nodes.end, work.end, rows.first, rows.last)
    if work.is_blocking:  # it may be done before its call is
        at = max(at, nodes.event_rows.get(work.call, (0, 0))[1])
    if at >= rows.last:
        return -1, 0
    paused_at = nodes.end[at - 1] if at > rows.first else work.begin
    if begun[at] < work.end:  # inside of a row
        if not nodes.may_wait[at]:
            return -1, 0
        paused_at = begun[at]
    return at, work.end - max(paused_at, work.begin)


def _takers(
    nodes: RankNodes, works: Sequence[Work], touches: Mapping[int, Sequence[tuple[int, int]]]
) -> Mapping[int, int]:
    """Return, by row of a work, the first row that takes a result of it and began when it was there.

    Views are made of results that are still to come: they do not wait.
    """
    found = {}
    for work in works:
        taker = next((row for row, _ in touches[work.row] if nodes.begin[row] >= work.end), -1)
        if taker >= 0:
            found[work.row] = taker
    return found


def _touches(
    nodes: RankNodes, works: Sequence[Work], host: HostEvents, events: Sequence[int], trace: ExecutionTrace
) -> Mapping[int, list[tuple[int, int]]]:
    """Return, by row of a work, the operators after its call that take a result of it: row and event."""
    takers: dict[int, list[tuple[int, int]]] = {storage: [] for work in works for storage in work.outputs}
    if takers:
        for event in events:
            call = host.record_function[event]
            for value in trace.inputs(call):
                if type(value) is list and value and type(value[-1]) in (list, str):  # no list of numbers
                    for tensor in tensors_of(value):
                        if tensor.storage in takers:
                            takers[tensor.storage].append((call, event))
    found = {}
    for work in works:
        calls = sorted({pair for storage in work.outputs for pair in takers[storage]})
        first = bisect_right(calls, (work.order, len(host.name)))
        after = [event for _, event in calls[first : first + _MOST_TOUCHES] if event in nodes.event_rows]
        rows = [(nodes.event_rows[event][0], event) for event in after]
        issued = host.end_ns[work.call]
        found[work.row] = [(row, event) for row, event in rows if nodes.begin[row] >= issued]
    return found
