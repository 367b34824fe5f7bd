"""Pipelines of graphs that branch: branch and bound over ideals against enumeration."""

from __future__ import annotations

import dataclasses
import random

import pytest

from dse.partition.graphs.graph import ModelGraph
from dse.partition.graphs.merged import merged
from dse.partition.objectives import evaluate
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.links import filled
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.partition.search.partitioner import Limits
from dse.partition.search.partitioners import partitioner_named
from dse.testing.partitioners import Enumeration, random_problem

_BELOW = 1e-9


def _alike(devices: Devices) -> bool:
    """Whether each device receives from all earlier ones alike."""
    links = [filled(matrix, devices.count) for matrix in (devices.latency_ns, devices.ns_per_byte)]
    return all(len({matrix[a][b] for a in range(b)}) <= 1 for matrix in links for b in range(devices.count))


def test_it_is_enumeration_on_random_problems() -> None:
    """Exact where a device receives from all earlier ones alike, and a bound elsewhere."""
    exact = bounds = 0
    for seed in range(40_000, 41_000):
        problem = dataclasses.replace(random_problem(seed, "pipeline_bottleneck"), free_order=False)
        try:
            small = merged(problem)
            optimum = Enumeration().partition(problem, Limits()).cost
        except InfeasiblePartition:
            continue
        labels, cost, bound, complete = small.arrays.ideals_bottleneck(0.0, 1e6, 10_000, 1e9)
        assert complete, seed
        assert bound <= optimum * (1 + _BELOW), seed
        evaluate(problem, small.expand(labels))
        if _alike(problem.devices):
            exact += 1
            assert cost == pytest.approx(optimum, rel=1e-8), seed
            assert evaluate(problem, small.expand(labels)) == pytest.approx(cost, rel=1e-8), seed
            assert bound == pytest.approx(optimum, rel=1e-8), seed
        bounds += 1
    assert exact > 400
    assert bounds > exact


def test_few_ideals_leave_a_gap_but_a_true_bound() -> None:
    weights = tuple(1.0 + (7 * v) % 5 for v in range(14))
    edges = tuple((u, v) for u in range(14) for v in range(u + 1, 14) if (5 * u + 3 * v) % 7 == 0)
    problem = PartitionProblem(ModelGraph(weights, edges), Devices(3), "pipeline_bottleneck")
    optimum = partitioner_named("exact").partition(problem, Limits())
    assert optimum.optimal
    for most in (1, 2, 5):
        _, cost, bound, _ = merged(problem).arrays.ideals_bottleneck(0.0, 100.0, most, 1e9)
        assert bound <= optimum.cost * (1 + _BELOW)
        assert cost >= optimum.cost * (1 - _BELOW)


def _layers(count: int) -> ModelGraph:
    """Layers as in a transformer: three branches from one node, which meet, and a way around them."""
    draw = random.Random(3)
    edges, weights, last = [], [1.0], 0
    for _ in range(count):
        branches = [last + 1, last + 2, last + 3]
        meet = last + 4
        edges += [(last, v) for v in branches] + [(v, meet) for v in branches] + [(last, meet)]
        weights += [float(draw.randint(5, 20)) for _ in range(3)] + [float(draw.randint(1, 4))]
        last = meet
    return ModelGraph(tuple(weights), tuple(edges), (1.0,) * len(edges))


def test_a_graph_that_branches_is_proven() -> None:
    """121 nodes on 6 devices, each tensor at 2 a device: far above what placing node by node proves."""
    link = tuple(tuple(2.0 * (a != b) for b in range(6)) for a in range(6))
    problem = PartitionProblem(_layers(30), Devices(6, latency_ns=link), "pipeline_bottleneck")
    answer = partitioner_named("exact").partition(problem, Limits(time_limit_s=120))
    assert (answer.cost, answer.optimal) == (211.0, True)


def test_auto_proves_what_multilevel_finds() -> None:
    """It keeps what is known where ideals add nothing, and says what the proof is."""
    link = tuple(tuple(2.0 * (a != b) for b in range(6)) for a in range(6))
    problem = PartitionProblem(_layers(30), Devices(6, latency_ns=link), "pipeline_bottleneck")
    answer = partitioner_named("auto").partition(problem, Limits(time_limit_s=120))
    assert (answer.cost, answer.bound, answer.optimal) == (211.0, 211.0, True)
    assert answer.notes == (
        "multilevel: 121 nodes are many: a search for a good partition first, by default in 30 s",
        "then branch and bound over ideals",
    )
