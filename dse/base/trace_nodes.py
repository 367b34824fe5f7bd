"""A node of an execution trace as the engine's writer takes it: types of nodes and kinds of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dse.base.lazy import _engine

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7
"""Types of nodes in the format."""

COLLECTIVE_TYPES = {"all_reduce": 0, "all_gather": 2, "all_to_all": 6, "reduce_scatter": 7}
"""Types of the collectives for which a system has algorithms, in the format."""

INT32, INT64, UINT64, BOOL, STRING = 7, 9, 13, 27, 29
"""Kinds of values in the format."""

TraceNode = dict[str, Any]


def trace_node(
    number: int, kind: int, name: str, after: Sequence[int], attributes: Mapping[str, tuple[int, Any]]
) -> TraceNode:
    """Return a node; `after` are the nodes that it waits for, and an attribute is the kind and the value."""
    return {
        "id": number,
        "name": name,
        "type": kind,
        "duration_micros": 0,
        "ctrl_deps": [],
        "data_deps": list(after),
        "attributes": dict(attributes),
    }


def trace_of(nodes: Sequence[TraceNode]) -> bytes:
    """Return the contents of the trace file of one rank."""
    return _engine.trace_file(list(nodes)).encode()
