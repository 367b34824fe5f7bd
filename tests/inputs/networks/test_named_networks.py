"""Named networks: the same as made link by link, whatever their size; networkx's within memory and time."""

from __future__ import annotations

import itertools
import json
import math
import random
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.base.cancellation import Deadline
from dse.base.errors import InputError
from dse.inputs.networks import LinkGraph, generated
from dse.inputs.networks.named import named_network


def listed(nodes: int, pairs: list[tuple[int, int]], second: set[int], slow: int | None) -> LinkGraph:
    """Links of 3 ns and 5 GB/s both ways; `second` ones have 7 ns and 2 GB/s; `slow` half the bandwidth."""
    rows = []
    for place, (one, other) in enumerate(pairs):
        latency, bandwidth = (7, Fraction(2)) if place in second else (3, Fraction(5))
        bandwidth /= 2 if place == slow else 1
        rows += [(one, other, latency, bandwidth), (other, one, latency, bandwidth)]
    return LinkGraph.of(nodes, nodes, sorted(rows))


def lattice(sizes: list[int], wraps: bool) -> list[tuple[int, int]]:
    """Pairs by node, then by dimension; a dimension of two has one link, not two."""
    pairs = []
    for node in range(math.prod(sizes)):
        for place, size in enumerate(sizes):
            stride = math.prod(sizes[:place])
            at = node // stride % size
            if at + 1 < size:
                pairs.append((node, node + stride))
            elif wraps and size > 2:
                pairs.append((node, node - at * stride))
    return pairs


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4).filter(lambda sizes: math.prod(sizes) > 1),
    st.booleans(),
    st.integers(0, 4),
    st.integers(0, 3),
)
@settings(max_examples=60, deadline=None)
def test_lattices_are_those_made_link_by_link(
    sizes: list[int], wraps: bool, quarters: int, seed: int
) -> None:
    pairs = lattice(sizes, wraps)
    second = random.Random(seed).sample(range(len(pairs)), round(Fraction(quarters, 4) * len(pairs)))
    kinds = f"alpha=3__beta=5__alpha2=7__beta2=2__proportion={quarters / 4}__seed={seed}"
    network = named_network(f"{'torus' if wraps else 'grid'}__dim={sizes}__{kinds}")
    assert network.sizes == tuple(sizes)
    assert network.graph.digest == listed(math.prod(sizes), pairs, set(second), None).digest


@pytest.mark.parametrize("size", [2, 3, 6])
def test_rings_with_a_slow_link_are_those_made_link_by_link(size: int) -> None:
    graph = named_network(f"ring__dim=[{size}]__slow=0.5__alpha=3__beta=5").graph
    pairs = lattice([size], wraps=True)
    assert graph.digest == listed(size, pairs, set(), len(pairs) - 1).digest


@pytest.mark.parametrize(
    ("name", "nodes", "pairs"),
    [
        ("fc__n=6", 6, list(itertools.combinations(range(6), 2))),
        ("tree__r=2__h=2", 7, [((node - 1) // 2, node) for node in range(1, 7)]),
        ("nx_cycle_graph__n=4", 4, [(0, 1), (0, 3), (1, 2), (2, 3)]),
        ("nx_grid_2d_graph__m=2__n=2", 4, [(0, 1), (0, 2), (1, 3), (2, 3)]),
    ],
)
def test_other_families_are_those_made_link_by_link(
    name: str, nodes: int, pairs: list[tuple[int, int]]
) -> None:
    if name.startswith("nx_"):
        pytest.importorskip("networkx")
    assert named_network(f"{name}__alpha=3__beta=5").graph.digest == listed(nodes, pairs, set(), None).digest


def test_a_million_nodes_have_all_their_links() -> None:
    graph = named_network("grid__dim=[1024,1024]").graph
    assert (graph.nodes, len(graph)) == (1 << 20, 4 * 1024 * 1023)


def test_a_graph_of_networkx_is_not_waited_for_beyond_the_time_limit() -> None:
    pytest.importorskip("networkx")
    message = r"'nx_turan_graph.*' is not made after .* s; take smaller arguments, or a larger"
    with pytest.raises(InputError, match=message):
        named_network("nx_turan_graph__n=20000__r=20", Deadline.after(1))


def test_a_graph_of_networkx_has_so_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("networkx")
    monkeypatch.setattr(generated, "MOST_BYTES", 1 << 30)
    with pytest.raises(InputError, match="needs more than 1 GiB to be made; take smaller arguments"):
        named_network("nx_kneser_graph__n=60__k=20")


def test_the_process_of_networkx_ends_when_its_parent_does() -> None:
    pytest.importorskip("networkx")
    command = [sys.executable, "-c", generated._MAIN, json.dumps(sys.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(["turan_graph", {"n": "20000", "r": "20"}, 4 << 30]).encode() + b"\n")
        process.stdin.close()  # as the end of its parent does
        assert process.wait(60) == generated._ORPHANED
