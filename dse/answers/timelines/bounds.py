"""The events kept of a timeline that is larger than its bound: the longest, in their old order."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import Any, TypeVar

from dse.answers.timelines.tracks import Slice
from dse.base.errors import InputError
from dse.simulation.simulators import NEVER, Recording


@dataclass(frozen=True)
class Flow:
    """An arrow from a time in one slice to a time in another, not before it."""

    source: Slice
    target: Slice
    from_ns: int
    to_ns: int
    category: str

    @property
    def places(self) -> set[tuple[int, int]]:
        """Rank class and node of both ends."""
        return {(end.rank_class, end.node.node) for end in (self.source, self.target)}


def flows_of(recording: Recording, slices: Iterable[Slice]) -> Iterator[Flow]:
    """Return the arrows between slices: into each node from those it waited for, and along each message.

    Viewers attach the end of an arrow to the slice that is open at its time, so that slices without duration
    have none, and an arrow leaves a nanosecond before the end of its source.
    """
    of_node = {(s.rank_class, s.node.node): s for s in slices if s.duration_ns > 0}
    for target in of_node.values():
        for parent in target.node.parents:
            source = of_node.get((target.rank_class, parent))
            if source is not None and source.end_ns <= target.start_ns:
                yield Flow(source, target, source.end_ns - 1, target.start_ns, "dependency")
        if target.node.kind == "receive" and target.node.peer_node >= 0:
            sender = recording.outcome.class_of_rank[target.node.peer]
            source = of_node.get((sender, target.node.peer_node))
            if source is not None and source.start_ns < target.end_ns:
                yield Flow(source, target, source.start_ns, target.end_ns - 1, "message")


_Drawn = TypeVar("_Drawn", Slice, Flow)
Step = tuple[int, int, int]  # of a memory curve: rank class, time in ns, bytes


def kept_slices(slices: list[Slice], room: int) -> list[Slice]:
    """Return the longest; what never ends before all others."""
    return _largest(slices, room, lambda drawn: (drawn.node.end_ns == NEVER, drawn.duration_ns))


def kept_steps(steps: list[Step], room: int) -> list[Step]:
    """Return the largest changes of the memory curves; each step that is kept has its exact total."""
    if len(steps) <= room:
        return steps
    peak_of: dict[int, int] = {}
    for rank_class, _, size in steps:
        peak_of[rank_class] = max(peak_of.get(rank_class, 0), size)
    weights = []
    for number, (rank_class, _, size) in enumerate(steps):
        same = number > 0 and steps[number - 1][0] == rank_class
        change = abs(size - steps[number - 1][2]) if same else size
        weights.append((size == peak_of[rank_class], change, -number))
    kept = heapq.nlargest(max(room, 0), weights)
    return [steps[number] for number in sorted(-weight[2] for weight in kept)]


def kept_flows(flows: list[Flow], room: int) -> list[Flow]:
    """Return those into the longest slices, messages first."""
    return _largest(flows, room, lambda flow: (flow.category == "message", flow.target.duration_ns))


def _largest(drawn: list[_Drawn], room: int, size: Callable[[_Drawn], tuple[bool, int]]) -> list[_Drawn]:
    """As many as there is room for, in their order; of equal ones the first."""
    if len(drawn) <= room:
        return drawn
    order = heapq.nlargest(max(room, 0), enumerate(drawn), key=lambda item: (*size(item[1]), -item[0]))
    return [one for _, one in sorted(order, key=itemgetter(0))]


_FEWEST_EVENTS = 100


@dataclass(frozen=True)
class TimelineOptions:
    """`max_events` bounds the file: an event takes about 200 bytes. `classes` None shows all rank classes.

    A file over the bound loses, in this order, flows into the shortest nodes, the shortest nodes, and the
    smallest steps of the memory curve. Names of tracks are never dropped, and not counted.

    Raises:
        InputError: too few events.
    """

    max_events: int = 200_000
    classes: Sequence[int] | None = None
    flows: bool = True

    def __post_init__(self) -> None:
        """Check the bound."""
        if self.max_events < _FEWEST_EVENTS:
            raise InputError(f"max_events is {self.max_events}; it must be at least {_FEWEST_EVENTS}")


@dataclass(frozen=True)
class TimelineSummary:
    """How many events of each sort a file has, and how many were dropped; a flow is a pair of events."""

    slices: int
    counters: int
    flows: int
    dropped_slices: int
    dropped_counters: int
    dropped_flows: int

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def describe(self) -> str:
        """One line for people."""
        shown = f"{self.slices} slices, {self.counters} steps of memory, {self.flows} arrows"
        dropped = self.dropped_slices, self.dropped_counters, self.dropped_flows
        if not any(dropped):
            return shown
        return f"{shown}; {' + '.join(map(str, dropped))} left out, see max_events"
