"""Fixed algorithms: known times, valid schedules of all collectives, and what is left out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import MIB, random_graph, ring, torus

from benchmarks.link_products import hypercube, link_kind, mesh
from dse.collectives import COLLECTIVES, Collective, LinkModel, Problem
from dse.collectives.check.checker import check
from dse.collectives.search.fixed_algorithms import dimensions_of, fixed_algorithms
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.csv import read_link_graph

GOLDEN = Path(__file__).parent.parent / "golden" / "topologies"
KIND = link_kind(500, 50)


def fixed_times(problem: Problem, dimensions: tuple[int, ...] | None = None) -> dict[str, int]:
    """Return the time of each fixed algorithm in ps."""
    played = fixed_algorithms(problem, dimensions).schedules
    return {name: schedule.time_ps for name, schedule in played.items()}


def golden(name: str) -> LinkGraph:
    return read_link_graph(GOLDEN / name)


def test_all_gather_takes_the_known_times_on_rings_of_switches() -> None:
    graph = golden("rfs_2_4_4_500_50.csv")

    times = fixed_times(Problem(graph, Collective("all_gather", 32), MIB))

    assert {name: round(times[name] / 1e6, 4) for name in ("ring", "biring", "direct", "rhd")} == {
        "ring": 2019.0515,
        "biring": 1060.3331,
        "direct": 522.0594,
        "rhd": 1022.6329,
    }
    assert (times["hier_up"], times["hier_down"]) == (511_316_472, 177_015_039)


def test_all_gather_takes_the_known_times_on_a_random_heterogeneous_mesh() -> None:
    graph = golden("randhet_4_4_1_500_50.csv")

    times = fixed_times(Problem(graph, Collective("all_gather", 16), MIB))

    names = ("ring", "biring", "direct", "rhd", "hier_up", "hier_down")
    assert [round(times[name] / 1e6, 4) for name in names] == [
        652.1314,
        669.1029,
        670.1314,
        617.1741,
        428.4446,
        721.5317,
    ]


def test_a_ring_pipelines_the_chunks_of_a_broadcast() -> None:
    problem = Problem(ring(6, 0, 100), Collective("broadcast", 6, 4), Fraction(1_000_000))

    # Three chunks follow the first, which crosses five links; 10 us each.
    assert fixed_times(problem)["ring"] == (5 + 3) * 10_000_000


def test_reductions_are_the_same_algorithms_backwards() -> None:
    graph = torus(4, 4)

    forwards = fixed_times(Problem(graph, Collective("all_gather", 16), MIB))
    backwards = fixed_times(Problem(graph, Collective("reduce_scatter", 16), MIB))

    for name in ("ring", "biring", "rings_up", "hier_up"):
        assert backwards[name] == forwards[name]


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("graph", [torus(2, 4), random_graph(7, 6, seed=1), mesh((3, 2), KIND)])
def test_every_algorithm_of_every_collective_is_valid(collective: str, graph: LinkGraph) -> None:
    problem = Problem(graph, Collective(collective, graph.npus, 2, root=1), MIB)

    schedules = fixed_algorithms(problem).schedules

    assert {"ring", "biring", "direct"} <= set(schedules)
    for name, schedule in schedules.items():
        assert check(schedule).is_valid, name


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 7), st.integers(0, 10), st.integers(0, 99), st.sampled_from(COLLECTIVES))
def test_algorithms_are_valid_where_links_are_held_for_less_than_they_take(
    npus: int, links: int, seed: int, collective: str
) -> None:
    model = LinkModel(occupancy="bandwidth")
    problem = Problem(random_graph(npus, links, seed), Collective(collective, npus), MIB, model)

    for name, schedule in fixed_algorithms(problem).schedules.items():
        assert check(schedule).is_valid, name


@pytest.mark.parametrize(
    ("graph", "sizes"),
    [
        (torus(8, 4), (8, 4)),
        (mesh((4, 5, 2), KIND), (4, 5, 2)),
        (hypercube(3, KIND), (2, 2, 2)),
        (ring(6), (6,)),
        (random_graph(8, 9, seed=3), (8,)),
    ],
)
def test_dimensions_are_those_along_which_all_links_lead(graph: LinkGraph, sizes: tuple[int, ...]) -> None:
    assert dimensions_of(graph) == sizes


def test_given_dimensions_decide_what_is_hierarchical() -> None:
    problem = Problem(ring(8), Collective("all_gather", 8), MIB)

    assert "hier_up" not in fixed_times(problem)
    assert "hier_up" in fixed_times(problem, (2, 4))


def test_doubling_needs_a_power_of_two() -> None:
    assert "rhd" not in fixed_times(Problem(ring(6), Collective("all_gather", 6), MIB))


def test_algorithms_of_too_many_sends_are_left_out_and_said_so() -> None:
    problem = Problem(torus(40, 40), Collective("all_gather", 1600), MIB)

    found = fixed_algorithms(problem)

    assert found.schedules == {}
    assert found.left_out["ring"] == "more than 262144 sends"
