"""A baseline: along the tiers of the devices, the heuristic for each block."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from dse.base.errors import InputError
from dse.partition.files.answers import Task
from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem import links
from dse.partition.problem.problem import Devices, Partition, PartitionProblem
from dse.partition.search.partitioner import SEARCH_S, Limits, Partitioner
from tests.references.heuristic import improved, require_plain

# Draws until every block has a node for each of its devices.
_TRIES = 20


class Hierarchical(Partitioner):
    """Splits the devices into equal blocks, tier by tier.

    The tiers are `devices.tiers`, outermost first; without them all devices are one tier.
    """

    name = "hierarchical"
    objectives = ("sharding_cost",)
    default_time_limit_s = SEARCH_S

    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Run the heuristic for the blocks of each tier, and again inside each block."""
        require_plain(problem, self)
        task = Task(problem, self.name, limits.time_limit_s)
        tiers = problem.devices.tiers or (problem.devices.count,)
        labels = [0] * task.merged.problem.graph.nodes
        _split(task, task.merged.problem, list(range(len(labels))), (0, tiers), limits, labels)
        shown = f"tiers {' x '.join(str(tier) for tier in tiers)}"
        return task.answer(labels, notes=(shown, *limits.stopped(task.seconds)))


def _split(
    task: Task,
    problem: PartitionProblem,
    nodes: Sequence[int],
    block: tuple[int, Sequence[int]],
    limits: Limits,
    labels: list[int],
) -> None:
    """Give `nodes` of `problem` devices of `block`: its first device, and its tiers."""
    first, tiers = block
    if not tiers:
        for node in nodes:
            labels[node] = first
        return
    size = 1
    for tier in tiers[1:]:
        size *= tier
    blocks = _blocks_problem(problem, nodes, (first, tiers[0], size))
    for attempt in range(_TRIES):
        seeded = dataclasses.replace(limits, seed=limits.seed + attempt * 7919)
        found, _ = improved(blocks, seeded, lambda: task.seconds)
        parts = [[node for node, at in zip(nodes, found, strict=True) if at == b] for b in range(tiers[0])]
        if min(len(part) for part in parts) >= size:
            break
    else:
        raise InputError(
            f"partitioner=hierarchical left fewer than {size} nodes to a block of {size} devices; "
            "use fewer devices or partitioner=fast"
        )
    for b, part in enumerate(parts):
        _split(task, problem, part, (first + b * size, tiers[1:]), limits, labels)


def _blocks_problem(
    problem: PartitionProblem, nodes: Sequence[int], block: tuple[int, int, int]
) -> PartitionProblem:
    """Return the problem of some nodes on blocks of devices: between blocks the mean of their distances."""
    first, count, size = block
    distance = links.distance(problem.devices)
    ranges = [range(first + b * size, first + (b + 1) * size) for b in range(count)]
    between = tuple(
        tuple(sum(distance[i][j] for i in a for j in b) / size**2 if a != b else 0.0 for b in ranges)
        for a in ranges
    )
    place = {node: index for index, node in enumerate(nodes)}
    edges = tuple((place[u], place[v]) for u, v in problem.graph.edges if u in place and v in place)
    graph = ModelGraph(tuple(problem.graph.node_weights[node] for node in nodes), edges)
    return PartitionProblem(graph, Devices(count, distance=between))
