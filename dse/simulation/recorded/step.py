"""One recorded training step of several ranks, as flat arrays: the work of every thread and stream."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from dse.base.lazy import NDArray, np


class NodeKind(IntEnum):
    """The work of a node."""

    HOST = 0  # an operator, or a part of one, on a thread of the host
    KERNEL = 1  # a kernel or a copy on a stream of a device
    COLLECTIVE = 2
    SEND = 3
    RECEIVE = 4


@dataclass(frozen=True)
class Lane:
    """A thread or a stream of a rank: its nodes run one at a time, in their order."""

    rank: int
    name: str
    is_device: bool


@dataclass(frozen=True)
class Communication:
    """One collective or message: the ranks that take part, and their nodes as far as they were recorded.

    `kind` is `all_reduce`, `all_gather`, `reduce_scatter`, `all_to_all`, `broadcast`, `reduce`, `gather`,
    `scatter`, `barrier` or `message` (a send and its receive). `size_bytes` is Chakra's `comm_size`: the
    bytes of a rank's input. `nodes` are in the order of the recorded members.
    """

    kind: str
    size_bytes: int
    group: str
    members: tuple[int, ...]
    nodes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class RecordedStep:
    """One step of `world_size` ranks, of which `ranks` (ascending) were recorded.

    Nodes are in order of their rank, then of their measured start; `rank_first` (ranks + 1) says where a
    rank begins. A node begins when the node before it in its `lane` and all of `before` (compressed rows,
    `before_first`) have ended, and then `gap_ns` of the host have passed, which no node explains. It lasts
    `duration_ns`. A node with `waits` also waits until every recorded node of its `communication` (-1: none)
    could begin; only then `duration_ns` runs. `before` names nodes of the same rank, with lower numbers.

    `start_ns` is measured, from the start of the step; `clocks_agree` says whether that of two ranks can be
    compared: then all count from one begin. `measured_ns` is when the step of each recorded rank ended,
    measured as `start_ns` is; 0 if the files do not say it. `notes` say what was assumed, dropped or is
    missing, a sentence each.
    """

    world_size: int
    ranks: tuple[int, ...]
    rank_first: NDArray[np.int64]
    names: tuple[str, ...]
    name: NDArray[np.int32]
    kind: NDArray[np.uint8]
    lanes: tuple[Lane, ...]
    lane: NDArray[np.int32]
    start_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    gap_ns: NDArray[np.int64]
    before_first: NDArray[np.int64]
    before: NDArray[np.int64]
    communication: NDArray[np.int32]
    waits: NDArray[np.bool_]
    communications: tuple[Communication, ...]
    measured_ns: NDArray[np.int64]
    clocks_agree: bool
    notes: tuple[str, ...]

    @property
    def node_count(self) -> int:
        """Number of nodes of all recorded ranks."""
        return len(self.name)

    @property
    def missing_ranks(self) -> tuple[int, ...]:
        """The ranks of the step that were not recorded."""
        recorded = set(self.ranks)
        return tuple([rank for rank in range(self.world_size) if rank not in recorded])
