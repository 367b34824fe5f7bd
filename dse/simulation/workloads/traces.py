"""A workload in memory; execution traces (.et) and communicator-group files in and out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dse.base.cancellation import current_cancellation
from dse.base.errors import InputError, excerpt
from dse.base.files import write_files
from dse.base.plain_data import load_json_object
from dse.native import _engine
from dse.simulation.workloads.references import DEFAULT_REFERENCE, Reference

GROUPS_FILE = "comm_group.json"
IssueOrder = Literal["reference", "safe"]
_NOT_KEPT = "the workload was read from trace files and is not kept in a form to write again; use its files"


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
    """A simulator's input: one trace per rank class, held by the engine, and the communicator groups.

    `is_fractional`: some size does not divide, and its shards are cut to whole numbers as STAGE does.
    `issue_order` holds where the system leaves it open (`SystemSpec.issue_order`).
    """

    native: _engine.Workload
    is_fractional: bool = field(default=False, kw_only=True)
    issue_order: IssueOrder = field(default="reference", kw_only=True)

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

    def trace_bytes(self, rank: int) -> bytes:  # noqa: ARG002
        """The bytes of the rank's .et file.

        Raises:
            InputError: they are not kept: the workload was read from files.
        """
        raise InputError(_NOT_KEPT)

    def groups_json(self) -> str:
        """The text of the communicator-group file; raises as `trace_bytes`."""
        raise InputError(_NOT_KEPT)

    def export(self, folder: Path, name: str = "trace") -> list[Path]:
        """Write `<folder>/<name>.<rank>.et` for each rank and the groups file; return the paths.

        Raises:
            InputError: the folder cannot be written, or see `trace_bytes`.
        """
        return write_files(folder, self.files(name))

    def files(self, name: str = "trace") -> Iterator[tuple[str, bytes]]:
        """Yield the names and bytes of the files of `export`, made one by one; raises as `trace_bytes`."""
        groups = self.groups_json().encode()
        for rank in range(self.rank_count):
            yield f"{name}.{rank}.et", self.trace_bytes(rank)
        yield GROUPS_FILE, groups


@dataclass(frozen=True)
class ImportedWorkload(Workload):
    """A workload that keeps the traces of which it was made, so that they can be written again."""

    traces: tuple[bytes, ...]
    groups: tuple[tuple[str, tuple[int, ...]], ...]

    def trace_bytes(self, rank: int) -> bytes:
        """See `Workload.trace_bytes`."""
        return self.traces[rank]

    def groups_json(self) -> str:
        """See `Workload.groups_json`."""
        return json.dumps(dict(self.groups))


def read_workload(
    trace_files: Sequence[Path],
    groups: dict[str, list[int]] | None = None,
    *,
    reference: Reference = DEFAULT_REFERENCE,
) -> Workload:
    """Read the traces of ranks 0, 1, … as `reference` does, and resolve their communicator groups.

    Raises:
        InputError: an unreadable, truncated or malformed file (file, byte offset, reason), a node without a
            required attribute, a dependency on a missing node, an unknown group, a rank named twice.
    """
    paths = [str(path) for path in trace_files]
    return Workload(
        _engine.read_workload(paths, list((groups or {}).items()), current_cancellation(), reference)
    )


def workload_of(
    traces: Sequence[bytes],
    groups: dict[str, list[int]] | None = None,
    *,
    is_fractional: bool = False,
    reference: Reference = DEFAULT_REFERENCE,
) -> ImportedWorkload:
    """Make a workload of the contents of the trace files of ranks 0, 1, … in order.

    Raises:
        InputError: as `read_workload`; a trace is called `rank <n>` in messages.
    """
    names = [f"rank {rank}" for rank in range(len(traces))]
    native = _engine.import_workload(
        list(traces), names, list((groups or {}).items()), current_cancellation(), reference
    )
    members = tuple((name, tuple(ranks)) for name, ranks in (groups or {}).items())
    return ImportedWorkload(native, tuple(traces), members, is_fractional=is_fractional)


def read_groups(path: Path) -> dict[str, list[int]]:
    """Read a communicator-group file: a JSON object of ordered lists of ranks.

    Raises:
        InputError: names the file, the group, what was got and what is allowed.
    """
    groups = load_json_object(path)
    for name, members in groups.items():
        group = f"{path}: group '{excerpt(name)}'"
        if not isinstance(members, list) or not members:
            raise InputError(f"{group} is {excerpt(repr(members))}; it must be a list of at least one rank")
        seen: set[int] = set()
        for rank in members:
            if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < 2**32:
                raise InputError(f"{group} has the member {excerpt(repr(rank))}; members are ranks from 0")
            if rank in seen:
                raise InputError(f"{group} names rank {rank} twice; a rank is a member once")
            seen.add(rank)
    return groups
