"""A record of some ranks of a simulation: nodes, messages and tensors with their times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.records import alike
from dse.inputs.strategies import Strategy, axis_of_group
from dse.native import _engine
from dse.simulation.simulators.base import Outcome, RankMetrics

NEVER = -1  # the end of a node that does not end, the death of a tensor that no node reads


@dataclass(frozen=True)
class RecordedGroup:
    """A communicator: its name, its members in order, and its parallel axis if that is known.

    The name is empty for all ranks; `members` is empty too where collectives run over network dimensions.
    """

    name: str
    members: tuple[int, ...]
    axis: str | None
    dimensions: tuple[int, ...] = ()

    def title(self, most: int = 8) -> str:
        """Name for people, such as "tp group {0,1,2,3}", with the first and last of many members."""
        kind = self.axis or "comm"
        if self.dimensions:
            return f"{kind} over network dimensions {', '.join(map(str, self.dimensions))}"
        ranks = list(map(str, self.members))
        if len(ranks) > most:
            ranks = [*ranks[: most - 2], "…", ranks[-1]]
        return f"{kind} group {{{','.join(ranks)}}}"


class RecordedNode(NamedTuple):
    """An issued node. Times are in ns; `end_ns` is NEVER for a node that does not end.

    `kind` is compute, send, receive, memory load, memory store, invalid, or the type of a collective.
    `bound` is what limits a compute node on the roofline, "compute" or "memory", else empty. For a receive,
    `message_ns` is when its message left the peer's node `peer_node`. Both are NEVER if it never did, or if
    all nodes replay recorded durations. `parents` are the nodes that it waited for.
    """

    node: int
    id: int
    name: str
    kind: str
    bound: str
    on_cpu: bool
    start_ns: int
    end_ns: int
    bytes: int
    num_ops: float
    group: RecordedGroup | None
    peer: int
    peer_node: int
    message_ns: int
    parents: tuple[int, ...]


class RecordedTensor(NamedTuple):
    """A tensor as memory is counted: alive from `birth_ns` until before `death_ns`, NEVER if none reads it.

    `is_external`: no node writes it, so it is a weight or an input, and alive from 0.
    """

    name: str
    bytes: int
    birth_ns: int
    death_ns: int
    is_external: bool


@dataclass(frozen=True)
class RankRecording:
    """One rank: its nodes in ascending id, and its tensors (none if memory is not tracked).

    `rank_class` is an index into the outcome's classes, `members` are the ranks of that class. Ranks that
    were simulated class by class have the same times; others of a class have the same figures.
    """

    rank: int
    rank_class: int
    members: tuple[int, ...]
    metrics: RankMetrics | None
    nodes: tuple[RecordedNode, ...]
    tensors: tuple[RecordedTensor, ...]

    def memory_curve(self) -> list[tuple[int, int]]:
        """Return (time_ns, bytes) after the births and deaths of each tick that has any.

        The maximum is the peak memory of the rank.
        """
        changes: defaultdict[int, int] = defaultdict(int)
        for tensor in self.tensors:
            changes[tensor.birth_ns] += tensor.bytes
            if tensor.death_ns != NEVER:
                changes[tensor.death_ns] -= tensor.bytes
        total = 0
        curve = []
        for time_ns in sorted(changes):
            total += changes[time_ns]
            curve.append((time_ns, total))
        return curve


@dataclass(frozen=True)
class Recording:
    """The outcome of a simulation, and the recorded ranks in ascending order of class, then of rank."""

    outcome: Outcome
    ranks: tuple[RankRecording, ...]

    @property
    def wall_time_ns(self) -> int:
        """When the last rank is done.

        Raises:
            InputError: no rank finishes.
        """
        return max(metrics.wall_time_ns for metrics in self._finished())

    def of(self, rank: int) -> RankRecording:
        """Return what was recorded of `rank`, or else of another rank of its class.

        Raises:
            InputError: neither was recorded.
        """
        if not 0 <= rank < self.outcome.rank_count:
            raise InputError(f"rank {rank} does not exist; there are {self.outcome.rank_count} ranks")
        same_class = [r for r in self.ranks if r.rank_class == self.outcome.class_of_rank[rank]]
        if not same_class:
            raise InputError(f"rank {rank} was not recorded, and no rank of its class")
        return next((r for r in same_class if r.rank == rank), same_class[0])

    def last_rank(self) -> RankRecording:
        """Return the rank that finishes last, the lowest on ties.

        Raises:
            InputError: some rank never finishes.
        """
        if self.outcome.status != "ok":
            raise InputError(f"there is no last rank: {self.outcome.reason}")
        return self._first(max(self._finished(), key=lambda metrics: metrics.finish_ns))

    def fullest_rank(self) -> RankRecording:
        """Return the rank with the largest peak of memory, the lowest on ties.

        Raises:
            InputError: no rank finishes, or memory was not tracked.
        """
        fullest = max(self._finished(), key=lambda metrics: metrics.peak_memory_bytes or 0)
        if fullest.peak_memory_bytes is None:
            raise InputError("memory was not tracked; set system.track_local_memory=true")
        return self._first(fullest)

    def _finished(self) -> list[RankMetrics]:
        finished = [metrics for metrics in self.outcome.classes if metrics is not None]
        if not finished:
            raise InputError(f"no rank finishes: {self.outcome.reason}")
        return finished

    def _first(self, metrics: RankMetrics) -> RankRecording:
        return self.of(list(self.outcome.class_of_rank).index(self.outcome.classes.index(metrics)))


def recording_of(native: _engine.Recording, outcome: Outcome, strategy: Strategy | None) -> Recording:
    """Convert the engine's recording; `strategy` tells the axes of the groups."""
    everyone = tuple(range(outcome.rank_count))
    groups = [_group(group, everyone, strategy) for group in native.groups]
    members: list[list[int]] = [[] for _ in outcome.classes]
    for rank, rank_class in enumerate(outcome.class_of_rank):
        members[rank_class].append(rank)
    ranks = [_rank(entry, outcome, members, groups) for entry in native.ranks]
    return Recording(outcome, tuple(sorted(ranks, key=lambda entry: (entry.rank_class, entry.rank))))


def _group(
    group: _engine.RecordedGroup, everyone: tuple[int, ...], strategy: Strategy | None
) -> RecordedGroup:
    if group.by_dimension:
        mask = group.dimension_mask
        return RecordedGroup(group.name, (), None, tuple(d for d in range(64) if mask >> d & 1))
    members = tuple(group.members) or everyone
    axis = None if strategy is None else axis_of_group(group.name, len(members), strategy)
    return RecordedGroup(group.name, members, axis)


def _rank(
    native: _engine.RankRecording,
    outcome: Outcome,
    members: Sequence[Sequence[int]],
    groups: Sequence[RecordedGroup],
) -> RankRecording:
    rank_class = outcome.class_of_rank[native.rank]
    nodes = tuple(
        alike(RecordedNode, n, group=groups[n.group] if n.group >= 0 else None, parents=tuple(n.parents))
        for n in native.nodes
    )
    tensors = tuple(
        RecordedTensor(t.name, t.bytes, t.birth_ns, t.death_ns, t.external) for t in native.tensors
    )
    return RankRecording(
        native.rank, rank_class, tuple(members[rank_class]), outcome.classes[rank_class], nodes, tensors
    )
