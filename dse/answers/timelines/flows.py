"""Dependencies and messages as arrows between slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dse.answers.timelines.tracks import Slice
from dse.simulation.simulators import Recording


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
