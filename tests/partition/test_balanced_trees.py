"""Trees whose loads are limited or balanced are proven: nodes to come are bounded by what they must cut."""

from __future__ import annotations

import random

import pytest

from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.partition.search.partitioner import Limits
from dse.partition.search.partitioners import partitioner_named
from dse.testing.partitioners import Enumeration, check


def _tree(nodes: int, seed: int, heaviest: int) -> ModelGraph:
    draw = random.Random(seed)
    weights = tuple(float(draw.randint(1, heaviest)) for _ in range(nodes))
    return ModelGraph(weights, tuple((draw.randrange(max(0, v - 6), v), v) for v in range(1, nodes)))


def _in_a_row(count: int) -> Devices:
    rows = [[0.0 if a == b else 1.0 + 0.5 * abs(a - b) for b in range(count)] for a in range(count)]
    return Devices(count, tuple(map(tuple, rows)))


@pytest.mark.parametrize("objective", ["sharding_cost", "process_mapping"])
def test_small_trees_are_enumerations(objective: str) -> None:
    for seed in range(60):
        problem = PartitionProblem(_tree(8, seed, 4), _in_a_row(3), objective, imbalance=0.2)
        exact = partitioner_named("exact").partition(problem, Limits())
        least = Enumeration().partition(problem, Limits())
        assert exact.optimal, seed
        assert check(problem, exact) == pytest.approx(least.cost, rel=1e-9), seed


@pytest.mark.parametrize(
    ("nodes", "devices", "heaviest", "objective", "cost"),
    [
        (60, 4, 9, "process_mapping", 8.0),
        (150, 4, 1, "process_mapping", 6.5),
        (150, 3, 9, "sharding_cost", 31 / 6),
        (400, 3, 1, "sharding_cost", 31 / 6),
    ],
)
def test_trees_of_hundreds_of_nodes_are_proven(
    nodes: int, devices: int, heaviest: int, objective: str, cost: float
) -> None:
    draw = _tree(nodes, nodes + devices, heaviest) if heaviest > 1 else _units(nodes, nodes + devices)
    problem = PartitionProblem(draw, _in_a_row(devices), objective, imbalance=0.03)
    answer = partitioner_named("exact").partition(problem, Limits(time_limit_s=60))
    assert answer.cost == pytest.approx(cost, rel=1e-12)
    assert answer.optimal


def _units(nodes: int, seed: int) -> ModelGraph:
    draw = random.Random(seed)
    return ModelGraph((1.0,) * nodes, tuple((draw.randrange(max(0, v - 6), v), v) for v in range(1, nodes)))
