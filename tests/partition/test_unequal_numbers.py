"""Proofs where numbers of one problem are up to 24 orders of magnitude apart, against exact arithmetic."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest

from dse.partition.graphs.graph import ModelGraph
from dse.partition.objectives.latency import execution_order
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.problem import OBJECTIVES, Devices, PartitionProblem
from dse.partition.search.partitioner import Limits
from dse.partition.search.partitioners import partitioner_named
from dse.testing.partitioners import check

_BILLIONTH = Fraction(1, 10**9)
Exact = list[Fraction]


def _exact(values: Sequence[float], default: float, count: int) -> Exact:
    return [Fraction(value) for value in values] or [Fraction(default)] * count


def _matrix(matrix: Sequence[Sequence[float]], default: float, count: int) -> list[Exact]:
    rows = matrix or [[default] * count] * count
    return [[Fraction(rows[a][b]) if a != b else Fraction(0) for b in range(count)] for a in range(count)]


def _sums(values: Exact, labels: Sequence[int], count: int) -> Exact:
    total = [Fraction(0)] * count
    for value, device in zip(values, labels, strict=True):
        total[device] += value
    return total


def _feasible(problem: PartitionProblem) -> Iterator[tuple[int, ...]]:
    graph, count = problem.graph, problem.devices.count
    weights, memory = _exact(graph.node_weights, 0, 0), _exact(graph.memory_bytes, 0, graph.nodes)
    limit = (1 + Fraction(problem.imbalance)) * sum(weights) / count * (1 + _BILLIONTH)
    for labels in itertools.product(range(count), repeat=graph.nodes):
        if any(labels[node] != device for node, device in problem.pinned.items()):
            continue
        if problem.devices.memory_bytes and any(
            need > Fraction(room) * (1 + _BILLIONTH)
            for need, room in zip(_sums(memory, labels, count), problem.devices.memory_bytes, strict=True)
        ):
            continue
        if problem.objective == "sharding_cost" and len(set(labels)) < count:
            continue
        if problem.objective == "process_mapping" and max(_sums(weights, labels, count)) > limit:
            continue
        if problem.objective == "pipeline_bottleneck" and any(labels[u] > labels[v] for u, v in graph.edges):
            continue
        yield labels


def _cost(problem: PartitionProblem, labels: Sequence[int]) -> Fraction:
    graph, devices, count = problem.graph, problem.devices, problem.devices.count
    weights = _exact(graph.node_weights, 0, 0)
    speeds = _exact(devices.speeds, 1, count)
    sizes = _exact(graph.edge_bytes, problem.objective == "process_mapping", len(graph.edges))
    distance = _matrix(devices.distance, 1, count)
    delay, per_byte = (_matrix(matrix, 0, count) for matrix in (devices.latency_ns, devices.ns_per_byte))
    ends = [(labels[u], labels[v]) for u, v in graph.edges]
    if problem.objective == "process_mapping":
        return sum((size * distance[a][b] for size, (a, b) in zip(sizes, ends, strict=True)), Fraction(0))
    if problem.objective == "sharding_cost":
        off = [load - sum(weights, Fraction(0)) / count for load in _sums(weights, labels, count)]
        return sum((x * x for x in off), Fraction(0)) + sum((distance[a][b] for a, b in ends), Fraction(0))
    if problem.objective == "pipeline_bottleneck":
        busy = [load / speed for load, speed in zip(_sums(weights, labels, count), speeds, strict=True)]
        for size, (a, b) in zip(sizes, ends, strict=True):
            busy[b] += delay[a][b] + size * per_byte[a][b] if a != b else 0
        return Fraction(max(busy))
    free, finish = [Fraction(0)] * count, [Fraction(0)] * graph.nodes
    for node in execution_order(graph):
        b = labels[node]
        for (u, v), size in zip(graph.edges, sizes, strict=True):
            if v == node:
                a = labels[u]
                free[b] = max(free[b], finish[u] + (delay[a][b] + size * per_byte[a][b] if a != b else 0))
        free[b] = finish[node] = free[b] + weights[node] / speeds[b]
    return Fraction(max(finish))


def _problem(seed: int, objective: str) -> PartitionProblem:
    """Up to 5 nodes and 3 devices; each kind of number from 1e-12 to 1e12, or of one size."""
    draw = random.Random(f"{seed} {objective}")
    nodes, count = draw.randint(3, 5), draw.randint(2, 3)

    def numbers(size: int, least: float = 0.0) -> tuple[float, ...]:
        span = draw.choice([0, 12])
        return tuple(
            max(least, draw.choice([0, 1, 3, 5, 7]) * 10.0 ** draw.randint(-span, span)) for _ in range(size)
        )

    def matrix() -> tuple[tuple[float, ...], ...]:
        return tuple(numbers(count) for _ in range(count)) if draw.random() < 0.7 else ()

    chain = draw.random() < 0.4
    edges = tuple(
        (u, v) for u in range(nodes) for v in range(u + 1, nodes) if v == u + 1 or draw.random() < 0.5 - chain
    )
    weights = numbers(nodes) if objective != "sharding_cost" else (1.0, 2.0, 2.0, 3.0, 5.0)[:nodes]
    memory = numbers(nodes) if draw.random() < 0.4 else ()
    room = tuple(max(numbers(1)[0], 1.3 * sum(memory) / count) for _ in range(count)) if memory else ()
    return PartitionProblem(
        ModelGraph(weights, edges, numbers(len(edges)), memory_bytes=memory),
        Devices(count, matrix(), matrix(), matrix(), numbers(count, 1e-12), room),
        objective,
        {draw.randrange(nodes): draw.randrange(count)} if draw.random() < 0.3 else {},
        imbalance=draw.choice([0.3, 1.0]),
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_what_is_called_optimal_is(objective: str) -> None:
    """Up to two billionths: one of the search, one of the answer."""
    proven = 0
    for seed in range(120):
        problem = _problem(seed, objective)
        least = min((_cost(problem, labels) for labels in _feasible(problem)), default=None)
        for name in ("exact", "auto"):
            try:
                found = partitioner_named(name).partition(problem, Limits(restarts=2))
            except InfeasiblePartition:
                assert least is None, (seed, name)
                continue
            assert least is not None, (seed, name)
            assert found.optimal, (seed, name)
            check(problem, found)
            cost = _cost(problem, found.labels)
            assert least <= cost <= least * (1 + 2 * _BILLIONTH), (seed, name, float(cost), float(least))
            proven += 1
    assert proven > 80


def test_bytes_of_large_edges_that_are_not_cut_leave_no_trace() -> None:
    """Costs of the small edges were rounded by the large ones that had been added and taken away."""
    edges = ((0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 4), (2, 3), (2, 4), (3, 4), (3, 5), (4, 5))
    sizes = (0.050001, 0.1, 0.05, 0.07, 0.1, 1e9, 1e12, 0.07, 0.050001, 0.05, 0.07)
    graph = ModelGraph((1.0,) * 6, edges, sizes)
    found = partitioner_named("exact").partition(
        PartitionProblem(graph, Devices(3), "process_mapping", imbalance=1.0), Limits()
    )
    assert found.cost == pytest.approx(0.390001, rel=1e-9)
    assert found.optimal


@pytest.mark.parametrize(
    ("weights", "speeds", "back", "cost"),
    [
        ((1e16, 8.0, 8.0, 9.0, 4.0), (1e16, 1.0, 2.0), 1.0, 11.5),
        ((1e16, 3.0, 5.0, 2.0, 6.0, 3.0), (1e16, 1.0, 2.0), 0.0, 8.0),
    ],
)
def test_small_nodes_after_a_large_one_keep_their_weight(
    weights: tuple[float, ...], speeds: tuple[float, ...], back: float, cost: float
) -> None:
    """Sums along a chain had lost them, and 16 and 11 were called optimal."""
    nodes = len(weights)
    graph = ModelGraph(
        weights, tuple((v, v + 1) for v in range(nodes - 1)), memory_bytes=(9.0,) + (1.0,) * (nodes - 1)
    )
    latency = ((0.0, 1.0 - back, 0.0), (back, 0.0, back), (1.0 - back, 1.0 - back, 0.0))
    devices = Devices(3, latency_ns=latency, speeds=speeds, memory_bytes=(9.0, 9.0, 9.0))
    problem = PartitionProblem(graph, devices, "pipeline_bottleneck", {0: 0})
    found = partitioner_named("auto").partition(problem, Limits())
    assert (found.cost, found.optimal) == (cost, True)


@pytest.mark.parametrize("edges", [((0, 1), (1, 2)), ((0, 1), (0, 2), (1, 2))])
def test_chains_and_other_graphs_read_a_limit_of_memory_alike(edges: tuple[tuple[int, int], ...]) -> None:
    """Two nodes need half a billionth more than the first device has, which is rounding."""
    graph = ModelGraph((1.0, 1.0, 4.0), edges, memory_bytes=(1.0, 1.0, 1.0))
    devices = Devices(2, memory_bytes=(2.0 - 1e-9, 2.0))
    found = partitioner_named("exact").partition(
        PartitionProblem(graph, devices, "pipeline_bottleneck"), Limits()
    )
    assert (found.labels, found.cost) == ((0, 0, 1), 4.0)


@pytest.mark.parametrize("free_order", [False, True])
def test_a_probe_without_time_is_no_proof(free_order: bool) -> None:
    """Stages in order still get an answer that keeps the limits."""
    graph = ModelGraph((1.0, 2.0, 3.0, 4.0), ((0, 1), (1, 2), (2, 3)), memory_bytes=(1.0,) * 4)
    devices = Devices(2, latency_ns=((0.0, 1.0), (2.0, 0.0)), memory_bytes=(3.0, 3.0))
    problem = PartitionProblem(graph, devices, "pipeline_bottleneck", free_order=free_order)
    found = partitioner_named("exact").partition(problem, Limits(time_limit_s=1e-9))
    assert check(problem, found) >= 6.0
    assert found.bound == 5.0
