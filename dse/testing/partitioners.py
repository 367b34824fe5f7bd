"""The contract of every partitioner: keep all constraints, and say no more than it has proven."""

from __future__ import annotations

import dataclasses

import pytest

from dse.base.errors import InputError
from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.devices import Devices
from dse.partition.problem.problem import OBJECTIVES, PartitionProblem
from dse.partition.search.partitioner import Limits, Partitioner
from dse.testing.every_partition import Enumeration
from dse.testing.partition_check import check
from dse.testing.partition_problems import random_problem

_PROBLEMS = 25


class PartitionerContract:
    """Inherit it, and return the partitioner from `make`.

    `keeps_constraints` is whether it takes pins and memory limits at all; else it must refuse them.
    """

    keeps_constraints = True

    def make(self) -> Partitioner:
        """Return a fresh partitioner."""
        raise NotImplementedError("make returns the partitioner")

    def test_every_answer_passes_the_checker(self) -> None:
        for objective in self.make().objectives:
            for seed in range(_PROBLEMS):
                problem = random_problem(seed, objective, plain=not self.keeps_constraints)
                try:
                    answer = self.make().partition(problem, Limits(restarts=2))
                except InfeasiblePartition:
                    continue
                assert answer.cost == check(problem, answer)

    def test_its_bound_is_not_above_the_optimum(self) -> None:
        for objective in self.make().objectives:
            for seed in range(_PROBLEMS, 2 * _PROBLEMS):
                problem = random_problem(seed, objective, plain=not self.keeps_constraints)
                try:
                    answer = self.make().partition(problem, Limits(restarts=2))
                except InfeasiblePartition:
                    continue
                optimum = Enumeration().partition(problem, Limits()).cost
                assert answer.bound is not None
                assert answer.bound <= optimum * (1 + 1e-9) <= answer.cost * (1 + 2e-9)
                assert not answer.optimal or answer.cost <= optimum * (1 + 1e-9)

    def test_the_same_seed_gives_the_same_labels(self) -> None:
        for objective in self.make().objectives:
            problem = random_problem(3, objective, plain=True)
            first, second = (self.make().partition(problem, Limits(seed=5, restarts=2)) for _ in range(2))
            assert first.labels == second.labels

    def test_it_refuses_an_objective_that_is_not_its_own(self) -> None:
        for objective in set(OBJECTIVES) - set(self.make().objectives):
            with pytest.raises(InputError, match=objective):
                self.make().partition(random_problem(1, objective, plain=True), Limits())

    def test_it_keeps_pins_and_memory_or_refuses_them(self) -> None:
        for objective in self.make().objectives:
            problem = _tight(objective)
            if self.keeps_constraints:
                assert self.make().partition(problem, Limits()).labels in {(0, 0, 1, 1), (0, 1, 1, 1)}
            else:
                with pytest.raises(InputError, match=r"pin|memory"):
                    self.make().partition(problem, Limits())

    def test_an_infeasible_problem_names_device_need_and_capacity(self) -> None:
        for objective in self.make().objectives if self.keeps_constraints else ():
            problem = _tight(objective)
            graph = dataclasses.replace(problem.graph, memory_bytes=(1.0, 1.0, 1.0, 9.0))
            with pytest.raises(
                InfeasiblePartition, match="device 1 needs 9 bytes of memory, it has 3"
            ) as error:
                self.make().partition(dataclasses.replace(problem, graph=graph), Limits())
            assert (error.value.device, error.value.need, error.value.capacity) == (1, 9.0, 3.0)


def _tight(objective: str) -> PartitionProblem:
    """A chain of four nodes; the first is pinned to device 0, the last to device 1, which holds three."""
    graph = ModelGraph((1.0,) * 4, ((0, 1), (1, 2), (2, 3)), memory_bytes=(1.0,) * 4)
    devices = Devices(2, memory_bytes=(2.0, 3.0))
    return PartitionProblem(graph, devices, objective, {0: 0, 3: 1, 2: 1}, imbalance=0.6)
