"""Lower bounds: what they say of graphs that one can check by hand, and that no valid schedule beats them."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.link_products import Dimension, hypercube, link_kind, mesh, product, torus
from dse.collectives import Collective, LinkModel, Problem
from dse.collectives.bounds import best_bound, lower_bounds
from dse.inputs.networks import LinkGraph
from tests.collectives.schedules import greedy, random_graph
from tests.collectives.schedules import torus as link_torus

MIB = Fraction(1 << 20)
# With 10^6 bytes a chunk takes 10 µs at 100 GB/s, as in the proven optima.
SMALL = Fraction(1_000_000)
FAST = link_kind(0, 100)
ROOTED = ("broadcast", "scatter", "gather", "reduce")
NAMES = ("all_gather", "all_to_all", "reduce_scatter", "all_reduce", *ROOTED)


def bounds_us(
    name: str, graph: LinkGraph, k: int = 1, size: Fraction = SMALL, model: LinkModel | None = None
) -> dict[str, float]:
    problem = Problem(graph, Collective(name, graph.npus, k), size, model or LinkModel())
    return {bound.name: bound.time_ps / 1e6 for bound in lower_bounds(problem)}


def rfs(ring: int, full: int, switch: int) -> LinkGraph:
    """A ring, a clique and an unrolled switch, as in the examples of TACOS."""
    sizes = (("ring", ring, 500, "200"), ("full", full, 500, Fraction(100, full - 1)))
    ports = Dimension("switch", switch, link_kind(500, 50))
    return product([*(Dimension(s, n, link_kind(ns, gbps)) for s, n, ns, gbps in sizes), ports])  # type: ignore[arg-type]


def test_an_all_gather_on_a_mesh_waits_for_the_two_links_into_a_corner() -> None:
    graph = mesh((4, 4), FAST)
    best = best_bound(Problem(graph, Collective("all_gather", 16), SMALL))
    assert (best.name, best.time_ps, best.nodes) == ("ingress", 80_000_000, (0,))


def test_bounds_of_a_torus_are_those_of_the_specification() -> None:
    found = bounds_us("all_gather", torus((4, 4, 4), link_kind(500, 50)), size=MIB)
    assert found["ingress"] == found["all_sends"] == 236.18672
    assert (found["egress"], found["distance"]) == (21.47152, 128.82912)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [((2, 4, 4), 159.7864), ((2, 4, 8), 339.5443), ((4, 8, 4), 305.1155), ((4, 8, 8), 617.2026)],
)
def test_late_chunks_still_have_to_spread_over_the_ring(sizes: tuple[int, int, int], expected: float) -> None:
    # The plain entry window says 132.83, 307.59, 305.12 and 591.20.
    assert bounds_us("all_gather", rfs(*sizes), size=MIB)["entry_window"] == pytest.approx(expected, abs=1e-4)


def test_a_rule_of_the_spread_can_be_checked_by_hand() -> None:
    # Two pairs, joined inside by links of 1 and between them by links of 10: both chunks of the other pair
    # come in at 10, one to each NPU, and then cross the pair.
    fast, slow = link_kind(0, 1), link_kind(0, Fraction(1, 10))
    graph = product([Dimension("full", 2, fast), Dimension("full", 2, slow)])
    best = best_bound(Problem(graph, Collective("all_gather", 4), Fraction(1)))
    assert best.time_ps == 11_000
    assert best.name == "distance"
    assert bounds_us("all_gather", graph, size=Fraction(1))["entry_window"] == 0.011


def test_a_broadcast_of_many_chunks_waits_for_the_way_and_for_the_last_links() -> None:
    assert bounds_us("broadcast", torus((6,), FAST), k=4)["ingress"] == 40.0
    assert bounds_us("broadcast", mesh((3, 3), FAST), k=4)["ingress"] == 50.0


def test_an_all_to_all_waits_for_the_middle_of_the_graph() -> None:
    assert bounds_us("all_to_all", mesh((3, 2), FAST))["cut"] == 40.0
    assert bounds_us("all_to_all", torus((8,), FAST))["cut"] == 80.0
    assert bounds_us("all_to_all", mesh((8, 8), FAST))["cut"] == 1280.0


def test_an_all_reduce_needs_two_messages_a_chunk_and_npu_but_two() -> None:
    assert bounds_us("all_reduce", product([Dimension("full", 4, FAST)]))["all_sends"] == 20.0


def test_a_reduce_scatter_is_an_all_gather_backwards() -> None:
    links = [(0, 1, 0, 1), (1, 2, 0, 2), (2, 0, 0, 4), (2, 1, 5, 1)]
    graph = LinkGraph.of(3, 3, links)
    there, back = bounds_us("reduce_scatter", graph), bounds_us("all_gather", graph.transposed)
    assert there["egress"] == back["ingress"]
    assert there["distance"] == back["distance"]


def test_links_of_a_switch_carry_nothing_before_it_has_something() -> None:
    # Three NPUs around a switch: a port brings two chunks, the first not before it was sent there.
    links = [(npu, 3, 0, 100) for npu in range(3)] + [(3, npu, 0, 100) for npu in range(3)]
    assert bounds_us("all_gather", LinkGraph.of(3, 4, links))["ingress"] == 30.0


def test_with_occupancy_bandwidth_latencies_overlap_but_for_the_first() -> None:
    # Each link brings a chunk of its source at 20 µs; the next has to come there first, and is there at 40.
    graph = torus((8,), link_kind(10_000, 100))
    assert bounds_us("all_gather", graph)["ingress"] == 80.0
    assert bounds_us("all_gather", graph, model=LinkModel(occupancy="bandwidth"))["ingress"] == 60.0


def test_custom_conditions_are_counted_by_chunk() -> None:
    line = mesh((4,), FAST)
    far = Collective("custom", 4, 1, 0, ((0, 0), (0, 1), (3, 2)), ((3, 0), (3, 1), (2, 1), (3, 2)))
    found = {bound.name: bound.time_ps / 1e6 for bound in lower_bounds(Problem(line, far, SMALL))}
    assert found == {
        "ingress": 30.0,
        "egress": 30.0,
        "distance": 30.0,
        "all_sends": 20.0,
        "cut": 30.0,
        "ways": 30.0,
    }


def test_nothing_to_send_takes_no_time() -> None:
    assert best_bound(Problem(mesh((1,), FAST), Collective("all_gather", 1), SMALL)).time_ps == 0


def test_bounds_of_a_million_npus_come_from_the_generators_alone() -> None:
    problem = Problem(torus((1000, 1000), link_kind(500, 50)), Collective("all_gather", 10**6), MIB)
    assert best_bound(problem).time_ps == 250_000 * 21_471_520


def graphs(draw: st.DrawFn) -> LinkGraph:
    npus = draw(st.integers(2, 6))
    rng = random.Random(draw(st.integers(0, 10**6)))
    kinds = [(0, 100), (0, 50), (3000, 100), (500, Fraction(100, 3))]
    kinds = kinds[: rng.randint(1, 4)]
    pairs = {(u, (u + 1) % npus) for u in range(npus)}
    pairs |= {(u, v) for u in range(npus) for v in range(npus) if u != v and rng.random() < 0.4}
    return LinkGraph.of(npus, npus, [(u, v, *rng.choice(kinds)) for u, v in sorted(pairs)])


@st.composite
def problems(draw: st.DrawFn, names: tuple[str, ...] = NAMES) -> Problem:
    graph = graphs(draw)
    name, k = draw(st.sampled_from(names)), draw(st.integers(1, 3))
    root = draw(st.integers(0, graph.npus - 1)) if name in ROOTED else 0
    model = LinkModel(occupancy=draw(st.sampled_from(("total", "bandwidth"))))
    return Problem(graph, Collective(name, graph.npus, k, root), SMALL, model)


def routed_time_ps(problem: Problem, seed: int) -> int:
    """The time of a valid schedule: each chunk takes a random way, one after the other."""
    rng = random.Random(seed)
    graph = problem.graph
    free = [0] * len(graph)
    out = [np.flatnonzero(graph.sources == node).tolist() for node in range(graph.nodes)]
    (at, has), (by, wants) = problem.collective.holdings(), problem.collective.wants()
    owner = dict(zip(has.tolist(), at.tolist(), strict=True))
    end = 0
    for _, npu, chunk in sorted(
        (rng.random(), n, c) for n, c in zip(by.tolist(), wants.tolist(), strict=True)
    ):
        before: dict[int, int] = {owner[chunk]: -1}
        front = [owner[chunk]]
        while npu not in before:
            reached = {
                int(graph.destinations[i]): i for node in front for i in rng.sample(out[node], len(out[node]))
            }
            front = [node for node in reached if node not in before]
            before.update({node: reached[node] for node in front})
        way = []
        while npu != owner[chunk]:
            way.append(before[npu])
            npu = int(graph.sources[before[npu]])
        time = 0
        for link in reversed(way):
            start = max(time, free[link])
            free[link] = start + int(problem.held_ps[link])
            time = start + int(problem.arrival_ps[link])
        end = max(end, time)
    return end


def some_time_ps(problem: Problem, seed: int) -> int:
    """The time of some valid schedule."""
    collective = problem.collective
    if collective.name in ("reduce", "reduce_scatter"):
        return some_time_ps(problem.mirrored, seed)
    if collective.name == "all_reduce":
        halves = (
            Collective(name, collective.npus, collective.chunks_per_npu)
            for name in ("reduce_scatter", "all_gather")
        )
        return sum(some_time_ps(Problem(problem.graph, half, SMALL, problem.model), seed) for half in halves)
    if collective.everyone_wants_all:
        return greedy(problem, seed).time_ps
    return routed_time_ps(problem, seed)


@settings(max_examples=250, deadline=None)
@given(problems(), st.integers(0, 3))
def test_no_valid_schedule_is_faster_than_a_bound(problem: Problem, seed: int) -> None:
    assert best_bound(problem).time_ps <= some_time_ps(problem, seed)


def test_flows_of_few_links_have_prices_although_inner_points_are_unsure() -> None:
    pytest.importorskip("highspy")
    links = [(0, 1, 0, 100), (0, 2, 0, 100), (1, 2, 0, 100), (2, 0, 0, 100)]
    graph = LinkGraph.of(3, 3, [(a, b, Fraction(c), Fraction(d)) for a, b, c, d in links])
    problem = Problem(graph, Collective("all_to_all", 3), Fraction(1000))
    ways = {bound.name: bound.time_ps for bound in lower_bounds(problem)}["ways"]
    assert ways == 30_000  # three messages over the only link to NPU 0


@settings(max_examples=60, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_other_numbers_of_npus_do_not_change_bounds(problem: Problem, rng: random.Random) -> None:
    graph, collective = problem.graph, problem.collective
    number = list(range(graph.npus))
    rng.shuffle(number)
    renamed = np.array(number, dtype=np.int32)
    ends = {"sources": renamed[graph.sources], "destinations": renamed[graph.destinations]}
    moved = replace(collective, root=number[collective.root])
    other = replace(problem, graph=replace(graph, **ends), collective=moved)
    one, two = ({bound.name: bound.time_ps for bound in lower_bounds(p)} for p in (problem, other))
    assert one == two


def test_hypercubes_of_many_dimensions_have_few_boxes() -> None:
    assert bounds_us("all_gather", hypercube(10, FAST))["cut"] == 1030.0


@pytest.mark.parametrize("name", ["all_gather", "all_to_all", "all_reduce", "reduce_scatter", "broadcast"])
@pytest.mark.parametrize("graph", [link_torus(3, 4), link_torus(3, 3), random_graph(9, 6, seed=2)])
def test_the_sentences_of_bounds_have_at_most_25_words(name: str, graph: LinkGraph) -> None:
    for bound in lower_bounds(Problem(graph, Collective(name, graph.npus), MIB)):
        assert all(len(sentence.split()) <= 25 for sentence in bound.text.split(". "))
