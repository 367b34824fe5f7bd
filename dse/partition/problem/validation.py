"""Checks of a partition problem, made before anything is searched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.base.errors import InputError
from dse.partition.graphs.graph import LARGEST
from dse.partition.problem.constraints import InfeasiblePartition, find_cycle, node_name
from dse.partition.problem.problem import OBJECTIVES, PartitionProblem

ORDERED = ("pipeline_bottleneck", "latency")


def validate(problem: PartitionProblem) -> None:
    """Raise InputError that names what is wrong, or InfeasiblePartition where devices are too many."""
    if problem.objective not in OBJECTIVES:
        raise InputError(f"objective={problem.objective}: allowed are {', '.join(OBJECTIVES)}")
    _validate_graph(problem)
    _validate_devices(problem)
    _validate_constraints(problem)
    count, nodes = problem.devices.count, problem.graph.nodes
    if problem.objective == "sharding_cost" and nodes < count:
        raise InfeasiblePartition(
            f"{nodes} nodes on {count} devices: sharding_cost needs a node on every device; use at most"
            f" {nodes} devices",
            nodes,
            1,
            0,
        )
    if problem.objective in ORDERED:
        cycle = find_cycle(nodes, problem.graph.edges)
        if cycle:
            some = " -> ".join(
                str(node) for node in [*cycle[:8], *(["…"] if len(cycle) > 8 else []), cycle[0]]
            )
            raise InputError(
                f"the graph has a cycle ({some}): {problem.objective} needs an order; "
                "sharding_cost and process_mapping do not"
            )


def _numbers(name: str, values: Sequence[float], positive: bool = False) -> None:
    if values and _are_numbers(np.asarray(values), positive):
        return
    for index, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise InputError(f"{name}[{index}]={value!r}: a finite number is needed")
        if value < 0 or (positive and value == 0):
            raise InputError(
                f"{name}[{index}]={value:g}: it must be {'above 0' if positive else '0 or more'}"
            )
        if value > LARGEST or (positive and value < 1 / LARGEST):
            limit = f"at most {LARGEST:g}" if value > LARGEST else f"at least {1 / LARGEST:g}"
            raise InputError(f"{name}[{index}]={value:g}: it must be {limit}")


def _are_numbers(values: Any, positive: bool = False) -> bool:
    """Whether all is well, for many numbers at once."""
    return bool(
        values.dtype.kind in "iuf"
        and np.isfinite(values).all()
        and (values >= 1 / LARGEST if positive else values >= 0).all()
        and (values <= LARGEST).all()
    )


def _length(name: str, values: Sequence[object], length: int, of: str) -> None:
    if values and len(values) != length:
        raise InputError(f"{name} has {len(values)} entries, not {length}: one for each {of}")


def _validate_graph(problem: PartitionProblem) -> None:
    graph = problem.graph
    if not graph.nodes:
        raise InputError("the graph has no nodes")
    _numbers("node_weights", graph.node_weights)
    for index, edge in enumerate(graph.edges):
        if len(edge) != 2 or not (_is_index(edge[0], graph.nodes) and _is_index(edge[1], graph.nodes)):
            raise InputError(
                f"edges[{index}]={list(edge)}: two nodes between 0 and {graph.nodes - 1} are needed"
            )
    _length("edge_bytes", graph.edge_bytes, len(graph.edges), "edge")
    _numbers("edge_bytes", graph.edge_bytes)
    _length("edge_tensors", graph.edge_tensors, len(graph.edges), "edge")
    _length("memory_bytes", graph.memory_bytes, graph.nodes, "node")
    _numbers("memory_bytes", graph.memory_bytes)
    _length("names", graph.names, graph.nodes, "node")
    _validate_tensors(problem)


def _validate_tensors(problem: PartitionProblem) -> None:
    graph = problem.graph
    first: dict[int, int] = {}
    for edge, tensor in enumerate(graph.edge_tensors):
        other = first.setdefault(tensor, edge)
        if graph.edges[other][0] != graph.edges[edge][0]:
            raise InputError(
                f"edge_tensors[{edge}]={tensor}: a tensor has one source, "
                f"not nodes {graph.edges[other][0]} and {graph.edges[edge][0]}"
            )
        if graph.edge_bytes and graph.edge_bytes[other] != graph.edge_bytes[edge]:
            raise InputError(
                f"edge_bytes[{edge}]={graph.edge_bytes[edge]:g}: tensor {tensor} has "
                f"{graph.edge_bytes[other]:g} bytes on edge {other}"
            )


def _is_index(value: object, below: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def _validate_devices(problem: PartitionProblem) -> None:
    devices = problem.devices
    if isinstance(devices.count, bool) or not isinstance(devices.count, int) or devices.count < 1:
        raise InputError(f"devices={devices.count!r}: a whole number of at least 1 is needed")
    for name in ("distance", "latency_ns", "ns_per_byte"):
        _validate_matrix(name, getattr(devices, name), devices.count)
    _length("speeds", devices.speeds, devices.count, "device")
    _numbers("speeds", devices.speeds, positive=True)
    _length("memory_bytes of devices", devices.memory_bytes, devices.count, "device")
    _numbers("memory_bytes of devices", devices.memory_bytes)
    _length("names of devices", devices.names, devices.count, "device")
    if devices.tiers and math.prod(devices.tiers) != devices.count:
        product = " x ".join(str(tier) for tier in devices.tiers)
        raise InputError(f"tiers {product} are {math.prod(devices.tiers)} devices, not {devices.count}")


def _validate_matrix(name: str, rows: Sequence[Sequence[float]], count: int) -> None:
    if not rows:
        return
    widths = [len(row) for row in rows]
    if len(rows) != count or any(width != count for width in widths):
        odd = next((width for width in widths if width != len(rows)), widths[0])
        raise InputError(
            f"{name} has {len(rows)} rows, and a row of {odd} entries: "
            f"it must be square, {count} x {count} for {count} devices"
        )
    matrix = np.array(rows)
    np.fill_diagonal(matrix, 0)
    if _are_numbers(matrix):
        return
    for a, row in enumerate(rows):
        _numbers(f"{name}[{a}]", [value if a != b else 0.0 for b, value in enumerate(row)])


def _validate_constraints(problem: PartitionProblem) -> None:
    graph, count = problem.graph, problem.devices.count
    for node, device in problem.pinned.items():
        if not _is_index(node, graph.nodes):
            raise InputError(f"pinned node {node!r}: allowed are 0 to {graph.nodes - 1}")
        if not _is_index(device, count):
            raise InputError(
                f"{node_name(problem, node)} is pinned to device {device!r}: allowed are 0 to {count - 1}"
            )
    for group in problem.together:
        for node in group:
            if not _is_index(node, graph.nodes):
                raise InputError(f"together: node {node!r}; allowed are 0 to {graph.nodes - 1}")
    if not 0 <= problem.imbalance <= LARGEST:
        raise InputError(f"imbalance={problem.imbalance:g}: it must be 0 or more")
