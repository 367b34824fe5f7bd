"""Every partitioner passes the contract."""

from __future__ import annotations

import random

import pytest

from dse.base.errors import InputError
from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.devices import Devices
from dse.partition.problem.problem import PartitionProblem
from dse.partition.search.check import check
from dse.partition.search.partitioner import Limits, Partitioner
from dse.partition.search.partitioners import PARTITIONERS, partitioner_named
from dse.testing.partition_problems import random_problem
from dse.testing.partitioners import PartitionerContract


class TestAuto(PartitionerContract):
    def make(self) -> Partitioner:
        return partitioner_named("auto")


class TestExact(PartitionerContract):
    def make(self) -> Partitioner:
        return partitioner_named("exact")


class TestMultilevel(PartitionerContract):
    def make(self) -> Partitioner:
        return partitioner_named("multilevel")


class TestEnumerate(PartitionerContract):
    def make(self) -> Partitioner:
        return partitioner_named("enumerate")


class TestHeuristic(PartitionerContract):
    keeps_constraints = False

    def make(self) -> Partitioner:
        return partitioner_named("heuristic")


class TestBruteForce(PartitionerContract):
    keeps_constraints = False

    def make(self) -> Partitioner:
        return partitioner_named("brute_force")


class TestHierarchical(PartitionerContract):
    keeps_constraints = False

    def make(self) -> Partitioner:
        return partitioner_named("hierarchical")


def test_a_wrong_name_lists_all() -> None:
    with pytest.raises(InputError, match=f"partitioner=best: allowed are {', '.join(PARTITIONERS)}"):
        partitioner_named("best")


@pytest.mark.parametrize("package", ["pymetis", "kahip"])
def test_a_package_may_not_find_even_parts_where_there_are_none(package: str) -> None:
    pytest.importorskip(package)
    graph = ModelGraph((200.0,) * 5, ((0, 1), (1, 2), (0, 3), (3, 4), (2, 4)))
    limits = Limits(seed=2**40)  # more than their seeds can be
    answer = partitioner_named(package).partition(PartitionProblem(graph, Devices(2)), limits)
    assert set(answer.labels) == {0, 1}
    assert check(PartitionProblem(graph, Devices(2)), answer) >= 1


@pytest.mark.parametrize("name", ["multilevel", "exact", "auto"])
def test_moves_through_full_devices_leave_none_over_its_limit(name: str) -> None:
    """Problems with partitions on which a chain of moves once left a device on its way too heavy."""
    for seed in (9, 38, 116, 148, 155):
        problem = random_problem(seed, "process_mapping")
        best = partitioner_named("enumerate").partition(problem, Limits())
        found = partitioner_named(name).partition(problem, Limits(restarts=2))
        assert found.bound <= best.cost <= found.cost


def test_the_smallest_weights_are_partitioned() -> None:
    weights = (1e-160, 2e-160, 0.0, 0.0, 1e-160, 3e-160)
    graph = ModelGraph(weights, ((0, 1), (1, 2), (0, 3), (3, 4), (4, 5)))
    devices = Devices(2, ((0.0, 0.0), (0.0, 0.0)))
    assert (
        partitioner_named("multilevel").partition(PartitionProblem(graph, devices), Limits()).cost == 5e-321
    )


def test_one_device_has_all_nodes_of_a_wide_graph_at_once() -> None:
    draw = random.Random(1)
    edges = tuple(sorted({tuple(sorted(draw.sample(range(3000), 2))) for _ in range(20_000)}))
    problem = PartitionProblem(ModelGraph((1.0,) * 3000, edges), Devices(1), "process_mapping")
    assert partitioner_named("exact").partition(problem, Limits()).cost == 0.0
