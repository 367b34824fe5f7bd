"""Chains on devices with unequal links: the bisection against a table of all cuts, and at its size."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random

import pytest

from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.partition.search.partitioner import Limits
from dse.partition.search.partitioners import partitioner_named
from dse.testing.partitioners import check


def _chain(draw: random.Random, nodes: int, devices: int, per_byte: float) -> PartitionProblem:
    def matrix(high: float) -> tuple[tuple[float, ...], ...]:
        return tuple(
            tuple(0.0 if a == b else draw.uniform(0, high) for b in range(devices)) for a in range(devices)
        )

    links = (matrix(500), matrix(per_byte))
    speeds = tuple(draw.uniform(0.5, 2.5) for _ in range(devices))
    weights = tuple(float(draw.randint(100, 999)) for _ in range(nodes))
    sizes = tuple(float(draw.randint(10, 1000)) for _ in range(nodes - 1))
    graph = ModelGraph(weights, tuple((v, v + 1) for v in range(nodes - 1)), sizes)
    return PartitionProblem(graph, Devices(devices, (), *links, speeds=speeds), "pipeline_bottleneck")


def _least_bottleneck(problem: PartitionProblem) -> float:
    """Fill the table of the least bottleneck by the last device that works and where it ends."""
    graph, devices = problem.graph, problem.devices
    nodes = graph.nodes
    least = [[math.inf] * (nodes + 1) for _ in range(devices.count)]
    for device, begin in itertools.product(range(devices.count), range(nodes)):
        before = [(0.0, 0.0)] if begin == 0 else []
        for last in range(device if begin else 0):
            received = graph.edge_bytes[begin - 1] * devices.ns_per_byte[last][device]
            before.append((least[last][begin], received + devices.latency_ns[last][device]))
        for end in range(begin + 1, nodes + 1):
            work = sum(graph.node_weights[begin:end]) / devices.speeds[device]
            costs = [max(until, work + received) for until, received in before]
            least[device][end] = min([least[device][end], *costs])
    return min(row[nodes] for row in least)


@pytest.mark.parametrize("seed", range(60))
def test_the_bisection_is_the_table_of_all_cuts(seed: int) -> None:
    draw = random.Random(seed)
    problem = _chain(draw, draw.randint(5, 30), draw.randint(2, 8), draw.choice([0.01, 1.0, 10.0]))
    answer = partitioner_named("exact").partition(problem, Limits())
    assert answer.optimal
    assert check(problem, answer) == pytest.approx(_least_bottleneck(problem), rel=1e-9)


@pytest.mark.parametrize("per_byte", [0.0, 0.1, 100.0])
def test_a_chain_of_ten_thousand_nodes_is_solved_on_512_devices(per_byte: float) -> None:
    problem = _chain(random.Random(1), 10_000, 512, per_byte)
    answer = partitioner_named("exact").partition(problem, Limits())
    assert answer.optimal
    assert answer.cost == answer.bound
    assert list(answer.labels) == sorted(answer.labels)
    if not per_byte:
        free = dataclasses.replace(problem.devices, latency_ns=(), ns_per_byte=())
        unhindered = partitioner_named("exact").partition(
            dataclasses.replace(problem, devices=free), Limits()
        )
        assert unhindered.optimal
        assert unhindered.cost < answer.cost


def test_a_chain_for_which_there_is_no_time_still_gets_an_answer() -> None:
    """What keeps the limits is found at once, and none of the searches goes on behind it."""
    problem = _chain(random.Random(2), 10_000, 512, 10.0)
    answer = partitioner_named("exact").partition(problem, Limits(time_limit_s=1e-9))
    assert answer.bound is not None
    assert not answer.optimal
    assert answer.bound < check(problem, answer) == answer.cost
