"""Permutations of nodes that keep all links: chunks that lead to others."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dse.collectives import Collective, Problem
from dse.collectives.check.checker import check
from dse.collectives.search.images import images_of
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph
from tests.collectives.link_graphs import MIB, star
from tests.collectives.test_passive_switches import fat_tree, islands, passive


def problem_on(graph: LinkGraph, name: str = "all_reduce") -> Problem:
    return Problem(graph, Collective(name, graph.npus, 2), Fraction(MIB))


@pytest.mark.parametrize(("graph", "most"), [(star(8), 8), (fat_tree(), 8), (islands(8), 16)])
def test_the_largest_group_moves_all_links_of_a_star_a_fat_tree_and_islands(
    graph: LinkGraph, most: int
) -> None:
    """A fat tree's leaves are turned, and its two spines with pairs of NPUs: 16 would keep links up."""
    assert len(next(images_of(problem_on(graph))).links) == most


@pytest.mark.parametrize("graph", [star(6), fat_tree(), islands(4)])
def test_each_image_leads_links_to_links_of_a_kind_as_it_leads_nodes(graph: LinkGraph) -> None:
    for images in images_of(problem_on(graph)):
        for links, chunks in zip(images.links, images.chunks, strict=True):
            node = np.full(graph.nodes, -1)
            node[graph.sources] = graph.sources[links]
            assert (node[graph.sources] == graph.sources[links]).all()
            assert (node[graph.destinations] == graph.destinations[links]).all()
            assert (graph.kind_of[links] == graph.kind_of).all()
            assert (chunks % graph.npus == node[np.arange(len(chunks)) % graph.npus]).all()
        moved = np.sort(images.links, axis=0)
        assert (moved[1:] != moved[:-1]).all()


def test_switches_lead_to_those_of_the_same_abilities() -> None:
    """Of two islands whose switches both copy the first one's NPUs lead to the second one's, else not."""
    graph = islands(8)
    for able, most in (({16, 17}, 16), ({16}, 8), ({16, 17, 18}, 16)):
        weak = frozenset(range(16, 19)) - able
        groups = list(images_of(problem_on(replace(graph, cannot_copy=weak, cannot_add=weak))))
        assert len(groups[0].links) == most
        for images in groups:
            for links in images.links:
                node = np.full(graph.nodes, -1)
                node[graph.destinations] = graph.destinations[links]
                assert {int(node[switch]) for switch in able} == able


def test_an_all_gather_past_switches_of_which_some_copy_is_valid() -> None:
    weak = frozenset({17, 18})
    problem = problem_on(replace(islands(8), cannot_copy=weak, cannot_add=weak), "all_gather")
    assert check(synthesize(problem, effort=Effort(trials=2), compare=False).schedule).is_valid


def test_links_of_different_speeds_and_broadcasts_have_no_images() -> None:
    uneven = LinkGraph.of(
        3, 4, [(a, b, 0, 10 + a + b) for a, b in ((0, 3), (3, 1), (1, 3), (3, 2), (2, 3), (3, 0))]
    )
    assert list(images_of(problem_on(passive(uneven)))) == []
    assert list(images_of(problem_on(star(4), "broadcast"))) == []
