"""Graphs of files: what is read, and what is wrong said in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.partition.graphs.sources.attributes import networkx_source
from dse.partition.graphs.sources.chakra import model_source, read_chakra
from dse.partition.graphs.sources.graphml import read_graphml
from dse.partition.graphs.sources.json_graph import json_text, read_json_graph, source_of
from dse.partition.graphs.sources.metis import read_metis
from dse.partition.graphs.sources.source import (
    Operator,
    Rates,
    Source,
    by_module,
    model_graph,
    training_memory,
)
from dse.partition.problem.constraints import find_cycle

DIAMOND = {"node_weights": [1, 2.5, 3, 4], "edges": [[0, 1], [0, 2], [1, 3], [2, 3]]}


def test_json_graph_has_weights_edges_and_devices(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text(json.dumps({**DIAMOND, "parts": 2, "distance": [[0, 2], [0.5, 0]]}))
    source = read_json_graph(path)
    assert source.weights == (1, 2.5, 3, 4)
    assert source.edges == ((0, 1), (0, 2), (1, 3), (2, 3))
    assert source.devices is not None
    assert source.devices.count == 2
    assert source.devices.distance == ((0, 2), (0.5, 0))


def test_json_graph_that_is_written_is_read_again(tmp_path: Path) -> None:
    content = {**DIAMOND, "names": list("abcd"), "edge_bytes": [8, 8, 4, 2], "edge_tensors": [0, 0, 1, 2]}
    content |= {"parameters": [0, 1, 0, 2], "parameter_bytes": [0, 4, 0, 8], "backward": 1.5}
    source = source_of(content, "g")
    path = tmp_path / "again.json"
    path.write_text(json_text(source, source.weights or ()))
    again = read_json_graph(path)
    assert (again.weights, again.edges, again.edge_bytes) == (source.weights, source.edges, (8, 8, 4, 2))
    assert (again.edge_tensors, again.operators, again.backward) == ((0, 0, 1, 2), source.operators, 1.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": [[0, 1], [1, 2], [2, 0]]}, "g: 1 → 2 → 0 → 1 is a cycle; a model graph must have none"),
        ({"edges": [[1, 1]]}, "g: 1 → 1 is a cycle; a model graph must have none"),
        ({"node_weights": [1, -2, 3, 4]}, "g: node_weights[1] is -2; it must be at least 0"),
        ({"node_weights": [1, 10**400, 3, 4]}, "g: node_weights[1] is 1000"),
        (
            {"node_weights": [1, 1e200, 3, 4]},
            "g: node_weights[1] is 1e+200; it must be a number of at most 1e+100",
        ),
        ({"node_weights": [1, "x", 3, 4]}, "g: node_weights[1] is 'x'; it must be a number"),
        ({"node_weights": []}, "g: the graph has no nodes; it must have at least one"),
        ({"edges": [[0, 4]]}, "g: edge 0 is [0, 4]; nodes are 0 to 3"),
        ({"edges": [[0, 1, 2]]}, "g: edges[0] is [0, 1, 2]; it must be a pair of nodes"),
        ({"edges": [[0, 1.5]]}, "g: edges[0] is [0, 1.5]; it must be whole numbers"),
        ({"edge_bytes": [1]}, "g: edge_bytes has 1 entries, but there are 4 edges"),
        ({"names": ["a"]}, "g: names has 1 entries, but there are 4 nodes"),
        ({"weights": [1]}, "g: unknown key weights"),
        ({"parts": 0}, "g: parts is 0; it must be a whole number from 1"),
        (
            {"parts": 3, "distance": [[0, 1], [1, 0]]},
            "g: distance has 2 rows, but parts is 3; they must agree",
        ),
        (
            {"distance": [[0, 1], [1, 0, 2]]},
            "g: distance: row 1 has 3 numbers and there are 2 rows; the matrix must be square",
        ),
        ({"distance": [[0, -1], [1, 0]]}, "g: distance[0][1] is -1; it must be a number from 0 to 1e+100"),
    ],
)
def test_what_is_wrong_with_a_json_graph_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        source_of({**DIAMOND, **change}, "g")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_metis_graph_with_weights_of_nodes_and_edges(tmp_path: Path) -> None:
    path = tmp_path / "g.graph"
    path.write_text("% a comment\n3 2 011\n5 2 7\n6 1 7 3 9\n8 2 9\n")
    source = read_metis(path)
    assert source.weights == (5, 6, 8)
    assert source.edges == ((0, 1), (1, 2))
    assert source.edge_bytes == (7, 9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("3 2\n2\n1 3\n", "has 2 lines of nodes, but line 1 says 3"),
        ("3 2\n2\n1 3\n4\n", "line 4: neighbour 4 is not in 1 to 3"),
        ("3 2\n2\n1 3\n\n", "the edge 2 – 3 is not the same in the line of node 3"),
        ("3 5\n2\n1 3\n2\n", "has 2 edges, but its first line says 5"),
        ("3 2\n2\n1 -3\n2\n", "line 3: '-3' is no whole number from 0"),
        ("2 1 010\n" + "9" * 5000 + " 2\n1 1\n", "line 2: '9+…' is no whole number from 0 of at most 18"),
        ("3 2 010 2\n", "format is 010 2; one weight a node is read"),
    ],
)
def test_what_is_wrong_with_a_metis_graph_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "g.graph"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_metis(path)


GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="w" for="node" attr.name="weight"/><key id="b" for="edge" attr.name="bytes"/>
<graph edgedefault="directed"><node id="x"><data key="w">2.5</data></node><node id="y"/>
<edge source="x" target="y"><data key="b">64</data></edge></graph></graphml>"""


