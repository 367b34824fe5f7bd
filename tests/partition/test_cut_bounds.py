"""Bounds from pieces of limited weight: against every cut of small graphs, and proofs."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from dse.partition.graphs.graph import ModelGraph
from dse.partition.graphs.merged import merged
from dse.partition.objectives import evaluate
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.partition.search.cut_bounds import cut_bound
from dse.partition.search.partitioner import Limits
from dse.partition.search.partitioners import partitioner_named
from dse.testing.partitioners import random_problem


def _costs(problem: PartitionProblem) -> list[float]:
    costs = []
    for labels in itertools.product(range(problem.devices.count), repeat=problem.graph.nodes):
        try:
            costs.append(evaluate(problem, labels))
        except InfeasiblePartition:
            continue
    return costs


@pytest.mark.parametrize("objective", ["sharding_cost", "process_mapping", "pipeline_bottleneck"])
def test_no_partition_is_below_the_bound_whatever_partition_is_known(objective: str) -> None:
    above = 0
    for seed in range(20_000, 20_400):
        problem = random_problem(seed, objective)
        try:
            small = merged(problem)
        except InfeasiblePartition:
            continue
        costs = _costs(problem)
        for upper in {min(costs), max(costs)} if costs else ():
            bound = cut_bound(small, upper)
            assert bound <= min(costs) * (1 + 1e-9), seed
            above += bound > 0
    assert above > 100


def _least_cut(graph: ModelGraph, cost: list[float], limit: float) -> float:
    """Every set of cut edges whose pieces are light enough."""
    best = sum(cost)
    for kept in itertools.product((False, True), repeat=len(cost)):
        root = list(range(graph.nodes))
        for (u, v), keep in zip(graph.edges, kept, strict=True):
            if keep:
                root = [root[v] if r == root[u] else r for r in root]
        weight = [0.0] * graph.nodes
        for v, r in enumerate(root):
            weight[r] += graph.node_weights[v]
        if max(weight) <= limit:
            best = min(
                best, sum(c for c, (u, v) in zip(cost, graph.edges, strict=True) if root[u] != root[v])
            )
    return best


def test_the_least_cut_into_pieces_is_that_of_all_sets_of_edges() -> None:
    complete = 0
    for seed in range(300):
        draw = random.Random(seed)
        nodes = draw.randint(2, 7)
        pairs = list(itertools.combinations(range(nodes), 2))
        edges = tuple(draw.sample(pairs, min(len(pairs), draw.randint(1, 9))))
        weights = tuple(float(draw.randint(1, 5)) for _ in range(nodes))
        graph = ModelGraph(weights, edges)
        cost = [float(draw.randint(1, 4)) for _ in edges]
        limit = max(*weights, sum(weights) * draw.uniform(0.2, 0.9))
        arrays = merged(PartitionProblem(graph, Devices(2), "process_mapping", imbalance=1)).arrays
        piece, bound, is_complete = arrays.least_cut_into_pieces(np.array(cost), limit, np.inf, 10**6, 1e9)
        expected = _least_cut(graph, cost, limit)
        assert bound <= expected, seed
        if is_complete:
            complete += 1
            assert bound == expected, seed
            cut = sum(c for c, (u, v) in zip(cost, edges, strict=True) if piece[u] != piece[v])
            assert cut == expected, seed
    assert complete > 250


def test_a_bound_with_few_states_is_weaker_but_true() -> None:
    """A grid of 7 x 7: sixteen states are too few, and several sweeps share its edges."""
    edges = [(v, v + 1) for v in range(49) if v % 7 < 6] + [(v, v + 7) for v in range(42)]
    problem = PartitionProblem(
        ModelGraph((1.0,) * 49, tuple(edges)), Devices(7), "process_mapping", imbalance=0
    )
    small = merged(problem)
    rough, fine = cut_bound(small, 100.0, 0), cut_bound(small, 100.0, 10**6)
    assert [rough, fine] == [pytest.approx(14), pytest.approx(27)]


def _ladder(rungs: int) -> ModelGraph:
    """Two rails, as a residual stream and what is beside it."""
    edges = []
    for k in range(rungs):
        edges.append((2 * k, 2 * k + 1))
        if k + 1 < rungs:
            edges += [(2 * k, 2 * k + 2), (2 * k + 1, 2 * k + 3)]
    return ModelGraph((1.0,) * (2 * rungs), tuple(edges))


def test_a_ladder_of_10000_nodes_is_proven() -> None:
    """Two edges for each of seven cuts, where a tree of cut edges would only prove seven."""
    problem = PartitionProblem(_ladder(5000), Devices(8), "process_mapping", imbalance=0.05)
    answer = partitioner_named("fast").partition(problem, Limits(restarts=2))
    assert (answer.cost, answer.bound, answer.optimal) == (14.0, 14.0, True)


def test_far_devices_cost_more_than_near_ones() -> None:
    """Two nodes of four devices, at 1 inside and 5 between: two near cuts and a far one of two edges each."""
    distance = tuple(
        tuple(0.0 if a == b else 1.0 if a // 2 == b // 2 else 5.0 for b in range(4)) for a in range(4)
    )
    problem = PartitionProblem(_ladder(100), Devices(4, distance), "process_mapping", imbalance=0.04)
    answer = partitioner_named("exact").partition(problem, Limits())
    assert (answer.cost, answer.optimal) == (14.0, True)


def test_waiting_counts_in_the_bound_of_a_pipeline() -> None:
    """40 nodes of 1 on 4 devices; each of 3 cuts makes a device wait for 2: 46 of time for 4 devices."""
    edges = tuple((v, v + 1) for v in range(39))
    link = tuple(tuple(2.0 * (a != b) for b in range(4)) for a in range(4))
    graph = ModelGraph((1.0,) * 40, edges)
    problem = PartitionProblem(graph, Devices(4, latency_ns=link), "pipeline_bottleneck")
    assert cut_bound(merged(problem), 12.0) == pytest.approx(11.5)


@pytest.mark.parametrize("limit_s", [None, 2.0])
def test_a_bound_has_what_the_search_left_of_its_time(
    monkeypatch: pytest.MonkeyPatch, limit_s: float | None
) -> None:
    """Two restarts of a partition of a ring end soon; without a limit the bound has none either."""
    given: list[float] = []
    monkeypatch.setattr(
        "dse.partition.files.answers.cut_bound", lambda _, __, seconds: given.append(seconds) or 0.0
    )
    ring = ModelGraph((1.0,) * 12, (*((v, v + 1) for v in range(11)), (0, 11)))
    problem = PartitionProblem(ring, Devices(3), "process_mapping", imbalance=0.0)
    partitioner_named("fast").partition(problem, Limits(time_limit_s=limit_s, restarts=2))
    assert [seconds >= 1e9 if limit_s is None else 0.2 <= seconds < 2.0 for seconds in given] == [True]
