"""Mappings that only edges and pins couple: trees, series-parallel graphs and others of small width."""

from __future__ import annotations

import dataclasses
import random

import pytest

from dse.partition.files.answers import Task
from dse.partition.graphs.graph import ModelGraph
from dse.partition.graphs.merged import merged
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.partition.search.partitioner import Limits
from dse.partition.search.partitioners import partitioner_named
from dse.partition.search.partitioners.exact import without_limits
from dse.testing.partitioners import Enumeration, check, random_problem


def _matrix(draw: random.Random, count: int) -> tuple[tuple[float, ...], ...]:
    return tuple(
        tuple(0.0 if a == b else float(draw.randint(1, 9)) for b in range(count)) for a in range(count)
    )


def _pinned(seed: int, nodes: int, devices: int) -> dict[int, int]:
    """Pins: without them all nodes would be on one device."""
    draw = random.Random(seed)
    return {draw.randrange(nodes): draw.randrange(devices) for _ in range(1 + nodes // 3)}


def test_it_is_enumeration_on_random_problems() -> None:
    solved = 0
    for seed in range(30_000, 31_700):
        problem = random_problem(seed, "process_mapping")
        devices = dataclasses.replace(problem.devices, memory_bytes=())
        pinned = _pinned(seed, problem.graph.nodes, devices.count)
        problem = dataclasses.replace(problem, devices=devices, imbalance=2.0, pinned=pinned)
        try:
            small = merged(problem)
        except InfeasiblePartition:
            continue
        labels = small.expand(tuple(small.arrays.least_mapping(3e8, 1e9)))
        expected = Enumeration().partition(problem, Limits())
        found = partitioner_named("exact").partition(problem, Limits())
        assert (found.labels, found.optimal) == (labels, True), seed
        assert check(problem, found) == pytest.approx(expected.cost, rel=1e-9, abs=1e-12), seed
        solved += expected.cost > 0
    assert solved > 300


def test_a_limit_that_can_be_reached_is_left_to_the_search() -> None:
    graph = ModelGraph((1.0, 1.0, 1.0), ((0, 1), (1, 2)), memory_bytes=(1.0, 1.0, 1.0))
    free = PartitionProblem(graph, Devices(2, memory_bytes=(3.0, 3.0)), "process_mapping", imbalance=1.0)
    tight = dataclasses.replace(free, devices=Devices(2, memory_bytes=(3.0, 2.0)))
    even = dataclasses.replace(free, imbalance=0.9)
    assert [merged(one).arrays.has_no_limits for one in (free, tight, even)] == [True, False, False]
    assert not merged(dataclasses.replace(free, objective="sharding_cost")).arrays.has_no_limits


def _tree(nodes: int, draw: random.Random) -> list[tuple[int, int]]:
    return [(draw.randrange(max(0, v - 50), v), v) for v in range(1, nodes)]


def _series_parallel(steps: int, draw: random.Random) -> list[tuple[int, int]]:
    edges, nodes = [(0, 1)], 2
    for _ in range(steps):
        k = draw.randrange(len(edges))
        u, v = edges[k]
        if draw.random() < 0.5:
            edges.append((u, v))
        else:
            edges[k] = (u, nodes)
            edges.append((nodes, v))
            nodes += 1
    return edges


@pytest.mark.parametrize(("shape", "cost"), [("tree", 6453.0), ("series_parallel", 36306.0)])
def test_large_graphs_are_proven(shape: str, cost: float) -> None:
    """Ten thousand nodes, which branch and bound is not for."""
    draw = random.Random(1)
    edges = _tree(10_000, draw) if shape == "tree" else _series_parallel(20_000, draw)
    nodes = 1 + max(max(edge) for edge in edges)
    sizes = tuple(float(draw.randint(1, 9)) for _ in edges)
    pinned = {draw.randrange(nodes): draw.randrange(5) for _ in range(1000)}
    graph = ModelGraph((1.0,) * nodes, tuple(edges), sizes)
    problem = PartitionProblem(graph, Devices(5, _matrix(draw, 5)), "process_mapping", pinned, imbalance=4.0)
    answer = partitioner_named("auto").partition(problem, Limits())
    assert answer.partitioner == "exact"
    assert (check(problem, answer), answer.optimal) == (cost, True)
    if shape == "tree":
        assert _least_of_a_tree(problem) == cost


def _least_of_a_tree(problem: PartitionProblem) -> float:
    """From the leaves to the root: edges lead from a node to one of a higher number, which has no other."""
    count, graph = problem.devices.count, problem.graph
    best = [
        [0.0 if problem.pinned.get(v, d) == d else 1e12 for d in range(count)] for v in range(graph.nodes)
    ]
    for (u, v), size in reversed(list(zip(graph.edges, graph.edge_bytes, strict=True))):
        for a in range(count):
            best[u][a] += min(best[v][b] + size * problem.devices.distance[a][b] for b in range(count))
    return min(best[0])


def test_a_wide_graph_is_refused() -> None:
    edges = tuple((u, v) for u in range(40) for v in range(u + 1, 40))
    problem = PartitionProblem(ModelGraph((1.0,) * 40, edges), Devices(4), "process_mapping", imbalance=3.0)
    assert without_limits(Task(problem, "exact"), 60.0) is None


def test_the_default_tries_a_tree_decomposition_once_and_in_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = []

    def too_wide(_: Task, seconds: float) -> None:
        limits.append(seconds)

    for module in ("automatic", "exact"):
        monkeypatch.setattr(f"dse.partition.search.partitioners.{module}.without_limits", too_wide)
    graph = ModelGraph((1.0,) * 3, ((0, 1), (1, 2)))
    problem = PartitionProblem(graph, Devices(2), "process_mapping", {0: 0, 2: 1}, imbalance=1.0)
    assert partitioner_named("auto").partition(problem, Limits(time_limit_s=7.0)).cost == 1.0
    assert limits == [7.0]


def test_without_time_there_is_no_mapping() -> None:
    graph = ModelGraph((1.0,) * 3, ((0, 1), (1, 2)))
    problem = PartitionProblem(graph, Devices(2), "process_mapping", {0: 0, 2: 1}, imbalance=1.0)
    assert without_limits(Task(problem, "exact"), 0.0) is None
