"""Set partitions in the order of their restricted growth strings, given up where they are too dear."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dse.partition.problem import links
from dse.partition.problem.problem import PartitionProblem


class PartialCost:
    """The least that `sharding_cost` can be, whatever becomes of the nodes that have no piece yet.

    Loads only grow: each piece above the mean pays the square of its excess, the others together lack what
    these have too much, which costs least if they lack the same. A cut edge pays the least distance.
    """

    def __init__(self, problem: PartitionProblem) -> None:
        graph, self._pieces = problem.graph, problem.devices.count
        distance = links.distance(problem.devices)
        apart = (d for a, row in enumerate(distance) for b, d in enumerate(row) if a != b)
        self._least = min(apart, default=0.0)
        self._weights = graph.node_weights
        self._mean = sum(graph.node_weights) / self._pieces
        self._earlier: list[list[int]] = [[] for _ in graph.node_weights]
        for u, v in graph.edges:
            if u != v:
                self._earlier[max(u, v)].append(min(u, v))
        self._load = [0.0] * self._pieces
        self._before: list[tuple[float, float, float, int, int]] = []
        self._excess, self._squares, self._above, self._cut = 0.0, 0.0, 0, 0

    def put(self, piece: Sequence[int], node: int) -> float:
        """Add a node, of which all earlier ones are in, to `piece[node]`, and return the cost."""
        own = piece[node]
        load = self._load[own]
        self._before.append((load, self._excess, self._squares, self._above, self._cut))
        self._load[own] = load + self._weights[node]
        was, now = max(load - self._mean, 0.0), max(self._load[own] - self._mean, 0.0)
        self._excess += now - was
        self._squares += now * now - was * was
        self._above += (now > 0) - (was > 0)
        self._cut += sum(piece[other] != own for other in self._earlier[node])
        below = self._pieces - self._above
        lacking = self._excess * self._excess / below if below else 0.0
        return self._squares + lacking + self._cut * self._least

    def take(self, piece: int) -> None:
        """Take the last node out of its piece again."""
        self._load[piece], self._excess, self._squares, self._above, self._cut = self._before.pop()


def set_partitions(problem: PartitionProblem, worth: Callable[[float], bool]) -> Iterator[list[int]]:
    """Yield the piece of each node for every partition into as many non-empty sets as there are devices.

    What has some of the nodes is given up with all that would come of it unless its cost is `worth` it.
    """
    nodes, pieces = problem.graph.nodes, problem.devices.count
    partial = PartialCost(problem)
    piece = [-1] * nodes
    opened = [0] * (nodes + 1)  # pieces opened before each node
    node = 0
    while node >= 0:
        if piece[node] >= 0:
            partial.take(piece[node])
        piece[node] += 1
        if pieces - opened[node] == nodes - node:
            piece[node] = max(piece[node], opened[node])  # each node left must open one that is missing
        if piece[node] > opened[node] or piece[node] == pieces:
            piece[node] = -1
            node -= 1
            continue
        cost = partial.put(piece, node)
        opened[node + 1] = max(opened[node], piece[node] + 1)
        if not worth(cost):
            continue
        if node + 1 == nodes:
            yield list(piece)
        else:
            node += 1
