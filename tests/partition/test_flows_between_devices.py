"""Large graphs are cut by clusters and flows, and a time limit that was asked for is used."""

from __future__ import annotations

import math
import random

import numpy as np

from dse.partition.files.answers import Task
from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.partition.search.partitioner import SEARCH_S, Limits, search_s
from dse.partition.search.partitioners.multilevel import Multilevel
from dse.testing.partitioners import check


def _grid(side: int) -> ModelGraph:
    along = [(v, v + 1) for v in range(side * side) if v % side < side - 1]
    across = [(v, v + side) for v in range(side * (side - 1))]
    return ModelGraph((1.0,) * side**2, tuple(along + across))


def _shuffled(graph: ModelGraph, seed: int) -> ModelGraph:
    """Return the same graph with other numbers of nodes, smaller ones first in each edge."""
    number = list(range(graph.nodes))
    random.Random(seed).shuffle(number)
    ends = [sorted((number[u], number[v])) for u, v in graph.edges]
    return ModelGraph(graph.node_weights, tuple((u, v) for u, v in ends))


def test_a_large_grid_is_cut_in_two_along_a_line() -> None:
    problem = PartitionProblem(_shuffled(_grid(150), 1), Devices(2), "process_mapping")
    answer = Multilevel().partition(problem, Limits(restarts=2))
    assert check(problem, answer) == 150


def test_flows_keep_pins_weights_and_memory() -> None:
    draw = random.Random(3)
    grid = _shuffled(_grid(150), 2)
    weights = tuple(float(draw.randint(1, 5)) for _ in range(grid.nodes))
    graph = ModelGraph(weights, grid.edges, memory_bytes=weights)
    pinned = {node: draw.randrange(4) for node in range(40)}
    capacity = tuple(1.02 * sum(weights) / 4 for _ in range(4))
    distance = ((0.0, 1.0, 2.0, 3.0), (1.0, 0.0, 1.0, 2.0), (2.0, 1.0, 0.0, 1.0), (5.0, 2.0, 1.0, 0.0))
    devices = Devices(4, distance, memory_bytes=capacity)
    problem = PartitionProblem(graph, devices, "process_mapping", pinned)
    answers = [Multilevel().partition(problem, Limits(restarts=1)) for _ in range(2)]
    assert answers[0].labels == answers[1].labels
    assert check(problem, answers[0]) == answers[0].cost


def test_a_default_time_limit_grows_with_the_graph_and_is_named() -> None:
    assert search_s(_grid(10)) == SEARCH_S
    assert search_s(_grid(300)) == SEARCH_S + 26
    limits = Limits().within(search_s(_grid(10)))
    assert limits.stopped(31.0)[0].startswith("the default time limit of 30 s stopped the search")
    assert Limits(time_limit_s=2).within(30.0) == Limits(time_limit_s=2)


def test_a_time_limit_that_was_asked_for_is_used_and_never_harms() -> None:
    problem = PartitionProblem(_shuffled(_grid(40), 4), Devices(8), "process_mapping")
    by_default = Multilevel().partition(problem, Limits(restarts=4))
    longer = Multilevel().partition(problem, Limits(time_limit_s=3))
    assert check(problem, longer) <= by_default.cost
    assert longer.seconds >= 0.9 * 3 or longer.optimal


def _near_points(nodes: int, degree: int, seed: int) -> ModelGraph:
    """Join random points of a square that are less than 1 apart: about `degree` neighbours each."""
    draw = random.Random(seed)
    side = math.sqrt(nodes * math.pi / degree)
    at = [(draw.random() * side, draw.random() * side) for _ in range(nodes)]
    cells: dict[tuple[int, int], list[int]] = {}
    edges = []
    for v, (x, y) in enumerate(at):
        around = [(int(x) + i, int(y) + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        edges += [(u, v) for cell in around for u in cells.get(cell, ()) if math.dist(at[u], at[v]) < 1]
        cells.setdefault((int(x), int(y)), []).append(v)
    return ModelGraph((1.0,) * nodes, tuple(sorted(edges)))


def test_pairs_of_equal_effort_cut_less_than_one_population_did() -> None:
    """One population of as many cycles cut 507 edges, the sum over these two seeds."""
    problem = PartitionProblem(_near_points(4000, 9, 1), Devices(12), "process_mapping")
    arrays = Task(problem, "multilevel", None).merged.arrays
    none = np.zeros(0, np.int32)
    costs = [arrays.multilevel(seed, 8, 24, none, 1e9, True)[1] for seed in range(2)]
    assert sum(costs) <= 495
