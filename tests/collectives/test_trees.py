"""Packed trees: the best rate is that of the worst cut, trees span and fit, schedules come near to it."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.link_products import hypercube, link_kind
from dse.base.cancellation import Cancellation
from dse.base.errors import InputError
from dse.collectives import Collective, LinkModel, Problem
from dse.collectives.bounds import best_bound, lower_bounds
from dse.collectives.bounds.flows import flow_bound
from dse.collectives.bounds.fluid_rates import best_rate, supply_of
from dse.collectives.bounds.view import View
from dse.collectives.check.checker import check
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers import Effort
from dse.collectives.search.synthesizers.trees import Trees
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.csv import read_link_graph
from dse.native import _solvers
from tests.collectives.link_graphs import MIB, faults, graphs, grid, star

GOLDEN = Path(__file__).parent.parent / "golden" / "topologies"
SPREADING = st.sampled_from(["all_gather", "broadcast"])


def problem_on(graph: LinkGraph, name: str = "all_gather", k: int = 1, occupancy: str = "total") -> Problem:
    model = LinkModel(occupancy="total" if occupancy == "total" else "bandwidth")
    return Problem(graph, Collective(name, graph.npus, k), Fraction(MIB), model)


def sets_to_enter(problem: Problem) -> list[tuple[np.ndarray, int]]:
    """Every set of nodes with an NPU, and how many chunks it lacks: no flows, all 2^n sets."""
    supply, found = supply_of(problem), []
    for bits in itertools.product((False, True), repeat=problem.graph.nodes):
        inside = np.array(bits)
        need = int(supply[~inside].sum())
        if inside[: problem.graph.npus].any() and need:
            found.append((inside, need))
    return found


@settings(max_examples=60, deadline=None)
@given(graph=graphs(most_npus=5, most_switches=2), name=SPREADING)
def test_the_best_rate_is_that_of_the_worst_of_all_cuts(graph: LinkGraph, name: str) -> None:
    problem = problem_on(graph, name)
    rates = []
    for inside, holders in sets_to_enter(problem):
        into = ~inside[graph.sources] & inside[graph.destinations]
        bandwidth = sum(graph.kinds[kind].bandwidth_gbps for kind in graph.kind_of[into].tolist())
        rates.append(Fraction(bandwidth) / holders)

    rate = best_rate(problem)

    assert rate is not None
    assert rate.bytes_per_ns == min(rates)


@settings(max_examples=60, deadline=None)
@given(
    graph=graphs(most_npus=5, most_switches=2),
    name=SPREADING,
    k=st.integers(1, 4),
    occupancy=st.sampled_from(["total", "bandwidth"]),
)
def test_the_time_of_flows_is_the_longest_that_a_set_of_nodes_takes(
    graph: LinkGraph, name: str, k: int, occupancy: str
) -> None:
    problem = problem_on(graph, name, k, occupancy)
    now = np.zeros(graph.nodes, dtype=np.int64)
    links, times = (graph.sources, graph.destinations), (problem.arrival_ps, problem.held_ps)
    sinks = list(range(graph.npus))

    time_ps, _, inside = _solvers.flow_time(links, times, now, now, supply_of(problem), sinks, 0)

    def delivered(mask: np.ndarray, at_ps: int) -> int:
        into = ~mask[graph.sources] & mask[graph.destinations]
        late = at_ps - problem.arrival_ps[into]
        return int(np.where(late >= 0, 1 + late // problem.held_ps[into], 0).sum())

    assert all(delivered(mask, time_ps) >= need for mask, need in sets_to_enter(problem))
    decides = inside.astype(bool)
    assert delivered(decides, time_ps - 1) < supply_of(problem)[~decides].sum()


@settings(max_examples=25, deadline=None)
@given(
    graph=graphs(most_npus=4, most_switches=1),
    name=st.sampled_from(["all_gather", "broadcast", "gather"]),
    k=st.integers(1, 2),
    occupancy=st.sampled_from(["total", "bandwidth"]),
)
def test_the_bound_of_flows_is_not_above_an_optimum(
    graph: LinkGraph, name: str, k: int, occupancy: str
) -> None:
    problem = problem_on(graph, name, k, occupancy)
    best = synthesize(problem, "exact", Effort(time_limit_s=1), compare=False)
    for bound in flow_bound(View(problem), 0):
        assert bound.time_ps <= best.time_ps
        strongest = {each.name: each.time_ps for each in best.bounds}
        assert bound.time_ps <= max(strongest.values())


def test_a_cut_that_no_search_for_sets_lists_is_found_by_flows() -> None:
    """Three NPUs of twelve, with far numbers, have slow links from the rest and fast ones among them."""
    inside, links = (2, 7, 11), []
    for a in range(12):
        for b in range(12):
            if a != b:
                slow = b in inside and a not in inside
                links.append((a, b, 0, 1 if slow else 100))
    problem = Problem(LinkGraph.of(12, 12, links), Collective("all_gather", 12, 30), Fraction(1000))
    bounds = {bound.name: bound for bound in lower_bounds(problem)}
    # 270 chunks have to enter over 27 links, each a chunk in 1 us.
    assert bounds["max_flow"].nodes == inside
    assert bounds["max_flow"].time_ps == 10 * 10**6
    assert bounds["ingress"].time_ps < 10 * 10**6


@settings(max_examples=60, deadline=None)
@given(
    graph=graphs(most_npus=7, most_switches=3),
    name=SPREADING,
    k=st.integers(1, 9),
    noise=st.sampled_from([0.0, 0.3, 2.0]),
    seed=st.integers(0, 9),
)
def test_trees_span_all_npus_from_their_roots_within_what_links_deliver(
    graph: LinkGraph, name: str, k: int, noise: float, seed: int
) -> None:
    problem = problem_on(graph, name, k)
    now = np.zeros(graph.nodes, dtype=np.int64)
    links, times = (graph.sources, graph.destinations), (problem.arrival_ps, problem.held_ps)
    supply, sinks = supply_of(problem), list(range(graph.npus))
    time_ps, _, _ = _solvers.flow_time(links, times, now, now, supply, sinks, 0)

    trees = _solvers.pack_trees(problem.native, time_ps, noise, seed)

    # Past switches with more links in than out, or less, splitting may need more time.
    assume(trees is not None or graph.nodes > graph.npus)
    copies, load = np.zeros_like(supply), np.zeros(len(graph), dtype=np.int64)
    for root, number, tree in trees or ():
        reached = {root}
        for link in tree:
            assert int(graph.sources[link]) in reached
            assert int(graph.destinations[link]) not in reached
            reached.add(int(graph.destinations[link]))
        assert reached >= set(sinks)
        assert number > 0
        copies[root] += number
        load[tree] += number
    if trees is not None:
        assert np.array_equal(copies, supply)
        assert (load <= 1 + (time_ps - problem.arrival_ps) // problem.held_ps).all()


def test_switches_with_as_much_in_as_out_cost_no_time() -> None:
    """Two leaves of three NPUs and two spines: no spine gets all chunks, so that trees pass by both."""
    links = [(npu, 6 + npu // 3, 0, 100) for npu in range(6)]
    links += [(leaf, spine, 0, 75) for leaf in (6, 7) for spine in (8, 9)]
    graph = LinkGraph.of(6, 10, [*links, *((b, a, ns, gbps) for a, b, ns, gbps in links)])
    problem = Problem(graph, Collective("all_gather", 6, 30), Fraction(3000))
    now = np.zeros(graph.nodes, dtype=np.int64)
    ends, times = (graph.sources, graph.destinations), (problem.arrival_ps, problem.held_ps)

    time_ps, _, _ = _solvers.flow_time(ends, times, now, now, supply_of(problem), list(range(6)), 0)

    # An NPU lacks 150 chunks of 30 ns each; the spines bring 90 chunks of 40 ns over two links at once.
    assert time_ps == 150 * 30_000
    assert _solvers.pack_trees(problem.native, time_ps, 0.0, 0) is not None


@settings(max_examples=50, deadline=None)
@given(
    graph=graphs(most_npus=7, most_switches=2),
    name=st.sampled_from(["all_gather", "broadcast", "reduce_scatter", "reduce", "all_reduce"]),
    k=st.integers(1, 6),
    occupancy=st.sampled_from(["total", "bandwidth"]),
    seed=st.integers(0, 9),
)
def test_schedules_along_trees_are_valid_and_not_below_any_bound(
    graph: LinkGraph, name: str, k: int, occupancy: str, seed: int
) -> None:
    problem = problem_on(graph, name, k, occupancy)

    result = synthesize(problem, "trees", Effort(seed=seed, trials=3), compare=False)

    assert check(result.schedule).is_valid
    assert result.time_ps >= best_bound(problem).time_ps
    if not problem.collective.is_reducing:
        columns = (result.schedule.link, result.schedule.chunk, result.schedule.start_ps)
        assert faults(problem, columns) == []


def test_the_time_nears_the_best_rate_as_chunks_grow_more() -> None:
    """Beyond the flow's time only the depth of trees is left, whatever the number of chunks."""
    graph = hypercube(6, link_kind(500, 50))
    gaps = {}
    for k in (1, 4, 16):
        problem = problem_on(graph, k=k)
        made = Trees().synthesize(problem, Effort(trials=4))
        gaps[k] = made.schedule.time_ps / best_bound(problem).time_ps - 1
    assert gaps[16] < 0.01
    assert gaps[16] < gaps[4] < gaps[1]


