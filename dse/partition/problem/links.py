"""Figures of edges and links with their defaults filled in."""

from __future__ import annotations

from collections.abc import Sequence

from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.problem import Devices

Matrix = Sequence[Sequence[float]]


def distance(devices: Devices) -> Matrix:
    """Return `distance`; without one every pair of different devices is at distance 1."""
    if devices.distance:
        return devices.distance
    return [[float(a != b) for b in range(devices.count)] for a in range(devices.count)]


def filled(matrix: Matrix, count: int) -> Matrix:
    """Return a matrix of links; without one links are free."""
    return matrix or [[0.0] * count for _ in range(count)]


def speeds(devices: Devices) -> Sequence[float]:
    """Return `speeds`; without them all are 1."""
    return devices.speeds or (1.0,) * devices.count


def carried(graph: ModelGraph, default: float) -> Sequence[float]:
    """Return the bytes of each edge, `default` each where the graph does not say."""
    return graph.edge_bytes or (default,) * len(graph.edges)


def tensors(graph: ModelGraph) -> Sequence[int]:
    """Return the tensor of each edge; without them each edge has its own."""
    return graph.edge_tensors or range(len(graph.edges))
