"""Trees of all chunks, changed one by one, of any collective, with limits of NPUs and switches or without."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from dse.collectives import COLLECTIVES, Collective, Problem
from dse.collectives.check.checker import check
from dse.collectives.search.overlap import trees_from
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks.csv import read_link_graph
from tests.collectives.link_graphs import MIB, random_graph
from tests.collectives.test_passive_switches import islands

TOPOLOGIES = Path(__file__).parents[1] / "golden" / "topologies"


def on_mi250(name: str, chunks: int) -> Problem:
    graph = read_link_graph(TOPOLOGIES / "mi250.csv")
    return Problem(graph, Collective(name, graph.npus, chunks), Fraction(MIB))


def test_four_chunks_reach_sixteen_npus_over_links_of_three_speeds_in_76_us() -> None:
    """They took 82.24 us before trees were changed."""
    found = synthesize(on_mi250("broadcast", 4), compare=False)
    assert found.time_ps == 75_800_320
    assert check(found.schedule).is_valid


def test_sums_are_changed_backwards() -> None:
    found = synthesize(on_mi250("reduce", 4), "auto", Effort(trials=4), compare=False)
    assert "trees of all chunks, changed a few at a time" in found.why
    assert check(found.schedule).is_valid


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(COLLECTIVES), st.integers(1, 2), st.integers(0, 2))
def test_changed_trees_of_any_collective_are_valid(seed: int, name: str, chunks: int, sends: int) -> None:
    graph = random_graph(seed, 5, 2)
    if sends:
        graph = replace(graph, max_sends=tuple((npu, sends) for npu in range(graph.npus)))
    problem = Problem(graph, Collective(name, graph.npus, chunks), Fraction(MIB))
    start = synthesize(problem, "auto", Effort(trials=1), compare=False).schedule
    found = trees_from(start, Effort(trials=1), 20_000)
    assert found is not None
    assert check(found).is_valid


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["broadcast", "all_gather", "all_reduce"]))
def test_messages_past_switches_that_copy_nothing_stay_valid(seed: int, name: str) -> None:
    graph = random_graph(seed, 5, 2)
    switches = frozenset(range(graph.npus, graph.nodes))
    graph = replace(graph, cannot_copy=switches, cannot_add=switches)
    problem = Problem(graph, Collective(name, graph.npus, 2), Fraction(MIB))
    found = synthesize(problem, "auto", Effort(trials=2), compare=False)
    assert check(found.schedule).is_valid


def test_hops_move_past_switches_that_copy_nothing() -> None:
    problem = Problem(islands(8), Collective("broadcast", 16, 8), Fraction(MIB))
    start = synthesize(problem, "restarts", compare=False).schedule
    found = trees_from(start, Effort(), 2_000_000)
    assert found is not None
    assert (start.time_ps, found.time_ps) == (156_100_634, 136_874_369)
    assert check(found).is_valid
