"""Costs computed by hand, and what is wrong with a problem or a partition."""

from __future__ import annotations

import dataclasses
import re

import pytest

from dse.base.errors import InputError
from dse.partition.graphs.graph import ModelGraph
from dse.partition.objectives import evaluate, stage_times
from dse.partition.problem.constraints import InfeasiblePartition
from dse.partition.problem.problem import Devices, Partition, PartitionProblem
from dse.partition.problem.validation import validate
from dse.partition.search.partitioner import Limits
from dse.partition.search.partitioners import partitioner_named
from dse.testing.partitioners import check

DISTANCE = ((0.0, 3.0), (5.0, 0.0))
DIAMOND = ModelGraph(
    (4.0, 2.0, 6.0, 1.0), ((0, 1), (0, 2), (1, 3), (2, 3)), (10.0, 10.0, 20.0, 30.0), (7, 7, 8, 9)
)
DEVICES = Devices(2, DISTANCE, ((0.0, 1.0), (1.0, 0.0)), ((0.0, 0.1), (0.1, 0.0)), (1.0, 2.0))


def test_sharding_cost_is_squared_imbalance_and_distance_of_cut_edges() -> None:
    # loads 6 and 7, mean 6.5; edges 0 -> 2 (3) and 1 -> 3 (3)
    assert evaluate(PartitionProblem(DIAMOND, DEVICES), (0, 0, 1, 1)) == 0.25 + 0.25 + 6.0
    assert evaluate(PartitionProblem(DIAMOND, DEVICES), (1, 1, 0, 0)) == 0.5 + 10.0


def test_process_mapping_is_bytes_times_distance() -> None:
    problem = PartitionProblem(DIAMOND, DEVICES, "process_mapping", imbalance=0.1)
    assert evaluate(problem, (0, 0, 1, 1)) == 3.0 * (10 + 20)
    with pytest.raises(
        InfeasiblePartition, match=r"device 0 needs 10 of weight, it has 7.15 by imbalance=0.1"
    ):
        evaluate(problem, (0, 1, 0, 1))


def test_a_tensor_is_received_once_by_a_device() -> None:
    problem = PartitionProblem(DIAMOND, DEVICES, "pipeline_bottleneck")
    assert stage_times(problem, (0, 1, 1, 1)) == ([4.0, 4.5], [0.0, 2.0])
    assert evaluate(problem, (0, 1, 1, 1)) == 6.5


def test_stages_go_forward_in_the_order_of_devices_or_in_some_order() -> None:
    problem = PartitionProblem(DIAMOND, DEVICES, "pipeline_bottleneck")
    with pytest.raises(InfeasiblePartition, match="edge 0 -> 1 goes back from stage 1 to stage 0"):
        evaluate(problem, (1, 0, 0, 0))
    free = dataclasses.replace(problem, free_order=True)
    assert evaluate(free, (1, 0, 0, 0)) == 9.0 + 2.0
    with pytest.raises(InfeasiblePartition, match="wait for each other"):
        evaluate(free, (0, 1, 0, 0))


def test_latency_runs_the_longest_way_first_and_transfers_beside_work() -> None:
    problem = PartitionProblem(DIAMOND, DEVICES, "latency")
    # order 0, 2, 1, 3; one device: 13. Node 2 on device 1: 4 + 2 -> 9; node 1: 6; node 3 on 0: 9 + 4 + 1.
    assert evaluate(problem, (0, 0, 0, 0)) == 13.0
    assert evaluate(problem, (0, 0, 1, 0)) == 14.0
    # node 1 ends on device 0 at 6, its tensor arrives at 9, as node 2 ends.
    assert evaluate(problem, (0, 0, 1, 1)) == 9.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objective": "speed"}, "objective=speed: allowed are"),
        ({"graph": ModelGraph((1.0, -2.0), ())}, "node_weights[1]=-2: it must be 0 or more"),
        ({"graph": ModelGraph((1.0, float("nan")), ())}, "node_weights[1]=nan: a finite number is needed"),
        ({"graph": ModelGraph((), ())}, "the graph has no nodes"),
        (
            {"graph": ModelGraph((1.0, 1.0), ((0, 2),))},
            "edges[0]=[0, 2]: two nodes between 0 and 1 are needed",
        ),
        ({"graph": ModelGraph((1.0,), ())}, "1 nodes on 2 devices"),
        ({"graph": ModelGraph((1.0, 1.0), ((0, 1),), (1.0, 2.0))}, "edge_bytes has 2 entries, not 1"),
        ({"devices": Devices(2, ((0.0, 1.0), (1.0,)))}, "it must be square, 2 x 2 for 2 devices"),
        ({"devices": Devices(2, ((0.0, 1.0, 1.0),) * 2)}, "distance has 2 rows, and a row of 3 entries"),
        ({"devices": Devices(2, ((0.0, -1.0), (1.0, 0.0)))}, "distance[0][1]=-1: it must be 0 or more"),
        ({"devices": Devices(2, speeds=(1.0, 0.0))}, "speeds[1]=0: it must be above 0"),
        ({"devices": Devices(0)}, "devices=0: a whole number of at least 1"),
        ({"devices": Devices(2, tiers=(2, 3))}, "tiers 2 x 3 are 6 devices, not 2"),
        ({"pinned": {9: 0}}, "pinned node 9: allowed are 0 to 3"),
        ({"pinned": {1: 5}}, "node 1 is pinned to device 5: allowed are 0 to 1"),
        ({"together": ((0, 8),)}, "together: node 8"),
        ({"imbalance": -0.5}, "imbalance=-0.5"),
    ],
)
def test_what_is_wrong_with_a_problem_is_named(change: dict[str, object], message: str) -> None:
    problem = dataclasses.replace(PartitionProblem(DIAMOND, Devices(2)), **change)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=re.escape(message)):
        validate(problem)


@pytest.mark.parametrize("objective", ["pipeline_bottleneck", "latency"])
def test_a_cycle_is_named_where_an_order_is_needed(objective: str) -> None:
    graph = ModelGraph((1.0,) * 4, ((0, 1), (1, 2), (2, 1), (2, 3)))
    with pytest.raises(InputError, match=r"the graph has a cycle \(\d -> \d -> \d\): " + objective):
        validate(PartitionProblem(graph, Devices(2), objective))
    validate(PartitionProblem(graph, Devices(2)))


def test_groups_pinned_apart_are_refused() -> None:
    problem = PartitionProblem(DIAMOND, Devices(2), pinned={0: 0, 3: 1}, together=((0, 1), (1, 3)))
    with pytest.raises(InfeasiblePartition, match="node 0 and node 3 must be together, but are pinned"):
        partitioner_named("exact").partition(problem, Limits())


def test_the_checker_finds_wrong_costs_bounds_and_claims() -> None:
    problem = PartitionProblem(DIAMOND, DEVICES)
    right = Partition((0, 0, 1, 1), 6.5, 1.0, False, "mine", 0.0)
    assert check(problem, right) == 6.5
    for wrong, message in (
        ({"cost": 6.0}, "the labels cost 6.5"),
        ({"bound": 7.0}, "bound=7 is above the cost"),
        ({"optimal": True}, "optimal, but"),
    ):
        with pytest.raises(InputError, match=message):
            check(problem, dataclasses.replace(right, **wrong))  # type: ignore[arg-type]
    with pytest.raises(InfeasiblePartition, match="device 1 has no node"):
        check(problem, dataclasses.replace(right, labels=(0, 0, 0, 0)))
