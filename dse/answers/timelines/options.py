"""Options of a timeline: what it shows, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dse.base.errors import InputError

_FEWEST_EVENTS = 100


@dataclass(frozen=True)
class TimelineOptions:
    """`max_events` bounds the file: an event takes about 200 bytes. `classes` None shows all rank classes.

    What exceeds the bound is dropped in this order: flows into the shortest nodes, the shortest nodes, the
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
