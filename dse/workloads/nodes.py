"""Nodes of execution traces that are written by hand: computation of a given time, messages, collectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from dse import _engine

TRACE_TFLOPS = 1.0
"""Peak performance at which the operations of a compute node take its time to the nanosecond."""

TraceNode = dict[str, Any]
MessageEnd = Literal["send", "receive"]

_COMPUTE, _SEND, _RECEIVE, _COLLECTIVE = 4, 5, 6, 7
_INT32, _INT64, _UINT64, _BOOL, _STRING = 7, 9, 13, 27, 29
_KINDS = {"all_reduce": 0, "all_gather": 2, "all_to_all": 6, "reduce_scatter": 7}


def compute_node(number: int, ns: int, after: Sequence[int], name: str | None = None) -> TraceNode:
    """Return a computation of at least 1 ns; `after` are the nodes that it waits for, as everywhere here."""
    # Half a nanosecond more: the quotient is cut to whole nanoseconds.
    operations = round((ns + 0.5) * TRACE_TFLOPS * 1000)
    attributes = {"num_ops": (_INT64, operations), "tensor_size": (_UINT64, 1)}
    return {
        **_node(number, _COMPUTE, name or f"compute_{number}", after, attributes),
        "duration_micros": max(1, round(ns / 1000)),
    }


def collective_node(
    number: int, name: str, kind: str, size: int, group: str, after: Sequence[int]
) -> TraceNode:
    """Return a collective of `size` bytes of a communicator group."""
    attributes = {
        "comm_type": (_INT64, _KINDS[kind]),
        "comm_size": (_INT64, size),
        "pg_name": (_STRING, group),
    }
    return _node(number, _COLLECTIVE, name, after, attributes)


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
        "comm_size": (_INT64, size),
        "comm_tag": (_INT32, tag),
        "comm_dst" if is_send else "comm_src": (_INT32, peer),
    }
    return _node(number, _SEND if is_send else _RECEIVE, name, after, attributes)


def trace_of(nodes: Sequence[TraceNode]) -> bytes:
    """Return the contents of the trace file of one rank."""
    return _engine.trace_file(list(nodes)).encode()


def _node(number: int, kind: int, name: str, after: Sequence[int], attributes: dict[str, Any]) -> TraceNode:
    return {
        "id": number,
        "name": name,
        "type": kind,
        "duration_micros": 0,
        "ctrl_deps": [],
        "data_deps": list(after),
        "attributes": {**attributes, "is_cpu_op": (_BOOL, False)},
    }
