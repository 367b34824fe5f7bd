"""The graphs by seed whose cuts are compared: as written here, and others for other seeds."""

from __future__ import annotations

import pytest

from benchmarks.cut_graphs import GRAPHS, KINDS, SeededGraph
from dse.partition.graphs.graph import ModelGraph


def make(kind: str, seed: int) -> ModelGraph:
    return SeededGraph(kind, 1000, 4).make(seed)


SIZES = {
    "plate": (1100, 1627),
    "grid": (1000, 2700),
    "geometric": (995, 3252),
    "body": (993, 3836),
    "delaunay": (1000, 2981),
    "rmat": (801, 5944),
    "power": (1000, 2994),
    "layers": (999, 1836),
    "branches": (1049, 1409),
}


def test_the_list_has_every_kind_from_1000_to_100000_nodes_and_four_numbers_of_parts() -> None:
    assert len(GRAPHS) == 34
    assert {graph.kind for graph in GRAPHS} == set(KINDS)
    assert {graph.parts for graph in GRAPHS} == {2, 4, 8, 16}
    assert (min(graph.nodes for graph in GRAPHS), max(graph.nodes for graph in GRAPHS)) == (1000, 100_000)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_makes_one_graph_and_another_seed_another(kind: str) -> None:
    assert (make(kind, 1).nodes, len(make(kind, 1).edges)) == SIZES[kind]
    assert make(kind, 1).edges == make(kind, 1).edges != make(kind, 2).edges


@pytest.mark.parametrize("kind", KINDS)
def test_edges_lead_upwards_once_each_and_reach_every_node(kind: str) -> None:
    graph = make(kind, 3)
    assert all(u < v for u, v in graph.edges)
    assert len(set(graph.edges)) == len(graph.edges)
    assert {node for edge in graph.edges for node in edge} == set(range(graph.nodes))


def test_geometric_nodes_are_joined_exactly_where_they_are_near() -> None:
    import numpy as np

    from benchmarks.cut_graphs import _near

    points = np.random.default_rng(5).random((200, 3))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    expected = {(int(u), int(v)) for u, v in zip(*np.nonzero(apart <= 0.2), strict=True) if u < v}
    assert {(int(u), int(v)) for u, v in _near(points, 0.2)} == expected
    assert len(expected) > 300
