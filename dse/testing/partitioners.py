"""The contract of every partitioner: keep all constraints, and say no more than it has proven."""

from __future__ import annotations

import dataclasses
import itertools
import random

import pytest

from dse.base.errors import InputError
from dse.base.solvers import PARTITION_SLACK
from dse.partition.files.answers import Task
from dse.partition.graphs.graph import ModelGraph
from dse.partition.objectives import evaluate
from dse.partition.problem.capacity import infeasible
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.problem import OBJECTIVES, Devices, Partition, PartitionProblem
from dse.partition.problem.validation import validate
from dse.partition.search.partitioner import Limits, Partitioner

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


def check(problem: PartitionProblem, partition: Partition) -> float:
    """Return the cost of `partition`, evaluated again.

    Raises:
        InfeasiblePartition: it breaks a constraint; names the device, its need and its capacity.
        InputError: its cost, its bound or its claim to be optimal do not agree with its labels.
    """
    validate(problem)
    cost = evaluate(problem, partition.labels)
    slack = PARTITION_SLACK * abs(cost)
    if abs(cost - partition.cost) > slack:
        raise InputError(f"cost={partition.cost:.17g}: the labels cost {cost:.17g}")
    if partition.bound is not None and partition.bound > cost + slack:
        raise InputError(f"bound={partition.bound:.17g} is above the cost of the labels, {cost:.17g}")
    if partition.optimal and (partition.bound is None or cost - partition.bound > slack):
        raise InputError(f"optimal, but bound={partition.bound} is not the cost {cost:.17g}")
    return cost


# About a minute; what is larger is for `exact`.
_MOST = 3_000_000


class Enumeration(Partitioner):
    """Knows nothing but the evaluation; it stops at a time limit with the best so far."""

    name = "enumerate"
    objectives = OBJECTIVES

    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Try all devices^nodes assignments."""
        task = Task(problem, self.name, limits.time_limit_s)
        nodes, devices = problem.graph.nodes, problem.devices.count
        if limits.time_limit_s is None and devices**nodes > _MOST:
            raise InputError(
                f"partitioner=enumerate: {devices}^{nodes} assignments are too many; give a time limit, or "
                "use partitioner=exact"
            )
        best: tuple[float, tuple[int, ...]] | None = None
        complete = True
        for count, labels in enumerate(itertools.product(range(devices), repeat=nodes)):
            if limits.time_limit_s is not None and count % 256 == 255 and task.seconds > limits.time_limit_s:
                complete = False
                break
            try:
                cost = evaluate(problem, labels)
            except InfeasiblePartition:
                continue
            if best is None or cost < best[0]:
                best = cost, labels
        if best is None:
            raise infeasible(task.merged, complete)
        notes = () if complete else limits.stopped(task.seconds)
        return task.answer_expanded(best[1], best[0] if complete else None, notes)


Edges = list[tuple[int, int]]


def random_problem(seed: int, objective: str, plain: bool = False) -> PartitionProblem:
    """Return a problem of up to 7 nodes and 3 devices; a plain one has no pins, groups and memory."""
    draw = random.Random(seed)
    nodes, devices = draw.randint(1, 7), draw.randint(1, 3)
    if objective == "sharding_cost":
        devices = min(nodes, devices)
    edges = _edges(draw, nodes)
    sizes = tuple(draw.choice([0, 1, 2.5, 4]) for _ in edges) if draw.random() < 0.8 else ()
    graph = ModelGraph(_weights(draw, nodes), tuple(edges), sizes)
    if draw.random() < 0.5:
        graph = _with_tensors(draw, graph)
    if plain:
        return PartitionProblem(graph, Devices(devices, _matrix(draw, devices)), objective, imbalance=0.6)
    speeds = tuple(draw.choice([0.5, 1, 2]) for _ in range(devices)) if draw.random() < 0.6 else ()
    memory, capacity = _memory(draw, nodes, devices)
    graph = ModelGraph(graph.node_weights, graph.edges, graph.edge_bytes, graph.edge_tensors, memory)
    links = (_matrix(draw, devices), _matrix(draw, devices), _matrix(draw, devices))
    return PartitionProblem(
        graph,
        Devices(devices, *links, speeds, capacity),
        objective,
        {draw.randrange(nodes): draw.randrange(devices)} if draw.random() < 0.3 else {},
        (tuple(draw.sample(range(nodes), 2)),) if nodes > 1 and draw.random() < 0.3 else (),
        draw.choice([0.3, 0.6, 1.0]),
        draw.random() < 0.5,
    )


def _edges(draw: random.Random, nodes: int) -> Edges:
    kind = draw.choice(["chain", "tree", "dag", "dag"])
    if kind == "chain":
        edges = [(v, v + 1) for v in range(nodes - 1)]
    elif kind == "tree":
        edges = [(draw.randrange(v), v) for v in range(1, nodes)]
    else:
        edges = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if draw.random() < 0.4]
    if edges and draw.random() < 0.2:
        edges.append(draw.choice(edges))
    names = draw.sample(range(nodes), nodes)
    return [(names[u], names[v]) for u, v in edges]


def _weights(draw: random.Random, nodes: int) -> tuple[float, ...]:
    if draw.random() < 0.3:
        return (draw.choice([1.0, 2.0]),) * nodes
    return tuple(draw.choice([0, 1, 2, 3, 5, round(draw.uniform(0, 6), 2)]) for _ in range(nodes))


def _matrix(draw: random.Random, devices: int) -> tuple[tuple[float, ...], ...]:
    kind = draw.choice(["none", "equal", "any", "any"])
    if kind == "none":
        return ()
    return tuple(
        tuple(
            0.0 if a == b else (1.5 if kind == "equal" else draw.choice([0.25, 0.5, 1, 2, 4, 7])) for b in row
        )
        for a, row in enumerate([range(devices)] * devices)
    )


def _memory(draw: random.Random, nodes: int, devices: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if draw.random() < 0.5:
        return (), ()
    return (
        tuple(draw.choice([1, 2, 3]) for _ in range(nodes)),
        tuple(draw.choice([4, 6, 9, 12]) for _ in range(devices)),
    )


def _with_tensors(draw: random.Random, graph: ModelGraph) -> ModelGraph:
    """Let some edges of a source carry the same tensor."""
    tensors: list[int] = []
    sizes = list(graph.edge_bytes)
    for edge, (u, _) in enumerate(graph.edges):
        same = [other for other in range(edge) if graph.edges[other][0] == u]
        other = draw.choice(same) if same and draw.random() < 0.6 else edge
        tensors.append(100 + edge if other == edge else tensors[other])
        if sizes:
            sizes[edge] = sizes[other]
    return ModelGraph(graph.node_weights, graph.edges, tuple(sizes), tuple(tensors))
