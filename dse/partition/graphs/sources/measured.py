"""Devices from files: a topology of links as CSV, or a matrix measured between all pairs."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from dse.base.errors import InputError, excerpt
from dse.base.files import read_text
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.csv import read_link_graph
from dse.partition.graphs.graph import LARGEST
from dse.partition.problem.problem import MOST_DEVICES, Devices

Matrix = tuple[tuple[float, ...], ...]
MATRIX_KINDS = ("distance", "bandwidth")
_TYPICAL_BYTES = 1 << 20  # routes are those that a message of this size takes fastest
_LOOK_EVERY = 16  # nodes, between looks at the furthest one


def is_matrix(path: Path) -> bool:
    """Whether a CSV file holds a matrix rather than a topology, whose second line is a header of links."""
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    return not (len(lines) > 1 and lines[1].strip().lower().startswith("src"))


def read_matrix(path: Path, kind: str = "distance") -> Devices:
    """Read a square matrix, a row a line, values parted by commas; the diagonal is not used.

    `bandwidth` is in GB/s (1e9 bytes per second): the distance is then 1 - S / max(S), a byte takes 1 / S ns.

    Raises:
        InputError: a row of another length, a value that is no number from 0, or a bandwidth of 0.
    """
    rows = [
        (number, [cell.strip() for cell in line.split(",")])
        for number, line in enumerate(read_text(path).splitlines(), 1)
        if line.strip()
    ]
    if not rows:
        raise InputError(f"{path}: is empty; it must hold a square matrix")
    _require_few(len(rows), str(path))
    matrix = []
    for at, (number, cells) in enumerate(rows):
        if len(cells) != len(rows):
            raise InputError(
                f"{path}, line {number}: has {len(cells)} values and there are {len(rows)} lines; the matrix "
                "must be square"
            )
        matrix.append(tuple(_value(path, number, cell, at == n) for n, cell in enumerate(cells)))
    return devices_of_matrix(tuple(matrix), kind, str(path))


def devices_of_matrix(matrix: Matrix, kind: str, name: str) -> Devices:
    """Return the devices of a matrix of distances, or of bandwidths in GB/s."""
    count = len(matrix)
    if kind == "distance":
        return Devices(count, matrix)
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    for a, b in pairs:
        if matrix[a][b] < 1 / LARGEST:
            raise InputError(f"{name}: the bandwidth from {a} to {b} is {matrix[a][b]:g}; it must be above 0")
    most = max((matrix[a][b] for a, b in pairs), default=1.0)
    distance = _pairwise(count, lambda a, b: 1 - matrix[a][b] / most)
    each = _pairwise(count, lambda a, b: 1 / matrix[a][b])
    return Devices(count, distance, _pairwise(count, lambda a, b: 0.0), each)  # noqa: ARG005


def read_topology(path: Path, npus: int | None = None) -> Devices:
    """Read a topology of links as `dse synthesize` does; 1 GB/s is 1e9 bytes per second."""
    return devices_of_links(read_link_graph(path, npus), str(path), gb_bytes=10**9)


def devices_of_links(graph: LinkGraph, name: str, gb_bytes: int) -> Devices:
    """Return the NPUs of a graph as devices: between two of them the route that takes 1 MiB fastest.

    Messages are stored and forwarded: latencies and times for a byte add up along a route. The distance is
    1 - S / max(S), S the bandwidth of the route, one over its time for a byte.

    Raises:
        InputError: no route between two devices, or too many of them.
    """
    count = graph.npus
    _require_few(count, name)
    latency, each = _routes(graph, name, gb_bytes)
    least = min((each[a][b] for a in range(count) for b in range(count) if a != b), default=1.0)
    distance = _pairwise(count, lambda a, b: 1 - least / each[a][b])
    return Devices(count, distance, latency, each)


def _require_few(count: int, name: str) -> None:
    if count > MOST_DEVICES:
        raise InputError(f"{name}: has {count} devices; at most {MOST_DEVICES} can be partitioned over")


def _routes(graph: LinkGraph, name: str, gb_bytes: int) -> tuple[Matrix, Matrix]:
    kinds = [
        (float(kind.latency_ns), float(Fraction(10**9) / (kind.bandwidth_gbps * gb_bytes)))
        for kind in graph.kinds
    ]
    links: list[list[tuple[int, float, float]]] = [[] for _ in range(graph.nodes)]
    columns = (graph.sources.tolist(), graph.destinations.tolist(), graph.kind_of.tolist())
    for source, destination, kind in zip(*columns, strict=True):
        links[source].append((destination, *kinds[kind]))
    least = min((_cost(*kind) for kind in kinds), default=0.0)
    latencies, times = [], []
    for source in range(graph.npus):
        found = _fastest(links, source, least)
        for destination in range(graph.npus):
            if destination not in found:
                raise InputError(f"{name}: no route leads from device {source} to {destination}")
        latencies.append(tuple(found[node][0] for node in range(graph.npus)))
        times.append(tuple(found[node][1] for node in range(graph.npus)))
    return tuple(latencies), tuple(times)


def _fastest(
    links: list[list[tuple[int, float, float]]], source: int, least: float
) -> dict[int, tuple[float, float]]:
    """Return latency and ns a byte of the fastest route to every node (Dijkstra 1959).

    No link costs less than `least`: once every node is known, a node that is further than the furthest one
    less a link shortens no route. In a network of links between all pairs that ends the search at once.
    """
    known = {source: (0.0, 0.0, 0.0)}
    waiting = [(0.0, source)]
    furthest = math.inf
    passed = 0
    while waiting:
        cost, node = heapq.heappop(waiting)
        if cost > known[node][0]:
            continue
        if passed % _LOOK_EVERY == 0 and len(known) == len(links):
            furthest = max(one[0] for one in known.values())
        passed += 1
        if cost + least > furthest:
            break
        _, latency, each = known[node]
        for other, link_latency, link_each in links[node]:
            way = (cost + _cost(link_latency, link_each), latency + link_latency, each + link_each)
            if other not in known or way < known[other]:
                known[other] = way
                heapq.heappush(waiting, (way[0], other))
    return {node: (latency, each) for node, (_, latency, each) in known.items()}


def _cost(latency: float, each: float) -> float:
    return latency + each * _TYPICAL_BYTES


def _pairwise(count: int, value: Callable[[int, int], float]) -> Matrix:
    return tuple(tuple(float(value(a, b)) if a != b else 0.0 for b in range(count)) for a in range(count))


def _value(path: Path, number: int, cell: str, on_diagonal: bool) -> float:
    if on_diagonal and cell in ("", "-", "inf", "nan"):
        return 0.0
    try:
        value = float(cell)
    except ValueError:
        value = -1.0
    if not 0 <= value <= LARGEST:
        raise InputError(f"{path}, line {number}: '{excerpt(cell)}' must be a number from 0 to {LARGEST:g}")
    return value
