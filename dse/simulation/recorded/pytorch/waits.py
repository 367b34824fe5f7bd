"""Threads that wait for communications of their own rank: by their pauses, and by the tensors they take."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

from dse.simulation.recorded.pytorch.execution_trace import ExecutionTrace, tensors_of
from dse.simulation.recorded.pytorch.kineto import HostEvents
from dse.simulation.recorded.pytorch.nodes import RankNodes
from dse.simulation.recorded.pytorch.works import Work

_LEAST_PAUSE_NS = 50_000
"""A thread that waited had nothing to do for so long before the work ended. Python alone, between two
operators, takes 5 to 40 µs."""

_MOST_DELAY_NS = 1_000_000
"""Between the end of a wait and the first operator that takes the result."""

_MOST_TOUCHES = 64


def add_waits(
    nodes: RankNodes, works: Sequence[Work], host: HostEvents, events: Sequence[int], trace: ExecutionTrace
) -> int:
    """Let rows wait for the works of their rank; return how many works nobody waits for.

    The first operator that takes a result waits for it. The row after a pause in which a work ended does too:
    if its caller blocks, if the result is taken soon, or if it is not known who takes it. A row that waits in
    its middle begins when the work has ended: the part before was spent on waiting.
    """
    begun = list(nodes.begin)
    takers = _takers(nodes, works, host, events, trace)
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


def _after_pause(nodes: RankNodes, begun: Sequence[int], work: Work) -> tuple[int, int]:
    """Return the row with which the caller went on after a work, and its pause until then; -1 if none."""
    rows = nodes.threads.get(work.thread)
    if rows is None:
        return -1, 0
    at = bisect_right(nodes.end, work.end, rows.first, rows.last)
    if at == rows.last:
        return -1, 0
    paused_at = nodes.end[at - 1] if at > rows.first else work.begin
    if begun[at] < work.end:  # inside of a row
        if not nodes.may_wait[at]:
            return -1, 0
        paused_at = begun[at]
    return at, work.end - max(paused_at, work.begin)


def _takers(
    nodes: RankNodes, works: Sequence[Work], host: HostEvents, events: Sequence[int], trace: ExecutionTrace
) -> Mapping[int, int]:
    """Return, by row of a work, the first row that takes a result of it and began when it was there.

    Views are made of results that are still to come: they do not wait.
    """
    wanted = {storage for work in works for storage in work.outputs}
    touches = _touches(wanted, host, events, trace)
    found = {}
    for work in works:
        after = sorted({pair for storage in work.outputs for pair in touches[storage]})
        first = bisect_right(after, (work.order, len(host.name)))
        for _, event in after[first : first + _MOST_TOUCHES]:
            row = nodes.event_rows[event][0] if event in nodes.event_rows else -1
            if 0 <= row < len(nodes.begin) and nodes.begin[row] >= work.end:
                found[work.row] = row
                break
    return found


def _touches(
    wanted: Collection[int], host: HostEvents, events: Sequence[int], trace: ExecutionTrace
) -> Mapping[int, list[tuple[int, int]]]:
    """Return, by storage, the operators that take it: record function id and event."""
    touches: dict[int, list[tuple[int, int]]] = {storage: [] for storage in wanted}
    if not wanted:
        return touches
    for event in events:
        call = host.record_function[event]
        for value in trace.inputs(call):
            if type(value) is list:
                for tensor in tensors_of(value):
                    if tensor.storage in touches:
                        touches[tensor.storage].append((call, event))
    return touches
