"""Every partitioner passes the contract."""

from __future__ import annotations

import random

import pytest

from benchmarks.partition_packages import KaHIP, PyMetis
from dse.base.errors import InputError
from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.partition.search.partitioner import Limits, Partitioner
from dse.partition.search.partitioners import PARTITIONERS, partitioner_named
from dse.partition.search.partitioners.exact import Exact
from dse.partition.search.partitioners.multilevel import Multilevel
from dse.testing.partitioners import Enumeration, PartitionerContract, check, random_problem
from tests.references.brute_force import BruteForce
from tests.references.heuristic import Heuristic
from tests.references.hierarchical import Hierarchical


class TestAuto(PartitionerContract):
    def make(self) -> Partitioner:
        return partitioner_named("auto")


class TestExact(PartitionerContract):
    def make(self) -> Partitioner:
        return partitioner_named("exact")


class TestFast(PartitionerContract):
    def make(self) -> Partitioner:
        return partitioner_named("fast")


class TestEnumerate(PartitionerContract):
    def make(self) -> Partitioner:
        return Enumeration()


class TestHeuristic(PartitionerContract):
    keeps_constraints = False

    def make(self) -> Partitioner:
        return Heuristic()


class TestBruteForce(PartitionerContract):
    keeps_constraints = False

    def make(self) -> Partitioner:
        return BruteForce()


class TestHierarchical(PartitionerContract):
    keeps_constraints = False

    def make(self) -> Partitioner:
        return Hierarchical()


def test_a_wrong_name_lists_three() -> None:
    with pytest.raises(InputError, match=r"^partitioner is 'best'; allowed are auto, fast, exact$"):
        partitioner_named("best")


def test_names_of_former_searches_are_accepted_and_say_what_they_are() -> None:
    assert isinstance(partitioner_named("multilevel"), Multilevel)
    assert isinstance(partitioner_named("hierarchical"), Multilevel)
    assert isinstance(partitioner_named("enumerate"), Exact)
    assert PARTITIONERS.notes("exact", "multilevel", "brute_force") == [
        "partitioner=multilevel is the search that partitioner=fast makes",
        "partitioner=brute_force was a baseline; the search of partitioner=exact takes its place",
    ]


@pytest.mark.parametrize("package", [PyMetis, KaHIP])
def test_a_package_may_not_find_even_parts_where_there_are_none(package: type[Partitioner]) -> None:
    pytest.importorskip(package.name)
    graph = ModelGraph((200.0,) * 5, ((0, 1), (1, 2), (0, 3), (3, 4), (2, 4)))
    limits = Limits(seed=2**40)  # more than their seeds can be
    answer = package().partition(PartitionProblem(graph, Devices(2)), limits)
    assert set(answer.labels) == {0, 1}
    assert check(PartitionProblem(graph, Devices(2)), answer) >= 1


@pytest.mark.parametrize("name", ["fast", "exact", "auto"])
def test_moves_through_full_devices_leave_none_over_its_limit(name: str) -> None:
    """Problems with partitions on which a chain of moves once left a device on its way too heavy."""
    for seed in (9, 38, 116, 148, 155):
        problem = random_problem(seed, "process_mapping")
        best = Enumeration().partition(problem, Limits())
        found = partitioner_named(name).partition(problem, Limits(restarts=2))
        assert found.bound <= best.cost <= found.cost


def test_the_smallest_weights_are_partitioned() -> None:
    weights = (1e-160, 2e-160, 0.0, 0.0, 1e-160, 3e-160)
    graph = ModelGraph(weights, ((0, 1), (1, 2), (0, 3), (3, 4), (4, 5)))
    devices = Devices(2, ((0.0, 0.0), (0.0, 0.0)))
    assert Multilevel().partition(PartitionProblem(graph, devices), Limits()).cost == 5e-321


def test_one_device_has_all_nodes_of_a_wide_graph_at_once() -> None:
    draw = random.Random(1)
    edges = tuple(sorted({tuple(sorted(draw.sample(range(3000), 2))) for _ in range(20_000)}))
    problem = PartitionProblem(ModelGraph((1.0,) * 3000, edges), Devices(1), "process_mapping")
    assert partitioner_named("exact").partition(problem, Limits()).cost == 0.0
