"""The seed's brute force: all set partitions, each with all assignments of its sets to devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from dse.partition.answers import Task
from dse.partition.partitioner import Limits, Partitioner
from dse.partition.partitioners.heuristic import require_plain
from dse.partition.partitioners.random_start import Pieces
from dse.partition.problem import Partition, PartitionProblem


class BruteForce(Partitioner):
    """Section 2 of the partition spec; stops at the time limit with the best so far."""

    name = "brute_force"
    objectives = ("sharding_cost",)

    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Go through set partitions in the order of their restricted growth strings."""
        require_plain(problem, self)
        task = Task(problem, self.name, limits.time_limit_s)
        limit = math.inf if limits.time_limit_s is None else limits.time_limit_s
        best, labels, complete = math.inf, [0] * problem.graph.nodes, True
        for piece in set_partitions(task.merged.problem.graph.nodes, problem.devices.count):
            if labels and best < math.inf and task.seconds > limit:
                complete = False
                break
            pieces = Pieces(task.merged.problem, piece)
            cost, device = _best_devices(pieces, best, lambda: task.seconds > limit)
            if cost < best:
                best, labels = cost, [device[i] for i in piece]
            complete = complete and task.seconds <= limit
        return task.answer(labels, best if complete else None)


def set_partitions(nodes: int, pieces: int) -> Iterator[list[int]]:
    """Yield the piece of each node for every partition into exactly `pieces` non-empty sets."""
    piece = [0] * nodes
    most = [0] * (nodes + 1)  # pieces opened before each node

    def first(start: int) -> None:
        """Lowest continuation: piece 0, but for the last nodes, which open the pieces that are missing."""
        for node in range(start, nodes):
            missing = pieces - most[node]
            piece[node] = most[node] if nodes - node == missing else 0
            most[node + 1] = max(most[node], piece[node] + 1)

    first(0)
    while True:
        yield list(piece)
        node = nodes - 1
        while node > 0 and not _can_grow(piece[node], most[node], pieces, nodes - node - 1):
            node -= 1
        if node <= 0:
            return
        piece[node] += 1
        most[node + 1] = max(most[node], piece[node] + 1)
        first(node + 1)


def _can_grow(piece: int, opened: int, pieces: int, after: int) -> bool:
    """Whether the node may go to the next piece: at most one new one, and all can still be opened."""
    following = piece + 1
    return following <= opened and following < pieces and pieces - max(opened, following + 1) <= after


def _best_devices(pieces: Pieces, upper: float, expired: Callable[[], bool]) -> tuple[float, Sequence[int]]:
    """Return the cheapest assignment of pieces to devices below `upper`, abandoning partial ones above it.

    When time is over it is the best so far, but at least one where there was none before.
    """
    balance = float(((pieces.load - pieces.mean) ** 2).sum())
    best: tuple[float, list[int]] = (upper, [])
    edges, distance = pieces.edges, pieces.distance

    def extend(device: list[int], cost: float) -> None:
        nonlocal best
        if cost >= best[0] or (best[0] < math.inf and expired()):
            return
        i = len(device)
        if i == pieces.count:
            best = cost, list(device)
            return
        for d in range(pieces.count):
            if d in device:
                continue
            more = sum(
                edges[i, j] * distance[d, e] + edges[j, i] * distance[e, d] for j, e in enumerate(device)
            )
            extend([*device, d], cost + more)

    extend([], balance)
    return best if best[1] else (math.inf, [])
