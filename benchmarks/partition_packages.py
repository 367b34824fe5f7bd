"""Partitioners to compare with: PyMetis and KaHIP cut as few edges as they can, then parts get devices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.base.errors import InputError
from dse.base.lazy import extra
from dse.partition.files.answers import Task
from dse.partition.objectives import evaluate
from dse.partition.problem import links
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.problem import Partition, PartitionProblem
from dse.partition.search.partitioner import Limits, Partitioner

_LARGEST = 2**30  # their weights are 32 bits wide
_SEEDS = 2**31
_LEAST_SLACK = 1e-4  # at exactly 0 kaffpa takes a way that crashes on nodes of unequal weights


class PackagePartitioner(Partitioner):
    """A package that minimises the edge cut of K balanced parts.

    It sees an undirected graph with whole weights; ours are scaled and rounded. Its parts are mapped to
    devices by exchanging pairs. It knows no pins and no memory: a result that breaks them is refused.
    """

    objectives = ("sharding_cost", "process_mapping")

    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Ask the package, once for each restart (1) with another seed."""
        if problem.objective not in self.objectives:
            raise InputError(
                f"partitioner={self.name} is for objective {', '.join(self.objectives)}, "
                f"not {problem.objective}; partitioner=auto is for all"
            )
        package = self.load()
        task = Task(problem, self.name, limits.time_limit_s)
        graph = undirected(task.merged.problem)
        best: tuple[float, tuple[int, ...]] | None = None
        reason: InfeasiblePartition | None = None
        for restart in range(limits.restarts or 1):
            parts = self.parts(package, graph, problem, (limits.seed + restart) % _SEEDS)
            labels = task.merged.expand(exchanged(task.merged.problem, parts))
            try:
                cost = evaluate(problem, labels)
            except InfeasiblePartition as broken:
                reason = broken
                continue
            if best is None or cost < best[0]:
                best = cost, labels
        if best is None:
            raise InfeasiblePartition(
                f"partitioner={self.name} found no partition that keeps the constraints ({reason}); "
                "partitioner=fast knows them",
                *((reason.device, reason.need, reason.capacity) if reason else ()),
            )
        return task.answer_expanded(best[1])

    @abstractmethod
    def load(self) -> Any:
        """Return the package, or raise InputError that says how to install it."""

    @abstractmethod
    def parts(
        self, package: Any, graph: tuple[Any, Any, Any, Any], problem: PartitionProblem, seed: int
    ) -> Sequence[int]:
        """Return the part of each node; `graph` is what `undirected` returns."""


def undirected(problem: PartitionProblem) -> tuple[Any, Any, Any, Any]:
    """Return starts, neighbours, edge weights and node weights as whole numbers (compressed rows).

    Parallel edges and both directions are one edge; an edge under `sharding_cost` weighs 1.
    """
    graph = problem.graph
    ends = np.array(graph.edges, np.int64).reshape(-1, 2)
    sizes = links.carried(graph, 1.0) if problem.objective == "process_mapping" else np.ones(len(ends))
    keep = ends[:, 0] != ends[:, 1]
    low, high = ends[keep].min(1, initial=graph.nodes), ends[keep].max(1, initial=0)
    pairs, inverse = np.unique(low * graph.nodes + high, return_inverse=True)
    merged = np.bincount(inverse, np.array(sizes, float)[keep], len(pairs))
    low, high = pairs // graph.nodes, pairs % graph.nodes
    source, target = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.argsort(source, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=graph.nodes))])
    weights = _whole(np.concatenate([merged, merged])[order], 1)
    return starts, target[order], weights, _whole(np.array(graph.node_weights, float), 0)


def _whole(values: Any, least: int) -> Any:
    """Return whole numbers, scaled only if they are not whole or too large."""
    total = values.sum()
    if (values == np.floor(values)).all() and total < _LARGEST:
        return np.maximum(values.astype(np.int64), least)
    return np.maximum(np.rint(values / total * (_LARGEST / 8)).astype(np.int64), least)


def exchanged(problem: PartitionProblem, parts: Sequence[int]) -> list[int]:
    """Return labels: each part on a device of its own, exchanged in pairs as long as it helps."""
    count = problem.devices.count
    distance = np.array(links.distance(problem.devices), float)
    np.fill_diagonal(distance, 0)
    part = np.array(parts, np.int64)
    ends = np.array(problem.graph.edges, np.int64).reshape(-1, 2)
    sizes = (
        links.carried(problem.graph, 1.0) if problem.objective == "process_mapping" else np.ones(len(ends))
    )
    traffic = np.zeros((count, count))
    np.add.at(traffic, (part[ends[:, 0]], part[ends[:, 1]]), np.array(sizes, float))
    device = np.arange(count)
    cost = float((traffic * distance).sum())
    better = (distance != distance[0, -1]).sum() > count  # else all pairs are alike
    while better:
        better = False
        for a in range(count):
            for b in range(a):
                device[[a, b]] = device[[b, a]]
                now = float((traffic * distance[np.ix_(device, device)]).sum())
                if now < cost * (1 - 1e-12):
                    cost, better = now, True
                else:
                    device[[a, b]] = device[[b, a]]
    return [int(device[at]) for at in part]


class PyMetis(PackagePartitioner):
    """METIS through PyMetis: multilevel k-way (recursive for few parts)."""

    name = "pymetis"

    def load(self) -> Any:
        """Import pymetis."""
        return extra("pymetis", "pymetis is missing: pip install 'dse[partition]'")

    def parts(
        self, package: Any, graph: tuple[Any, Any, Any, Any], problem: PartitionProblem, seed: int
    ) -> Sequence[int]:
        """Call part_graph with the allowed imbalance in thousandths."""
        starts, neighbours, edges, nodes = graph
        slack = max(1, int(problem.imbalance * 1000)) if problem.objective == "process_mapping" else 1
        options = package.Options(seed=seed, ufactor=slack)
        _, parts = package.part_graph(
            problem.devices.count,
            package.CSRAdjacency(starts.tolist(), neighbours.tolist()),
            eweights=edges.tolist(),
            vweights=nodes.tolist(),
            options=options,
        )
        return list(parts)


class KaHIP(PackagePartitioner):
    """KaFFPa of KaHIP, in one of its modes."""

    name = "kahip"

    def __init__(self, mode: str = "STRONG") -> None:
        self.mode = mode

    def load(self) -> Any:
        """Import kahip."""
        return extra("kahip", "kahip is missing: pip install 'dse[partition]'")

    def parts(
        self, package: Any, graph: tuple[Any, Any, Any, Any], problem: PartitionProblem, seed: int
    ) -> Sequence[int]:
        """Call kaffpa; it allows (1 + imbalance) of the mean rounded up."""
        starts, neighbours, edges, nodes = graph
        slack = problem.imbalance if problem.objective == "process_mapping" else 0.0
        slack = max(slack, _LEAST_SLACK)
        _, parts = package.kaffpa(
            nodes.tolist(), starts.tolist(), edges.tolist(), neighbours.tolist(),
            problem.devices.count, slack, True, seed, getattr(package, self.mode),
        )  # fmt: skip
        return list(parts)
