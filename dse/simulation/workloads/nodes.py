"""Nodes of execution traces that are written by hand: computation of a given time, messages, collectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from dse.base.trace_nodes import (
    BOOL,
    COLLECTIVE,
    COLLECTIVE_TYPES,
    COMPUTE,
    INT32,
    INT64,
    RECEIVE,
    SEND,
    STRING,
    UINT64,
    TraceNode,
    trace_node,
)

TRACE_TFLOPS = 1.0
"""Peak performance at which the operations of a compute node take its time to the nanosecond."""

MessageEnd = Literal["send", "receive"]


def compute_node(number: int, ns: int, after: Sequence[int], name: str | None = None) -> TraceNode:
    """Return a computation of at least 1 ns; `after` are the nodes that it waits for, as everywhere here."""
    # Half a nanosecond more: the quotient is cut to whole nanoseconds.
    operations = round((ns + 0.5) * TRACE_TFLOPS * 1000)
    attributes = {"num_ops": (INT64, operations), "tensor_size": (UINT64, 1)}
    return {
        **_node(number, COMPUTE, name or f"compute_{number}", after, attributes),
        "duration_micros": max(1, round(ns / 1000)),
    }


def collective_node(
    number: int, name: str, kind: str, size: int, group: str | None, after: Sequence[int]
) -> TraceNode:
    """Return a collective of `size` bytes of a communicator group; None is all ranks."""
    attributes: dict[str, Any] = {"comm_type": (INT64, COLLECTIVE_TYPES[kind]), "comm_size": (INT64, size)}
    if group is not None:
        attributes["pg_name"] = (STRING, group)
    return _node(number, COLLECTIVE, name, after, attributes)


def message_node(
    number: int,
    name: str,
    kind: MessageEnd,
    tag: int,
    peer: int,
    size: int,
    after: Sequence[int],
) -> TraceNode:
    """Return one end of a message of `size` bytes to or from the rank `peer`."""
    is_send = kind == "send"
    attributes = {
        "comm_size": (INT64, size),
        "comm_tag": (INT32, tag),
        "comm_dst" if is_send else "comm_src": (INT32, peer),
    }
    return _node(number, SEND if is_send else RECEIVE, name, after, attributes)


def _node(number: int, kind: int, name: str, after: Sequence[int], attributes: dict[str, Any]) -> TraceNode:
    return trace_node(number, kind, name, after, {**attributes, "is_cpu_op": (BOOL, False)})
