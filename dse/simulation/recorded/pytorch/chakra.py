"""Traces that mlc-chakra converted: durations and dependencies, without any time of day.

The recorded step of nodes that mlc-chakra converted: lanes, communications, and what the files lack.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dse.base.errors import InputError
from dse.base.texts import counted
from dse.base.trace_nodes import COLLECTIVE, COMPUTE, RECEIVE, SEND
from dse.native import _engine
from dse.simulation.recorded.pytorch.pairs import digits_of
from dse.simulation.recorded.step import Communication, Lane, NodeKind, RecordedStep

_METADATA = 1
_MOST_MICROS = 2**50
_KINDS = {SEND: NodeKind.SEND, RECEIVE: NodeKind.RECEIVE, COLLECTIVE: NodeKind.COLLECTIVE}


def read_chakra(paths: Sequence[Path]) -> RecordedStep:
    """Return the step in `.et` files of mlc-chakra, one of each rank, in the order of numbers in their names.

    Raises:
        InputError: a file is malformed, its nodes wait for each other in a circle, or nothing in it has a
        duration.
    """
    files = sorted(paths, key=lambda path: (digits_of(path), path.name))
    ranks = [_ordered(path, _rows(path)) for path in files]
    return ChakraStep(ranks).step()


def _rows(path: Path) -> dict[int, Row]:
    """Return the nodes of a file by their ids, but for metadata."""
    try:
        nodes = _engine.read_trace_file(str(path)).nodes()
    except (RuntimeError, UnicodeError):  # what the binding says of bytes that are no text
        raise InputError(f"{path}: a name or a text of a node is not UTF-8") from None
    rows: dict[int, Row] = {}
    for row in nodes:
        if row["type"] == _METADATA:
            continue
        if row["id"] in rows:
            raise InputError(f"{path}: two nodes have the id {row['id']}; every node has one of its own")
        if not 0 <= row["duration_micros"] < _MOST_MICROS:
            raise InputError(
                f"{path}: node {row['id']} takes {row['duration_micros']} µs; allowed are 0 to 2^50"
            )
        rows[row["id"]] = row
    if not any(row["duration_micros"] for row in rows.values()):
        raise InputError(
            f"{path}: no node has a duration; convert an execution trace that chakra_trace_link has "
            "linked with Kineto"
        )
    return rows


def _ordered(path: Path, rows: Mapping[int, Row]) -> list[ChakraNode]:
    """Return nodes, each after the ones that it waits for, else in the order of their ids."""
    needs = {key: {*row["ctrl_deps"], *row["data_deps"]} & rows.keys() for key, row in rows.items()}
    after: dict[int, list[int]] = {key: [] for key in rows}
    for key, others in needs.items():
        for other in others:
            after[other].append(key)
    waiting = {key: len(others) for key, others in needs.items()}
    ready = [key for key, count in waiting.items() if not count]
    heapq.heapify(ready)
    place: dict[int, int] = {}
    found: list[ChakraNode] = []
    while ready:
        key = heapq.heappop(ready)
        place[key] = len(found)
        before = tuple(sorted(place[other] for other in needs[key]))
        found.append(ChakraNode(rows[key], _kind(rows[key]), before))
        for other in after[key]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, other)
    if len(found) < len(rows):
        blocked = min(key for key in rows if key not in place)
        raise InputError(f"{path}: node {blocked} waits for itself, through nodes that wait for each other")
    return found


def _kind(row: Row) -> NodeKind:
    if row["type"] == COMPUTE:
        return NodeKind.HOST if value_of(row, "is_cpu_op", True) else NodeKind.KERNEL
    return _KINDS.get(row["type"], NodeKind.HOST)


_COLLECTIVES = {
    0: "all_reduce", 1: "reduce", 2: "all_gather", 3: "gather", 4: "scatter", 5: "broadcast", 6: "all_to_all",
    7: "reduce_scatter", 8: "reduce_scatter", 9: "barrier",
}  # fmt: skip
_COMMUNICATIONS = (NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECEIVE)
_MOST_BYTES = 2**62


Row = dict[str, Any]
"""A node as the engine's reader of the format gives it."""


class ChakraNode(NamedTuple):
    """A node of a file, with the places of the nodes that it waits for, which are before it."""

    row: Row
    kind: NodeKind
    before: tuple[int, ...]


def value_of(row: Row, name: str, default: Any) -> Any:
    """Return an attribute of a node; `default` where it has none."""
    kind_and_value = row["attributes"].get(name)
    return default if kind_and_value is None or kind_and_value[1] is None else kind_and_value[1]