def test_graphml_graph(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    path.write_text(GRAPHML)
    source = read_graphml(path)
    assert source.weights == (2.5, 1)
    assert [operator.name for operator in source.operators] == ["x", "y"]
    assert (source.edges, source.edge_bytes) == (((0, 1),), (64,))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</graphml>", "", "malformed XML"),
        ('target="y"', 'target="z"', "an edge has the target 'z', which is no node"),
        ("2.5", "-1", "weight is '-1'; it must be a number from 0 to 1e"),
        ("<graphml", '<?xml version="1.0" encoding="utf-99"?><graphml', "malformed XML: unknown encoding"),
        ('<node id="y"/>', '<node id="y"><graph/></node>', "has a graph inside a node"),
        ("<graphml", '<!DOCTYPE a [<!ENTITY b "c">]><graphml', "document type declares something"),
        ('id="y"', 'id="x"', "node 'x' occurs twice"),
        (
            'key id="w" for="node"',
            'key id="w" for="edge"',
            "a node has data of the key 'w', which is for 'edge'; write for=\"node\" or for=\"all\" in",
        ),
        ('key="b"', 'key="c"', "an edge has data of 'c', which is no <key> of the file"),
        ("</graph>", "</graph><graph/>", "has 2 <graph>"),
    ],
)
def test_what_is_wrong_with_a_graphml_graph_is_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "g.graphml"
    path.write_text(GRAPHML.replace(old, new))
    with pytest.raises(InputError, match=message):
        read_graphml(path)


@pytest.mark.parametrize(
    ("of", "weights", "sizes"),
    [
        ("edge", (2.5, 1), (64, 1)),
        ("node", (2.5, 7), (64, 1)),
        ("all", (2.5, 7), (64, 1)),
        ("graph", (2.5, 1), (64, 1)),
        (None, (2.5, 7), (64, 1)),
    ],
)
def test_default_weight_of_a_graphml_key_is_for_the_elements_that_it_names(
    of: str | None, weights: tuple[float, ...], sizes: tuple[float, ...], tmp_path: Path
) -> None:
    given = "" if of is None else f' for="{of}"'
    assert defaults(tmp_path, f'<key id="d"{given} attr.name="weight"><default>7</default></key>') == (
        weights,
        sizes,
    )


@pytest.mark.parametrize(("of", "sizes"), [("edge", (64, 9)), ("all", (64, 9)), ("node", (64, 1))])
def test_default_bytes_of_a_graphml_key_are_for_edges(
    of: str, sizes: tuple[float, ...], tmp_path: Path
) -> None:
    key = f'<key id="d" for="{of}" attr.name="bytes"><default>9</default></key>'
    assert defaults(tmp_path, key) == ((2.5, 1), sizes)


def defaults(folder: Path, key: str) -> tuple[tuple[float, ...] | None, tuple[float, ...]]:
    """Return weights and bytes of two nodes and two edges, of each the second without data, under a key."""
    path = folder / "g.graphml"
    second = '<edge source="x" target="y"/></graph>'
    path.write_text(GRAPHML.replace('<key id="w"', f'{key}<key id="w"').replace("</graph>", second))
    source = read_graphml(path)
    return source.weights, source.edge_bytes


def test_weights_of_graphml_edges_are_bytes_where_no_edge_has_bytes(tmp_path: Path) -> None:
    path = tmp_path / "g.graphml"
    path.write_text(GRAPHML.replace('attr.name="bytes"', 'attr.name="weight"'))
    assert read_graphml(path).edge_bytes == (64,)


