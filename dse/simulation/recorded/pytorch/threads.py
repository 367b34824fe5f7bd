"""The threads of the host: operators nest, so each lane gets the parts that are an operator's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dse.simulation.recorded.pytorch.kineto import HostEvents
from dse.simulation.recorded.pytorch.nodes import RankNodes, ThreadRows
from dse.simulation.recorded.step import NodeKind

END_OF_STEP = "end of the step"
_BACKWARD = "autograd::engine::evaluate_function"
_LEAST_WAIT_NS = 20_000


def add_threads(
    nodes: RankNodes, host: HostEvents, events: Iterable[int], names: Mapping[int, str], main: tuple[int, int]
) -> None:
    """Add the rows of all threads; `main` is the thread of the step and the time when the step ended."""
    nodes.thread_names = names
    threads: dict[int, list[int]] = {main[0]: []}
    for event in events:
        threads.setdefault(host.thread[event], []).append(event)
    for thread, members in threads.items():
        lane = nodes.lane_of(names.get(thread, f"thread {thread}"))
        first = len(nodes.name)
        _add_parts(nodes, host, members, lane)
        if thread == main[0]:
            last_end = nodes.end[-1] if len(nodes.name) > first else main[1]
            at = max(main[1], last_end)
            nodes.add(END_OF_STEP, NodeKind.HOST, lane, at, at)
        nodes.threads[thread] = ThreadRows(first, len(nodes.name))


def _add_parts(nodes: RankNodes, host: HostEvents, members: list[int], lane: int) -> None:
    """Add the parts of the events of a thread in which no inner event runs."""
    begin, end, name = host.begin_ns, host.end_ns, host.name
    members.sort(key=lambda event: (begin[event], -end[event]))
    stack: list[tuple[int, int]] = []  # events that run, and when they end: never after what is around them
    first_row: dict[int, int] = {}
    leaves = set(members)
    at = 0

    def part(event: int, until: int, *, is_last: bool) -> None:
        is_leaf = event in leaves
        if until > at or (is_last and is_leaf):
            may_wait = not is_leaf or "wait" in name[event]
            nodes.add(name[event], NodeKind.HOST, lane, at, until, may_wait)

    def leave(until: int | None) -> None:
        nonlocal at
        while stack and (until is None or stack[-1][1] <= until):
            event, stop = stack.pop()
            part(event, stop, is_last=True)
            at = max(at, stop)
            nodes.event_rows[event] = (first_row[event], len(nodes.name))

    for event in members:
        leave(begin[event])
        stop = end[event]
        if stack:
            outer, outer_stop = stack[-1]
            leaves.discard(outer)
            part(outer, begin[event], is_last=False)
            nodes.parent[event] = outer
            stop = min(stop, outer_stop)
        at = begin[event]
        first_row[event] = len(nodes.name)
        stack.append((event, stop))
    leave(None)


def join_backward(nodes: RankNodes, main: int) -> None:
    """Let a thread of autograd begin with its caller, and the caller go on when the thread is done.

    A caller waits while its backward pass runs on another thread: the rows of that thread lie in a pause of
    it.
    """
    for thread, rows in nodes.threads.items():
        if thread != main and any(
            nodes.name[row].startswith(_BACKWARD) for row in range(rows.first, rows.last)
        ):
            _join(nodes, main, thread)


def _join(nodes: RankNodes, caller: int, thread: int) -> None:
    for before, after, pause_begin, pause_end in _pauses(nodes, caller):
        first = nodes.next_row(thread, pause_begin)
        last = nodes.ended(thread, pause_end)
        if first < 0 or last < first:
            continue
        if before >= 0:
            nodes.add_before(first, before)
        if after is not None:
            nodes.add_before(after, last)


def _pauses(nodes: RankNodes, thread: int) -> Sequence[tuple[int, int | None, int, int]]:
    """Return the row before, the row after, begin and end of each pause of a thread."""
    rows = nodes.threads[thread]
    pauses: list[tuple[int, int | None, int, int]] = []
    for row in range(rows.first, rows.last - 1):
        begin, end = nodes.end[row], nodes.begin[row + 1]
        if end - begin >= _LEAST_WAIT_NS:
            pauses.append((row, row + 1, begin, end))
        if nodes.may_wait[row + 1] and nodes.end[row + 1] - nodes.begin[row + 1] >= _LEAST_WAIT_NS:
            pauses.append((row, row + 2 if row + 2 < rows.last else None, begin, nodes.end[row + 1]))
    return pauses