def test_one_way_links_and_slow_ones_are_used_up_to_what_they_carry() -> None:
    """A ring of one direction, where all chunks go round, and a slow way across."""
    links = [(npu, (npu + 1) % 6, 0, 100) for npu in range(6)]
    graph = LinkGraph.of(6, 6, [*links, (0, 3, 0, 10)])
    problem = Problem(graph, Collective("all_gather", 6, 20), Fraction(1000))

    result = synthesize(problem, "trees", Effort(trials=8), compare=False)

    assert result.time_ps == result.bound_ps == 100 * 10_000


def test_results_depend_on_the_seed_alone() -> None:
    problem = problem_on(grid(3, 4), k=4)
    one, same, other = (
        Trees().synthesize(problem, Effort(seed=seed, trials=3)).schedule for seed in (5, 5, 6)
    )
    assert np.array_equal(one.start_ps, same.start_ps)
    assert np.array_equal(one.link, same.link)
    assert not np.array_equal(one.link, other.link)


def test_a_cancelled_search_ends_with_the_best_so_far() -> None:
    cancellation, seen = Cancellation(), []

    def stop_at_first(progress: object) -> None:
        seen.append(progress)
        cancellation.cancel()

    effort = Effort(trials=10**6, cancellation=cancellation, report=stop_at_first)
    made = Trees().synthesize(problem_on(grid(4, 4), k=8), effort)
    assert seen
    assert made.trials < 10**6
    assert check(made.schedule).is_valid


