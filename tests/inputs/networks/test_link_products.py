"""Products of rings, lines, cliques and switches as graphs of links, and what shows that nodes are alike."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.link_products import (
    Dimension,
    fully_connected,
    hypercube,
    link_kind,
    mesh,
    product,
    torus,
)
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.csv import read_link_graph

TOPOLOGIES = Path(__file__).parents[2] / "golden" / "topologies"
FAST, SLOW = link_kind(500, 50), link_kind(1300, 25)


def links(graph: LinkGraph) -> set[tuple[int, int, Fraction, Fraction]]:
    ends = zip(graph.sources.tolist(), graph.destinations.tolist(), graph.kind_of.tolist(), strict=True)
    return {(source, to, *graph.kinds[kind]) for source, to, kind in ends}


def test_a_ring_of_two_has_one_link_each_way() -> None:
    assert links(torus((2,), FAST)) == {(0, 1, 500, 50), (1, 0, 500, 50)}


def test_a_line_ends_at_its_ends_and_a_ring_does_not() -> None:
    assert sorted(pair[:2] for pair in links(mesh((3,), FAST))) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert len(torus((3,), FAST)) == 6


def test_the_first_dimension_has_successive_numbers() -> None:
    graph = product([Dimension("ring", 3, FAST), Dimension("full", 2, SLOW)])
    assert {pair for pair in links(graph) if pair[0] == 1} == {
        (1, 2, 500, 50),
        (1, 0, 500, 50),
        (1, 4, 1300, 25),
    }


def test_a_switch_is_a_link_a_pair_with_its_share_of_a_port_and_two_hops() -> None:
    graph = product([Dimension("switch", 4, link_kind(500, 60))])
    assert len(graph) == 12
    assert graph.kinds == (link_kind(1000, 20),)


def test_a_ring_with_cliques_and_switches_is_the_one_of_the_file() -> None:
    built = product(
        [
            Dimension("ring", 2, link_kind(500, 200)),
            Dimension("full", 4, link_kind(500, "33.3333333")),
            Dimension("full", 4, link_kind(1000, "16.6666667")),
        ]
    )
    assert links(built) == links(read_link_graph(TOPOLOGIES / "rfs_2_4_4_500_50.csv"))


@pytest.mark.parametrize(
    ("graph", "sizes", "generators"),
    [
        (torus((4, 3), FAST), (4, 3), [1, 3, 4, 8]),
        (hypercube(3, FAST), (2, 2, 2), [1, 2, 4]),
        (fully_connected(6, FAST), (6,), [1, 2, 3, 4, 5]),
        (product([Dimension("full", 4, FAST), Dimension("ring", 2, SLOW)]), (4, 2), [1, 2, 3, 4]),
    ],
)
def test_translations_have_the_dimensions_and_the_links_of_node_0(
    graph: LinkGraph, sizes: tuple[int, ...], generators: list[int]
) -> None:
    found = graph.translations
    assert found is not None
    assert (found.sizes, found.generators.tolist()) == (sizes, generators)


def test_a_graph_with_links_of_random_kinds_has_no_translations() -> None:
    assert read_link_graph(TOPOLOGIES / "randhet_4_4_1_500_50.csv").translations is None


def test_meshes_and_broken_tori_have_no_translations() -> None:
    assert mesh((4, 4), FAST).translations is None
    graph = torus((4, 4), FAST)
    broken = np.zeros(len(graph), dtype=np.bool_)
    broken[7] = True
    assert graph.without(broken).translations is None


def test_one_link_of_another_kind_is_enough_to_have_none() -> None:
    graph = torus((32, 32), FAST)
    kinds = graph.kind_of.copy()
    kinds[1234] = 1
    odd = LinkGraph(graph.npus, graph.nodes, graph.sources, graph.destinations, kinds, (FAST, SLOW))
    assert odd.translations is None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_links_of_translations_lead_from_each_node_by_the_same_offset(data: st.DataObject) -> None:
    shapes = st.sampled_from(("ring", "full", "switch"))
    dimensions = data.draw(
        st.lists(
            st.builds(Dimension, shapes, st.integers(2, 5), st.sampled_from((FAST, SLOW))),
            min_size=1,
            max_size=3,
        )
    )
    graph = product(dimensions)
    shuffled = np.array(
        data.draw(st.permutations(range(len(graph)))) if len(graph) < 40 else range(len(graph))
    )
    ends = (graph.sources[shuffled], graph.destinations[shuffled], graph.kind_of[shuffled])
    graph = LinkGraph(graph.npus, graph.nodes, *ends, graph.kinds)
    found = graph.translations
    assert found is not None
    nodes = np.arange(graph.nodes)[:, None]
    there = found.add(nodes, found.generators[None, :])
    assert (graph.sources[found.link_of] == nodes).all()
    assert (graph.destinations[found.link_of] == there).all()
    assert (graph.kind_of[found.link_of] == found.kind_of).all()