def test_graphs_of_networkx_are_those_of_their_graphml_files(tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.MultiDiGraph()
    graph.add_node("x", weight=2.5, memory_bytes=8)
    graph.add_edge("x", "y", weight=64)
    graph.add_edge("x", "y")
    graph.add_node("alone", weight=0, name="end", module="m")
    path = tmp_path / "g.graphml"
    networkx.write_graphml(graph, path)
    found = networkx_source(graph)
    assert found == replace(read_graphml(path), name="MultiDiGraph")
    assert (found.weights, found.edges, found.edge_bytes) == ((2.5, 1, 0), ((0, 1), (0, 1)), (64, 1))


def test_edges_of_undirected_networkx_graphs_lead_from_the_first_node() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([("b", "a"), ("a", "c"), ("c", "b")])
    assert networkx_source(graph).edges == ((0, 1), (0, 2), (1, 2))
    graph.add_edge("b", "a", bytes="much")
    with pytest.raises(InputError, match="Graph: bytes of an edge is 'much'; it must be a number from 0"):
        networkx_source(graph)


def test_model_of_the_configuration_is_its_forward_pass() -> None:
    from dse.inputs.models import ModelSpec

    model = ModelSpec("small", 100, 100, 64, 256, 4, 32, 8, 2, fidelity="realistic")
    source = model_source(model)
    names = [operator.name for operator in source.operators]
    assert names[:3] == ["input embedding y", "layer 0 attention q", "layer 0 attention k"]
    assert names[-1] == "output embedding y"
    assert not any("dw" in name or "update" in name for name in names)
    assert by_module(source).operators[1].name == "layer 0 attention"
    assert len(by_module(source).operators) == 6
    assert 1.9 < source.backward < 2.1
    # Embeddings twice 100 x 64; a layer 4 x 64 x 64 of attention and 2 x 64 x 256, 2 bytes each.
    parameters = sum(operator.parameter_bytes for operator in source.operators)
    assert parameters == 2 * (2 * 100 * 64 + 2 * (4 * 64 * 64 + 2 * 64 * 256))
    assert sum(operator.parameters for operator in source.operators) == parameters / 2


def test_trace_of_a_rank_is_a_graph_of_all_its_nodes(tmp_path: Path) -> None:
    from dse.inputs.models import ModelSpec
    from dse.inputs.strategies import Strategy
    from dse.simulation.workloads import generate

    workload = generate(ModelSpec("small", 100, 100, 64, 256, 4, 32, 8, 2), Strategy(tp=2))
    path = tmp_path / "trace.0.et"
    path.write_bytes(workload.trace_bytes(0))
    source = read_chakra(path)
    assert len(source.operators) == workload.counts(0).nodes
    assert len(source.edges) == workload.counts(0).data_deps + workload.counts(0).ctrl_deps
    assert sum(operator.flops for operator in source.operators) == workload.counts(0).num_ops
    path.write_bytes(workload.trace_bytes(0)[:500])
    with pytest.raises(InputError, match=r"trace\.0\.et"):
        read_chakra(path)


def test_a_node_takes_what_the_slower_of_operations_and_memory_takes() -> None:
    rates = Rates(flops_per_ns=10, bytes_per_ns=4)
    assert rates.ns(Operator("a", flops=100, touched_bytes=8)) == 10
    assert rates.ns(Operator("a", flops=100, touched_bytes=80)) == 20
    assert rates.ns(Operator("a", flops=100, ns=3)) == 3
    assert Rates(10).ns(Operator("a", flops=100, touched_bytes=1e9)) == 10


def test_memory_is_copies_of_parameters_and_activations_in_flight() -> None:
    source = Source("s", (Operator("a", parameter_bytes=10, activation_bytes=3),), ())
    assert training_memory(source, "adam", 4) == (52,)
    assert training_memory(source, "none", 1) == (13,)
    assert model_graph(source, "memory", Rates(1), (52,)).node_weights == (52,)


edges_of_dags = st.integers(2, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 2), st.integers(1, n - 1)).filter(lambda e: e[0] < e[1])),
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
    )
)


@given(edges_of_dags)
def test_modules_of_a_graph_never_wait_for_each_other(
    drawn: tuple[int, list[tuple[int, int]], list[int]],
) -> None:
    nodes, edges, modules = drawn
    operators = tuple(Operator(f"o{n}", f"m{modules[n]}", flops=n) for n in range(nodes))
    source = by_module(Source("s", operators, tuple(edges), (2.0,) * len(edges)))
    assert find_cycle(len(source.operators), source.edges) == []
    assert sum(operator.flops for operator in source.operators) == sum(range(nodes))
    assert sorted(name for names in source.members for name in names) == sorted(o.name for o in operators)
