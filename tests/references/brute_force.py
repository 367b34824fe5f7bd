"""A baseline: all set partitions, each with all assignments of its sets to devices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dse.partition.files.answers import Task
from dse.partition.problem.problem import Partition, PartitionProblem
from dse.partition.search.partitioner import Limits, Partitioner
from tests.references.heuristic import require_plain
from tests.references.random_start import Pieces
from tests.references.set_partitions import set_partitions


class BruteForce(Partitioner):
    """Stops at the time limit with the best so far."""

    name = "brute_force"
    objectives = ("sharding_cost",)

    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Go through set partitions in the order of their restricted growth strings."""
        require_plain(problem, self)
        task = Task(problem, self.name, limits.time_limit_s)
        limit = math.inf if limits.time_limit_s is None else limits.time_limit_s
        best, labels = math.inf, [0] * problem.graph.nodes

        def expired() -> bool:
            return best < math.inf and task.seconds > limit

        def worth(cost: float) -> bool:
            return cost < best and not expired()

        for piece in set_partitions(task.merged.problem, worth):
            pieces = Pieces(task.merged.problem, piece)
            cost, device = _best_devices(pieces, best, lambda: task.seconds > limit)
            if cost < best:
                best, labels = cost, [device[i] for i in piece]
        return task.answer(labels, None if expired() else best, limits.stopped(task.seconds))


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
