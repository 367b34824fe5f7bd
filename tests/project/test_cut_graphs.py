"""The graphs by seed whose cuts are compared: as written here, and others for other seeds; the comparison."""

from __future__ import annotations

import pytest

from benchmarks import cases, cuts
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


def test_without_kahip_nothing_is_compared_and_a_note_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cuts, "is_installed", lambda _: False)
    assert list(cuts.cuts(cases.quick(), 1)) == []
    assert "kahip is missing" in capsys.readouterr().err


def test_the_search_has_the_time_of_all_runs_of_kahip_and_the_row_both_cuts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    budgets = []

    def by_search(_: object, cpu_s: float) -> tuple[int, float]:
        budgets.append(cpu_s)
        return 60, 0.5

    monkeypatch.setattr(cuts, "is_installed", lambda _: True)
    monkeypatch.setattr(cuts, "_by_kahip", lambda _: (80, 0.75, 10))
    monkeypatch.setattr(cuts, "_by_search", by_search)
    (row,) = cuts.cuts(cases.quick(), 1)
    assert budgets == [0.75]
    assert (row["graph"], row["nodes"], row["parts"]) == ("plate", 1109, 8)
    assert (row["ours_cut"], row["kahip_cut"], row["more_pct"], row["kahip_seeds"]) == (60, 80, -25.0, 10)
