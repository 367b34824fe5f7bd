"""Every partitioner passes the contract."""

from __future__ import annotations

import pytest

from dse.errors import InputError
from dse.partition.check import check
from dse.partition.devices import Devices
from dse.partition.graph import ModelGraph
from dse.partition.partitioner import Limits, Partitioner
from dse.partition.partitioners import PARTITIONERS, partitioner_named
from dse.partition.problem import PartitionProblem
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