def test_no_way_names_both_npus() -> None:
    graph = LinkGraph.of(3, 3, [(0, 1, 0, 1), (1, 0, 0, 1), (2, 0, 0, 1)])
    with pytest.raises(InputError, match=r"no way from NPU [01] to NPU 2"):
        Trees().synthesize(problem_on(graph), Effort(trials=1))
    assert best_rate(problem_on(graph)) is None


def test_what_is_not_spread_to_all_is_refused() -> None:
    with pytest.raises(InputError, match=r"synthesizer is trees, but not every NPU gets all.*=auto"):
        synthesize(problem_on(grid(2, 2), "scatter"), "trees")


def test_auto_packs_trees_for_many_chunks_alone_and_says_so() -> None:
    graph = read_link_graph(GOLDEN / "randhet_4_4_1_500_50.csv")
    few, many = (
        synthesize(problem_on(graph, "broadcast", k), "auto", Effort(trials=4, time_limit_s=5), compare=False)
        for k in (2, 40)
    )
    assert "trees packed" not in few.why
    assert many.is_optimal or "trees packed for the best bandwidth" in many.why
    assert many.is_optimal or "as the root has 40 chunks" in many.why


def test_the_story_tells_the_best_rate() -> None:
    made = Trees().synthesize(problem_on(star(4), k=8), Effort(trials=1))
    # Of 50 GB/s into an NPU each of the three others has a third.
    assert "16.6667 bytes/ns of each holder" in made.why
