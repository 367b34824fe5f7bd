"""Optima that are known: enumerated, published with the specification, or proven by hand."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.problem import OBJECTIVES, Devices, Partition, PartitionProblem
from dse.partition.search.partitioner import Limits, Partitioner
from dse.partition.search.partitioners.exact import Exact
from dse.testing.partitioners import Enumeration, check, random_problem
from tests.references.brute_force import BruteForce
from tests.references.heuristic import Heuristic
from tests.references.hierarchical import Hierarchical

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "partition" / "optima.json").read_text())


def _solved(partitioner: Partitioner, problem: PartitionProblem) -> Partition | None:
    try:
        return partitioner.partition(problem, Limits())
    except InfeasiblePartition:
        return None


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_exact_is_enumeration_on_1000_random_problems(objective: str) -> None:
    for seed in range(10_000, 11_000):
        problem = random_problem(seed, objective)
        exact, all_tried = _solved(Exact(), problem), _solved(Enumeration(), problem)
        assert (exact is None) == (all_tried is None), seed
        if exact and all_tried:
            assert exact.optimal, seed
            assert check(problem, exact) == pytest.approx(all_tried.cost, rel=1e-9, abs=1e-12), seed


@pytest.mark.parametrize(
    "weights", [(1.72, 8.61, 2.2, 2.2, 8.61, 1.72), (1.59, 5.75, 8.92, 5.75, 8.92, 1.59)]
)
def test_loads_that_differ_by_rounding_alone_are_optimal(weights: tuple[float, ...]) -> None:
    problem = PartitionProblem(ModelGraph(weights, ()), Devices(2, ((0.0, 1.0), (1.0, 0.0))))
    answer = Exact().partition(problem, Limits())
    assert answer.optimal
    assert answer.cost == pytest.approx(0, abs=1e-28)
    assert answer.bound == answer.cost


def test_distances_count_beside_squares_of_parameters() -> None:
    """Squared loads of 10^12: a billionth of them is more than all distances."""
    for seed in range(3000, 3060):
        problem = random_problem(seed, "sharding_cost")
        weights = tuple(1e6 * weight for weight in problem.graph.node_weights)
        graph = dataclasses.replace(problem.graph, node_weights=weights)
        problem = dataclasses.replace(problem, graph=graph)
        exact, all_tried = _solved(Exact(), problem), _solved(Enumeration(), problem)
        assert (exact is None) == (all_tried is None), seed
        if exact and all_tried:
            assert exact.optimal, seed
            assert exact.cost == pytest.approx(all_tried.cost, rel=1e-14, abs=0.1), seed


@pytest.mark.parametrize("case", GOLDEN["small"], ids=lambda case: case["name"])
def test_a_golden_optimum_is_found_and_proven(case: dict[str, object]) -> None:
    edges = tuple((u, v) for u, v in case["edges"])  # type: ignore[attr-defined]
    graph = ModelGraph(tuple(case["node_weights"]), edges)  # type: ignore[arg-type]
    devices = Devices(case["parts"], tuple(map(tuple, case["distance"])))  # type: ignore[arg-type]
    answer = Exact().partition(PartitionProblem(graph, devices), Limits())
    assert answer.cost == pytest.approx(case["optimum"], abs=1e-8)
    assert answer.optimal
    assert answer.bound == answer.cost


def _toy_problem(devices: int) -> PartitionProblem:
    """Return a toy: a path of 201 nodes on 3 or 96 devices."""
    edges = [(v, v + 1) for v in range(200) if v != 100] + [(200, 100)]
    distance = [
        [float(a != b) if devices == 3 else _tiered(a, b) for b in range(devices)] for a in range(devices)
    ]
    tiers = (2, 3, 4, 4) if devices == 96 else ()
    return PartitionProblem(
        ModelGraph((2.0,) * 201, tuple(edges)),
        Devices(devices, tuple(tuple(row) for row in distance), tiers=tiers),
    )


def _tiered(a: int, b: int) -> float:
    total = 0.0
    for size in (2, 3, 4, 4):
        total += 0.5 * (a // size != b // size)
        a, b = a % size, b % size
    return total


@pytest.mark.parametrize(("devices", "optimum"), [(3, 2.0), (96, 56.125)])
def test_a_toy_is_proven(devices: int, optimum: float) -> None:
    answer = Exact().partition(_toy_problem(devices), Limits())
    assert (answer.cost, answer.bound, answer.optimal) == (optimum, optimum, True)


def test_baselines_do_as_on_the_toys() -> None:
    """Their published results are 120 by 20 restarts on 3 devices, and 96.63 along tiers of 96."""
    flat = Heuristic().partition(_toy_problem(3), Limits(restarts=2))
    tiers = Hierarchical().partition(_toy_problem(96), Limits(restarts=1))
    assert 2.0 < flat.cost < 140
    assert 56.125 < tiers.cost < 110


def _chain(weights: list[float], devices: Devices, free_order: bool = False) -> PartitionProblem:
    edges = tuple((v, v + 1) for v in range(len(weights) - 1))
    graph = ModelGraph(tuple(weights), edges, (10.0,) * len(edges))
    return PartitionProblem(graph, devices, "pipeline_bottleneck", free_order=free_order)


def test_a_chain_is_cut_where_stages_are_even() -> None:
    answer = Exact().partition(_chain([4, 3, 2, 9], Devices(2)), Limits())
    assert (answer.labels, answer.cost, answer.optimal) == ((0, 0, 0, 1), 9.0, True)


def test_receiving_counts_for_the_stage_that_receives() -> None:
    latency = ((0.0, 2.0), (2.0, 0.0))
    per_byte = ((0.0, 0.5), (0.5, 0.0))
    problem = _chain([4, 3, 2, 3], Devices(2, (), latency, per_byte))
    answer = Exact().partition(problem, Limits())
    # 3 + 2 + 10 x 0.5 behind the last cut; one device alone needs 12.
    assert (answer.labels, answer.cost) == ((0, 0, 0, 1), 10.0)


def test_a_free_order_puts_the_fast_device_first_where_the_work_is() -> None:
    devices = Devices(2, speeds=(1.0, 4.0))
    fixed = Exact().partition(_chain([8, 8, 1], devices), Limits())
    free = Exact().partition(_chain([8, 8, 1], devices, free_order=True), Limits())
    assert (fixed.cost, free.cost) == (4.25, 4.0)
    assert free.labels == (1, 1, 0)


def test_a_time_limit_ends_in_the_best_known_and_a_bound() -> None:
    edges = tuple((u, v) for u in range(40) for v in range(u + 1, 40) if (u * 7 + v * 13) % 5 == 0)
    graph = ModelGraph(tuple(1.0 + v % 7 for v in range(40)), edges)
    answer = Exact().partition(PartitionProblem(graph, Devices(6)), Limits(time_limit_s=0.2))
    assert answer.bound is not None
    assert not answer.optimal
    assert 0 < answer.bound < answer.cost


def test_brute_force_stops_inside_the_assignments_of_many_devices() -> None:
    """48 devices have 48! orders for the first set partition alone."""
    edges = tuple((v, (v * v + 7) % 60) for v in range(60) if (v * v + 7) % 60 != v)
    distance = tuple(tuple(float(1 + (3 * a + 5 * b) % 7) for b in range(48)) for a in range(48))
    problem = PartitionProblem(ModelGraph((1.0,) * 60, edges), Devices(48, distance))
    answer = BruteForce().partition(problem, Limits(time_limit_s=0.1))
    assert not answer.optimal
    assert check(problem, answer) == answer.cost


def test_loads_of_which_one_is_nearly_all_are_proven() -> None:
    """The cost of 3.85e55 and its bound are sums in two orders, three units in the last place apart."""
    large = (9.711675679678386e18, 8.835906578385667e22, 4.106913385095364e22, 7.166919783475769e27)
    weights = (*large, 3.270644344335605e19, 6.572260523872211e18, 599671666414.4402)
    edges = ((6, 5), (6, 3), (6, 1), (1, 0), (3, 4), (4, 2))
    problem = PartitionProblem(ModelGraph(weights, edges), Devices(4), together=((0, 1, 3, 6),))
    assert Exact().partition(problem, Limits()).optimal
