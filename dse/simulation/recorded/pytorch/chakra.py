"""Traces that mlc-chakra converted: durations and dependencies, without any time of day."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from pathlib import Path

from dse.base.errors import InputError
from dse.base.trace_nodes import COLLECTIVE, COMPUTE, RECEIVE, SEND
from dse.native import _engine
from dse.simulation.recorded.pytorch.chakra_step import ChakraNode, ChakraStep, Row, value_of
from dse.simulation.recorded.pytorch.pairs import digits_of
from dse.simulation.recorded.step import NodeKind, RecordedStep

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