class ChakraStep:
    """Columns of a step, made of the nodes of one file after the other."""

    def __init__(self, ranks: Sequence[Sequence[ChakraNode]]) -> None:
        self.ranks = ranks
        self.lanes: dict[tuple[int, str], int] = {}
        self.names: dict[str, int] = {}
        self.rows: list[tuple[int, int, int, int, int]] = []  # name, kind, lane, start, duration
        self.before, self.before_first = list[int](), [0]
        self.members: dict[tuple[str, ...], dict[int, tuple[int, int]]] = {}
        """The rank, the node and the size of a communication, by kind, group and order."""

    def step(self) -> RecordedStep:
        """Return the step. Starts are those of a rank that waits for no other."""
        first = [0]
        for rank, nodes in enumerate(self.ranks):
            self._add(rank, nodes)
            first.append(len(self.rows))
        communication = np.full(len(self.rows), -1, np.int32)
        communications = tuple(self._communications(communication))
        columns = np.array(self.rows, np.int64).reshape(-1, 5)
        return RecordedStep(
            world_size=len(self.ranks),
            ranks=tuple(range(len(self.ranks))),
            rank_first=np.array(first, np.int64),
            names=tuple(self.names),
            name=columns[:, 0].astype(np.int32),
            kind=columns[:, 1].astype(np.uint8),
            lanes=tuple(Lane(rank, name, name.startswith("stream")) for rank, name in self.lanes),
            lane=columns[:, 2].astype(np.int32),
            start_ns=columns[:, 3],
            duration_ns=columns[:, 4],
            gap_ns=np.zeros(len(self.rows), np.int64),
            before_first=np.array(self.before_first, np.int64),
            before=np.array(self.before, np.int64),
            communication=communication,
            waits=communication >= 0,
            communications=communications,
            measured_ns=np.zeros(len(self.ranks), np.int64),
            clocks_agree=False,
            notes=self._notes(len(communications)),
        )

    def _add(self, rank: int, nodes: Sequence[ChakraNode]) -> None:
        first, ends = len(self.rows), list[int]()
        free: dict[int, int] = {}
        counts: dict[tuple[str, ...], int] = {}
        for node in nodes:
            lane = self.lanes.setdefault((rank, _lane(node)), len(self.lanes))
            start = max([free.get(lane, 0), *(ends[other] for other in node.before)])
            end = start + 1000 * int(node.row["duration_micros"])
            if node.kind in _COMMUNICATIONS:
                key = _key(rank, node)
                at = counts[key] = counts.get(key, -1) + 1
                size = value_of(node.row, "comm_size", 0)
                size = size if isinstance(size, int) and 0 <= size < _MOST_BYTES else 0
                self.members.setdefault((*key, str(at)), {})[rank] = (len(self.rows), size)
            name = self.names.setdefault(node.row["name"], len(self.names))
            self.rows.append((name, node.kind, lane, start, end - start))
            self.before += [first + other for other in node.before]
            self.before_first.append(len(self.before))
            free[lane] = end
            ends.append(end)

    def _communications(self, communication: Any) -> list[Communication]:
        found: list[Communication] = []
        for (kind, group, *_), nodes in self.members.items():
            members = tuple(nodes)
            numbers = tuple(sorted(number for number, _ in nodes.values()))
            communication[list(numbers)] = len(found)
            size = max(size for _, size in nodes.values())
            found.append(Communication(kind, size, group, members, numbers))
            shortest = min(self.rows[number][4] for number in numbers)
            for number in numbers:  # no clock says who began last
                self.rows[number] = (*self.rows[number][:4], shortest)
        return found

    def _notes(self, communications: int) -> tuple[str, ...]:
        notes = [
            "traces of mlc-chakra have no time of day: the measured time of the step and the pauses of "
            "the host are not in them, so that nothing tells how well they replay",
            "durations are cut to whole µs: up to 1 µs is missing of every node",
        ]
        if not communications:
            notes.append(
                "no communication: mlc-chakra knows only kernels of NCCL, so that gloo's work is work of "
                "the host, with the waiting for other ranks in it; give the execution traces and Kineto "
                "traces instead"
            )
        else:
            notes.append(
                "collectives of a process group of the same name matched in their order; its ranks are "
                "those that use it, and the least duration of any of them is taken"
            )
        if len(self.ranks) > 1:
            notes.append(
                f"{counted(len(self.ranks), 'rank')} in the order of the numbers in the names of the files"
            )
        return tuple(notes)


def _lane(node: ChakraNode) -> str:
    if node.kind is NodeKind.HOST:
        return f"thread {value_of(node.row, 'tid', 0)}"
    return f"stream {value_of(node.row, 'stream', 0)}"


def _key(rank: int, node: ChakraNode) -> tuple[str, ...]:
    group = str(value_of(node.row, "pg_name", ""))
    if node.kind is NodeKind.COLLECTIVE:
        number = value_of(node.row, "comm_type", -1)
        return (_COLLECTIVES.get(number, "all_reduce") if isinstance(number, int) else "all_reduce", group)
    source = rank if node.kind is NodeKind.SEND else value_of(node.row, "comm_src", -1)
    target = rank if node.kind is NodeKind.RECEIVE else value_of(node.row, "comm_dst", -1)
    return ("message", group, str(source), str(target))
