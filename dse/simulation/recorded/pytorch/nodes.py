"""The nodes of one rank while they are collected: rows that lanes, waits and communications refer to."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dse.simulation.recorded.step import NodeKind

UPDATE = "optimizer: "
"""Before the names of operators and kernels of an optimizer's step, by which their class is known."""


@dataclass(eq=False)
class ThreadRows:
    """The rows of a thread of the host, `first` to `last` - 1, one after the other in time."""

    first: int
    last: int


@dataclass(eq=False)
class RankNodes:
    """Rows of nodes. Rows of a thread follow each other, so that a time finds its row by bisection.

    `may_wait` marks a row in which the thread may wait for others: the rest of an operator around the ones
    that it calls. `event_rows` are the rows of an event with those of the events inside of it.
    """

    name: list[str] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    lane: list[int] = field(default_factory=list)
    begin: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    may_wait: list[bool] = field(default_factory=list)
    before: dict[int, set[int]] = field(default_factory=dict)
    lanes: dict[str, int] = field(default_factory=dict)
    is_device: list[bool] = field(default_factory=list)
    thread_names: Mapping[int, str] = field(default_factory=dict)
    threads: dict[int, ThreadRows] = field(default_factory=dict)
    event_rows: dict[int, tuple[int, int]] = field(default_factory=dict)
    parent: dict[int, int] = field(default_factory=dict)

    def lane_of(self, name: str, *, is_device: bool = False) -> int:
        """Return the number of a lane, which is made if need be."""
        if name not in self.lanes:
            self.lanes[name] = len(self.lanes)
            self.is_device.append(is_device)
        return self.lanes[name]

    def add(self, name: str, kind: NodeKind, lane: int, begin: int, end: int, may_wait: bool = False) -> int:
        """Add a row; return its number."""
        self.name.append(name)
        self.kind.append(kind)
        self.lane.append(lane)
        self.begin.append(begin)
        self.end.append(max(begin, end))
        self.may_wait.append(may_wait)
        return len(self.name) - 1

    def name_updates(self, events: Iterable[int]) -> None:
        """Say in the names of the rows of some events that an optimizer updates parameters there."""
        for row in {row for event in events for row in range(*self.event_rows[event])}:
            self.name[row] = UPDATE + self.name[row]

    def updates(self, event: int) -> bool:
        """Return whether an event is a part of an optimizer's update (`name_updates`)."""
        first, last = self.event_rows.get(event, (0, 0))
        return first < last and self.name[first].startswith(UPDATE)

    def add_before(self, row: int, other: int) -> None:
        """Make a row wait for another one, if it really began after that had ended."""
        if other != row and self.end[other] <= self.begin[row]:
            self.before.setdefault(row, set()).add(other)

    def ended(self, thread: int, time: int, last: int | None = None) -> int:
        """Return the last row of a thread that had ended at a time; -1 if none had."""
        rows = self.threads.get(thread)
        if rows is None:
            return -1
        at = bisect_right(self.end, time, rows.first, rows.last if last is None else last) - 1
        return at if at >= rows.first else -1

    def next_row(self, thread: int, time: int) -> int:
        """Return the first row of a thread that began at a time or later; -1 if none did."""
        rows = self.threads.get(thread)
        if rows is None:
            return -1
        at = bisect_left(self.begin, time, rows.first, rows.last)
        return at if at < rows.last else -1

    def launched_by(self, event: int, thread: int, time: int) -> int:
        """Return the row of an event, or else before it, that had ended when it launched other work.

        -1 where the launch is not in the step.
        """
        if event not in self.event_rows:
            return -1
        return self.ended(thread, time, self.event_rows[event][1])
