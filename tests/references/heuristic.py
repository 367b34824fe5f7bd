"""A baseline: random pieces, greedy devices, first improvement by single moves; reproducible."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from dse.base.errors import InputError
from dse.partition.files.answers import Task
from dse.partition.problem.problem import Partition, PartitionProblem
from dse.partition.search.partitioner import SEARCH_S, Limits, Partitioner
from tests.references.random_start import Pieces, greedy_devices, random_pieces

RESTARTS = 20
SWEEPS = 10


class Heuristic(Partitioner):
    """Improves random pieces by moving single nodes; a baseline, without pins and memory limits."""

    name = "heuristic"
    objectives = ("sharding_cost",)
    default_time_limit_s = SEARCH_S

    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Restart `limits.restarts` times (20), each of at most 10 sweeps."""
        require_plain(problem, self)
        task = Task(problem, self.name, limits.time_limit_s)
        labels, restarts = improved(task.merged.problem, limits, lambda: task.seconds)
        return task.answer(labels, notes=(f"{restarts} restarts", *limits.stopped(task.seconds)))


def require_plain(problem: PartitionProblem, partitioner: Partitioner) -> None:
    """Raise InputError for constraints that the baselines do not keep."""
    name = f"partitioner={partitioner.name}"
    if problem.objective not in partitioner.objectives:
        raise InputError(
            f"{name} is for objective {', '.join(partitioner.objectives)}, not {problem.objective}; "
            "partitioner=auto is for all"
        )
    for what, values in (("pinned nodes", problem.pinned), ("memory limits", problem.devices.memory_bytes)):
        if values:
            raise InputError(f"{name} cannot keep {what}; partitioner=auto can")


def improved(
    problem: PartitionProblem, limits: Limits, seconds: Callable[[], float]
) -> tuple[list[int], int]:
    """Return the labels of the best restart, and how many were made until the time limit."""
    draw = random.Random(limits.seed)
    limit = math.inf if limits.time_limit_s is None else limits.time_limit_s
    best: tuple[float, list[int]] = (math.inf, [])
    restarts = 0
    for _ in range(limits.restarts or RESTARTS):
        pieces = Pieces(problem, random_pieces(draw, problem.graph.nodes, problem.devices.count))
        device = _descend(pieces, lambda: seconds() > limit)
        cost = pieces.cost(device)
        if cost < best[0]:
            best = cost, [device[piece] for piece in pieces.piece]
        restarts += 1
        if seconds() > limit:
            break
    return best[1], restarts


def _descend(pieces: Pieces, expired: Callable[[], bool]) -> Sequence[int]:
    """Move single nodes as long as something improves, at most 10 sweeps; return the device of each piece."""
    device = greedy_devices(pieces)
    cost = pieces.cost(device)
    for _ in range(SWEEPS):
        before = cost
        for node in range(len(pieces.piece)):
            for to in range(pieces.count):
                home = int(pieces.piece[node])
                if to == home or pieces.size[home] == 1:
                    continue
                pieces.move(node, to)
                moved = greedy_devices(pieces)
                if (now := pieces.cost(moved)) < cost:
                    cost, device = now, moved
                else:
                    pieces.move(node, home)
            if expired():
                return device
        if cost == before:
            break
    return device
