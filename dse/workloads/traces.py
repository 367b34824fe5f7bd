"""A workload in memory, and reading one from execution traces (.et) and a communicator-group file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dse import _engine
from dse.errors import InputError
from dse.files import load_json_object


@dataclass(frozen=True)
class TraceCounts:
    """Sums over the trace of one rank: nodes by kind, operations, bytes, dependencies."""

    nodes: int
    comp: int
    coll: int
    send: int
    recv: int
    num_ops: int
    tensor_size: int
    comm_bytes: int
    data_deps: int
    ctrl_deps: int


@dataclass(frozen=True)
class Workload:
    """What a simulator runs: one trace a rank class, held by the engine, and the communicator groups."""

    native: _engine.Workload

    @property
    def rank_count(self) -> int:
        """Number of ranks, one for each NPU."""
        return self.native.rank_count

    @property
    def communicator_group_count(self) -> int:
        """Number of entries of the groups file."""
        return self.native.communicator_group_count

    def counts(self, rank: int) -> TraceCounts:
        """Sums over the trace of `rank`."""
        return TraceCounts(**self.native.counts(rank))


def read_workload(trace_files: Sequence[Path], groups: dict[str, list[int]] | None = None) -> Workload:
    """Read the traces of ranks 0, 1, … and resolve their communicator groups.

    Raises:
        InputError: an unreadable, truncated or malformed file (file, byte offset, reason), a node without a
            required attribute, a dependency on a missing node, an unknown group, a rank named twice.
    """
    paths = [str(path) for path in trace_files]
    return Workload(_engine.read_workload(paths, list((groups or {}).items())))


def workload_of(traces: Sequence[bytes], groups: dict[str, list[int]] | None = None) -> Workload:
    """Make a workload of the contents of the trace files of ranks 0, 1, … in order.

    Raises:
        InputError: as `read_workload`; a trace is called `rank <n>` in messages.
    """
    names = [f"rank {rank}" for rank in range(len(traces))]
    return Workload(_engine.import_workload(list(traces), names, list((groups or {}).items())))


def read_groups(path: Path) -> dict[str, list[int]]:
    """Read a communicator-group file: a JSON object of ordered lists of ranks.

    Raises:
        InputError: names the file, the group, what was got and what is allowed.
    """
    groups = load_json_object(path)
    for name, members in groups.items():
        if not isinstance(members, list) or not members:
            raise InputError(f"{path}: group '{name}' is {members!r}; it must be a list of at least one rank")
        for rank in members:
            if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < 2**32:
                raise InputError(f"{path}: group '{name}' has the member {rank!r}; members are ranks from 0")
        twice = next((rank for i, rank in enumerate(members) if rank in members[:i]), None)
        if twice is not None:
            raise InputError(f"{path}: group '{name}' names rank {twice} twice; a rank is a member once")
    return groups
