"""Graphs by seed whose parts are hard to find: meshes, geometric, Delaunay, RMAT, power law, layered DAGs.

An edge leads from the lower to the higher node; all weights are 1. Nodes have random numbers where the order
of making them would give a partition away.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.partition.graphs.graph import ModelGraph

Ends = NDArray[np.int64]
Random = np.random.Generator

_HOLES = 6
_RMAT = (0.57, 0.19, 0.19, 0.05)  # of the four quarters of the matrix
_DEGREE = 8


@dataclass(frozen=True)
class SeededGraph:
    """A kind of graph, about so many nodes, and the number of parts that it is cut into."""

    kind: str
    nodes: int
    parts: int

    def make(self, seed: int) -> ModelGraph:
        """Return the graph of a seed, without loops and parallel edges, only nodes that have an edge."""
        # The nodes and parts count too: graphs of one seed are otherwise beginnings of each other.
        ends = KINDS[self.kind](self.nodes, np.random.default_rng((seed, self.nodes, self.parts)))
        ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
        used, numbered = np.unique(ends, return_inverse=True)
        pairs = numbered.reshape(-1, 2).tolist()
        return ModelGraph((1.0,) * len(used), tuple((int(u), int(v)) for u, v in pairs))


def _delaunay(nodes: int, random: Random) -> Ends:
    return _triangulated(random.random((nodes, 2)))[0]


def _triangulated(points: NDArray[np.float64]) -> tuple[Ends, Ends, NDArray[np.float64]]:
    """Return edges, pairs of adjacent triangles, and the middles of triangles."""
    from matplotlib.tri import Triangulation

    plane = Triangulation(points[:, 0], points[:, 1])
    triangle, side = np.nonzero(plane.neighbors >= 0)
    dual = np.stack([triangle, plane.neighbors[triangle, side]], 1).astype(np.int64)
    return plane.edges.astype(np.int64), dual, points[plane.triangles].mean(1)


def _plate(nodes: int, random: Random) -> Ends:
    """Triangles of a plate with holes, which are joined where they share a side."""
    centres, radii = random.random((_HOLES, 2)) * [3, 1], random.uniform(0.05, 0.22, _HOLES)

    def is_solid(points: NDArray[np.float64]) -> NDArray[np.bool_]:
        away = np.linalg.norm(points[:, None] - centres[None], axis=2)
        return np.asarray((away > radii).all(axis=1))

    points = random.random((int(nodes / 1.6), 2)) * [3, 1]
    _, dual, middles = _triangulated(points[is_solid(points)])
    return dual[is_solid(middles)[dual].all(axis=1)]


def _geometric(nodes: int, random: Random) -> Ends:
    return _near(random.random((nodes, 2)), 0.55 * float(np.sqrt(np.log(nodes) / nodes)))


def _body(nodes: int, random: Random) -> Ends:
    """Points of a flat body, denser towards one end, that are joined to those near them."""
    points = random.random((nodes, 3))
    points[:, 0] = 4 * points[:, 0] ** 1.5
    points[:, 2] *= 0.4
    return _near(points, 1.25 * float((4 * 0.4 / nodes) ** (1 / 3)))


def _near(points: NDArray[np.float64], radius: float) -> Ends:
    """Return all pairs of points within a radius: those of equal and of adjacent cells are tried."""
    cells = np.floor(points / radius).astype(np.int64) + 1
    strides = np.cumprod([1, *(cells.max(0)[:-1] + 2)])
    number = cells @ strides
    order = np.argsort(number, kind="stable")
    number = number[order]
    found = []
    for step in np.ndindex(*(3,) * points.shape[1]):
        shift = int((np.array(step) - 1) @ strides)
        first = np.searchsorted(number, number + shift, "left")
        count = np.searchsorted(number, number + shift, "right") - first
        one = np.repeat(np.arange(len(points)), count)
        other = np.arange(len(one)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
        pairs = np.stack([order[one], order[other]], 1)
        apart = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
        found.append(pairs[(apart <= radius) & (pairs[:, 0] < pairs[:, 1])])
    return np.concatenate(found)


def _grid(nodes: int, random: Random) -> Ends:
    side = round(nodes ** (1 / 3))
    at = random.permutation(side**3).reshape(side, side, side)
    lines = [np.moveaxis(at, axis, 0) for axis in range(3)]
    return np.concatenate([np.stack([line[1:].ravel(), line[:-1].ravel()], 1) for line in lines])


def _rmat(nodes: int, random: Random) -> Ends:
    bits = int(np.ceil(np.log2(nodes)))
    quarters = random.choice(4, (bits, nodes * _DEGREE), p=_RMAT)
    powers = 2 ** np.arange(bits)
    return random.permutation(2**bits)[np.stack([powers @ (quarters // 2), powers @ (quarters % 2)], 1)]


def _power_law(nodes: int, random: Random) -> Ends:
    """Each node joins three others by degree, and often a neighbour of the last (Holme and Kim 2002)."""
    ends: list[int] = [0, 1, 1, 2, 2, 0]
    near: list[list[int]] = [[1, 2], [0, 2], [0, 1], *([] for _ in range(nodes - 3))]
    chances, draws = random.random(8 * nodes).tolist(), random.random(8 * nodes).tolist()
    for node in range(3, nodes):
        last = -1
        while len(near[node]) < min(3, node):
            by_degree = last < 0 or (chances.pop() if chances else random.random()) > 0.6
            pool = ends if by_degree else near[last]
            other = pool[int((draws.pop() if draws else random.random()) * len(pool))]
            last = -1 if other == node or other in near[node] else other
            if last >= 0:
                near[node].append(other)
                near[other].append(node)
                ends += [node, other]
    return random.permutation(nodes)[np.array(ends, np.int64).reshape(-1, 2)]


def _layers(nodes: int, random: Random) -> Ends:
    """A DAG of layers: most edges lead to the next one and to a node about as far along it."""
    width = int(nodes**0.4)
    to = np.repeat(np.arange(width, nodes), random.integers(1, 4, nodes - width))
    back = np.where(random.random(len(to)) < 0.85, 1, random.integers(1, 12, len(to)))
    along = np.rint(to % width + random.normal(0, 2, len(to))).astype(np.int64) % width
    return np.stack([np.maximum(0, to // width - back) * width + along, to], 1)


def _branches(nodes: int, random: Random) -> Ends:
    """A DAG of blocks in a row, each with branches of unequal lengths, as models of many towers have."""
    found: list[tuple[int, int]] = []
    last, free = 0, 1
    while free < nodes:
        lengths = random.integers(1, 30, int(random.integers(2, 9)))
        join = free + int(lengths.sum())
        for length in lengths.tolist():
            chain = [last, *range(free, free + length), join]
            found += itertools.pairwise(chain)
            # A branch also reads what others made before.
            sources = random.integers(max(0, free - 200), free, length // 4 + 1).tolist()
            found += [(source, free + k) for k, source in enumerate(sources) if k < length]
            free += length
        last, free = join, join + 1
    return np.array(found, np.int64)


KINDS: dict[str, Callable[[int, Random], Ends]] = {
    "plate": _plate,
    "grid": _grid,
    "geometric": _geometric,
    "body": _body,
    "delaunay": _delaunay,
    "rmat": _rmat,
    "power": _power_law,
    "layers": _layers,
    "branches": _branches,
}

GRAPHS = tuple(
    SeededGraph(kind, nodes, parts)
    for kind, sizes in {
        "plate": ((1000, 8), (2000, 4), (8000, 16), (20_000, 2), (60_000, 8)),
        "grid": ((1728, 4), (8000, 8), (27_000, 16)),
        "geometric": ((1000, 2), (4000, 8), (16_000, 4), (32_000, 16), (100_000, 4)),
        "body": ((1500, 16), (10_000, 4), (40_000, 8)),
        "delaunay": ((1000, 8), (5000, 16), (12_000, 2), (32_000, 8), (100_000, 16)),
        "rmat": ((1000, 4), (2000, 8), (4000, 2)),
        "power": ((1000, 2), (3000, 8), (6000, 4)),
        "layers": ((1500, 4), (5000, 8), (15_000, 2), (40_000, 16)),
        "branches": ((3000, 8), (12_000, 16), (50_000, 4)),
    }.items()
    for nodes, parts in sizes
)
