"""Drawings of partitions: modules collapse, thousands of nodes become readable, places do not overlap."""

from __future__ import annotations

from dse.partition.graphs.graph import ModelGraph
from dse.partition.graphs.sources.source import Operator, Source
from dse.partition.page.page import READABLE, levels, places, readable


def _nested(layers: int) -> tuple[Source, ModelGraph]:
    operators = tuple(
        Operator(f"o{layer}.{part}", f"layers.{layer}.{'attention' if part < 4 else 'mlp'}")
        for layer in range(layers)
        for part in range(8)
    )
    edges = tuple((node, node + 1) for node in range(len(operators) - 1))
    names = tuple(operator.name for operator in operators)
    return Source("s", operators, edges), ModelGraph((1.0,) * len(operators), edges, names=names)


def test_thousands_of_nodes_collapse_to_modules() -> None:
    source, graph = _nested(100)
    labels = [node // 400 for node in range(800)]
    drawn = levels(source, graph, labels)
    assert [len(level.names) for level in drawn] == [100, 200, 800]
    assert drawn[readable(drawn)].title == "modules to depth 2"
    data = drawn[0].to_json(graph, labels)
    assert data["shares"][0] == [[0, 8, 8.0]]
    assert sum(edge[2] for edge in data["edges"]) == 99
    assert [edge[4] for edge in data["edges"]].count(1) == 1


def test_nodes_without_modules_collapse_to_blocks_of_a_device() -> None:
    edges = tuple((node, node + 1) for node in range(9999))
    graph = ModelGraph((1.0,) * 10000, edges, names=tuple(map(str, range(10000))))
    source = Source("s", tuple(Operator(str(node)) for node in range(10000)), edges)
    (level,) = levels(source, graph, [node // 5000 for node in range(10000)])
    assert len(level.names) <= READABLE + 2
    assert level.names[0] == "0 … 83 (84)"
    shares = level.to_json(graph, [node // 5000 for node in range(10000)])["shares"]
    assert all(len(share) == 1 for share in shares)


def test_places_follow_edges_and_are_apart() -> None:
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]
    found = places(5, edges)
    assert [place[0] for place in found] == [0, 1, 1, 2, 3]
    assert len({tuple(place) for place in found}) == 5
    long = places(400, [(n, n + 1) for n in range(399)])
    assert len({tuple(place) for place in long}) == 400
    assert max(place[0] for place in long) < 40
