"""Random partitions and greedy devices: what the heuristic is made of."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.partition.problem import links
from dse.partition.problem.problem import PartitionProblem


class Pieces:
    """`sharding_cost` of pieces on devices, from their weights and the edges between them.

    `piece[v]` is the piece of node v; `edges[i][j]` counts edges from piece i to piece j.
    """

    def __init__(self, problem: PartitionProblem, piece: Sequence[int]) -> None:
        self.count = problem.devices.count
        self.weights = np.array(problem.graph.node_weights, float)
        self.distance = np.array(links.distance(problem.devices), float)
        np.fill_diagonal(self.distance, 0)
        self.mean = self.weights.sum() / self.count
        self.piece = np.array(piece, np.int64)
        self.load = np.bincount(self.piece, self.weights, self.count)
        self.size = np.bincount(self.piece, minlength=self.count)
        ends = np.array(problem.graph.edges, np.int64).reshape(-1, 2)
        ends = ends[ends[:, 0] != ends[:, 1]]
        self.out: list[list[int]] = [[] for _ in self.weights]
        self.into: list[list[int]] = [[] for _ in self.weights]
        for u, v in ends.tolist():
            self.out[u].append(v)
            self.into[v].append(u)
        self.edges = np.zeros((self.count, self.count))
        np.add.at(self.edges, (self.piece[ends[:, 0]], self.piece[ends[:, 1]]), 1.0)

    def cost(self, device: Sequence[int] | Any) -> float:
        """Return the cost with piece i on `device[i]`."""
        device = np.asarray(device)
        cut = float((self.edges * self.distance[np.ix_(device, device)]).sum())
        return float(((self.load - self.mean) ** 2).sum()) + cut

    def move(self, node: int, to: int) -> None:
        """Move a node to another piece."""
        at = self.piece
        before = int(at[node])
        for other in self.out[node]:
            self.edges[before, at[other]] -= 1
            self.edges[to, at[other]] += 1
        for other in self.into[node]:
            self.edges[at[other], before] -= 1
            self.edges[at[other], to] += 1
        self.load[before] -= self.weights[node]
        self.load[to] += self.weights[node]
        self.size[before] -= 1
        self.size[to] += 1
        at[node] = to


def greedy_devices(pieces: Pieces) -> list[int]:
    """Return a device for each piece: by edges to others, descending, each takes the cheapest free one."""
    joined = pieces.edges + pieces.edges.T
    np.fill_diagonal(joined, 0)
    device = np.full(pieces.count, -1)
    free = np.ones(pieces.count, bool)
    for piece in np.argsort(-joined.sum(1), kind="stable"):
        placed = np.flatnonzero(device >= 0)
        where = device[placed]
        added = pieces.distance[:, where] @ pieces.edges[piece, placed]
        added = added + pieces.edges[placed, piece] @ pieces.distance[where, :]
        best = int(np.where(free, added, np.inf).argmin())
        device[piece] = best
        free[best] = False
    return [int(chosen) for chosen in device]


def random_pieces(draw: random.Random, nodes: int, pieces: int) -> list[int]:
    """Return a piece for each node: every piece gets one random node, the others any."""
    order = list(range(nodes))
    draw.shuffle(order)
    piece = [0] * nodes
    for place, node in enumerate(order):
        piece[node] = place if place < pieces else draw.randrange(pieces)
    return piece
