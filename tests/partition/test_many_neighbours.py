"""A node of many neighbours costs no square of them, and arrays of a wrong length are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dse.base.solvers import PartitionArrays
from dse.partition.graphs.graph import ModelGraph
from dse.partition.graphs.merged import merged
from dse.partition.problem.problem import Devices, PartitionProblem
from dse.partition.search.cut_bounds import cut_bound
from dse.partition.search.partitioner import Limits
from dse.partition.search.partitioners import partitioner_named


def _star(leaves: int) -> ModelGraph:
    return ModelGraph((1.0,) * (leaves + 1), tuple((0, v) for v in range(1, leaves + 1)))


def _wheel(leaves: int) -> ModelGraph:
    rim = tuple((v, v + 1) for v in range(1, leaves))
    return ModelGraph((1.0,) * (leaves + 1), tuple((0, v) for v in range(1, leaves + 1)) + rim)


def test_a_star_of_25000_leaves_is_cut_where_its_hub_is_full() -> None:
    """The hub's device is filled with leaves: 12,875 nodes at 3 % more than the mean; all others are cut."""
    problem = PartitionProblem(_star(24_999), Devices(2), "process_mapping")
    answer = partitioner_named("fast").partition(problem, Limits(restarts=1))
    assert answer.cost == 25_000 - 12_875


def test_the_bound_of_a_wheel_of_20000_nodes_ends() -> None:
    problem = PartitionProblem(_wheel(20_000), Devices(2), "process_mapping")
    assert 1.0 <= cut_bound(merged(problem), 10_000.0) <= 9_700.0


def test_a_star_is_mapped_by_a_tree_decomposition_without_a_table_per_edge() -> None:
    """Tables of all edges at once would be 50,000 x 64 x 64 numbers: 1.6 GB."""
    leaves, count = 50_000, 64
    distance = tuple(tuple(float(a != b) for b in range(count)) for a in range(count))
    problem = PartitionProblem(
        _star(leaves), Devices(count, distance), "process_mapping", {1: 1, 2: 2, 3: 2}, imbalance=float(count)
    )
    labels = merged(problem).arrays.least_mapping(1e9, 60.0)
    assert list(labels[:4]) == [2, 1, 2, 2]
    assert set(labels[4:].tolist()) == {2}


def _arrays(leaves: int = 3) -> Any:
    return merged(PartitionProblem(_star(leaves), Devices(2), "process_mapping")).arrays


def test_arrays_of_a_wrong_length_are_refused() -> None:
    arrays = _arrays()
    with pytest.raises(ValueError, match="cost has 2 numbers, must have 3"):
        arrays.least_cut_into_pieces(np.ones(2), 1.0, 9.0, 10, 1.0)
    with pytest.raises(ValueError, match="known has 3 numbers, must have 4"):
        arrays.multilevel(0, 1, 1, np.zeros(3, np.int32), 1.0, False)
    with pytest.raises(ValueError, match=r"known\[1\] is 2, must be below 2"):
        arrays.multilevel(0, 1, 1, np.array([0, 2, 0, 0], np.int32), 1.0, False)
    with pytest.raises(ValueError, match=r"known\[0\] is -1, must be below 2"):
        arrays.multilevel(0, 1, 1, np.array([-1, 1, 0, 0], np.int32), 1.0, False)
    with pytest.raises(ValueError, match="devices has 1 numbers, must have 2"):
        arrays.contiguous_sharding(np.zeros(1, np.uint32), 9.0)
    with pytest.raises(ValueError, match=r"devices\[1\] is 2, must be below 2"):
        arrays.contiguous_sharding(np.array([0, 2], np.uint32), 9.0)


def test_arrays_of_a_problem_must_agree() -> None:
    nodes = (np.ones(2), np.zeros(2), np.full(2, -1, np.int32), np.arange(2, dtype=np.uint32))
    edges = (np.zeros(1, np.uint32), np.ones(1, np.uint32), np.zeros(1, np.uint32), np.ones(1))
    links, devices = (np.zeros(4),) * 3, (np.ones(2), np.full(2, np.inf))
    good: dict[str, Any] = {
        "objective": 2,
        "free_order": False,
        "nodes": (*nodes, np.arange(2, dtype=np.uint32)),
        "edges": edges,
        "links": links,
        "devices": devices,
        "weight_limit": 2.0,
    }
    assert PartitionArrays(**good).has_no_limits
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"nodes": (np.ones(3), *good["nodes"][1:])}, "memory has 2 numbers, must have 3"),
        ({"edges": (np.array([2], np.uint32), *edges[1:])}, r"from\[0\] is 2, must be below 2"),
        ({"links": (np.zeros(3), *links[1:])}, "distance has 3 numbers, must have 4"),
        ({"devices": (np.ones(2), np.ones(1))}, "capacity has 1 numbers, must have 2"),
        ({"objective": 4}, "objective must be 0 to 3"),
    ]
    for change, message in wrong:
        with pytest.raises(ValueError, match=message):
            PartitionArrays(**{**good, **change})
