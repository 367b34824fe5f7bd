"""Symmetric schedules: valid when expanded, as fast as a bound where it is known, and small while kept."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.link_products import Dimension, hypercube, link_kind, mesh, product, torus
from dse.base.errors import InputError
from dse.collectives import Collective, LinkModel, Problem
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check
from dse.collectives.search.symmetric import SymmetricSchedule
from dse.collectives.search.synthesizers import Effort
from dse.collectives.search.synthesizers.symmetric import Symmetric
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.csv import read_link_graph

MIB = Fraction(1 << 20)
UNIFORM = link_kind(500, 50)
TOPOLOGIES = Path(__file__).parent.parent / "golden" / "topologies"


def boxes(full: int, port_gbps: int, latency_ns: int, outer: Dimension) -> LinkGraph:
    """Unrolled switches of NPUs, whose latency is that of both hops, joined by another dimension."""
    kind = link_kind(latency_ns, f"{port_gbps / (full - 1):.9g}")
    return product([Dimension("full", full, kind), outer])


def dgx_ring(full: int, ring: int) -> LinkGraph:
    return boxes(full, 300, 700, Dimension("ring", ring, link_kind(1300, 25)))


def switches(first: int, second: int) -> LinkGraph:
    kind = link_kind(2000, f"{50 / (second - 1):.9g}")
    return boxes(first, 400, 500, Dimension("full", second, kind))


def rfs(ring: int, full: int, switch: int) -> LinkGraph:
    return product(
        [
            Dimension("ring", ring, link_kind(500, 200)),
            Dimension("full", full, link_kind(500, f"{100 / (full - 1):.9g}")),
            Dimension("full", switch, link_kind(1000, f"{50 / (switch - 1):.9g}")),
        ]
    )


def all_gather(graph: LinkGraph, k: int = 1, model: LinkModel | None = None) -> Problem:
    return Problem(graph, Collective("all_gather", graph.npus, k), MIB, model or LinkModel())


def made(problem: Problem, trials: int = 20) -> SymmetricSchedule:
    effort = Effort(seed=1, trials=trials, enough_ps=best_bound(problem).time_ps)
    schedule = Symmetric().synthesize(problem, effort).schedule
    assert isinstance(schedule, SymmetricSchedule)
    return schedule


@pytest.mark.parametrize(
    ("graph", "time_us"),
    [
        (dgx_ring(8, 4), 118.743359),
        (dgx_ring(8, 8), 219.410451),
        (switches(8, 4), 121.464799),
        (switches(8, 8), 280.7512),
        (rfs(2, 4, 4), 159.786399),
        (rfs(2, 4, 8), 339.54432),
        (rfs(4, 8, 4), 305.115519),
        (rfs(4, 8, 8), 617.202558),
        (rfs(4, 8, 16), 1276.276947),
    ],
)
def test_all_gathers_of_heterogeneous_systems_are_optimal(graph: LinkGraph, time_us: float) -> None:
    problem = all_gather(graph)
    schedule = made(problem)
    assert schedule.time_ps / 1e6 == time_us
    assert best_bound(problem).time_ps == schedule.time_ps
    assert check(schedule.expand()).is_valid


@pytest.mark.parametrize(("occupancy", "k"), [("total", 1), ("total", 4), ("bandwidth", 4)])
@pytest.mark.parametrize("graph", [torus((8, 8), UNIFORM), torus((4, 4, 4), UNIFORM), hypercube(6, UNIFORM)])
def test_uniform_tori_and_hypercubes_meet_their_bound(graph: LinkGraph, occupancy: str, k: int) -> None:
    problem = all_gather(graph, k, LinkModel(occupancy=occupancy))  # type: ignore[arg-type]
    schedule = made(problem)
    assert schedule.time_ps == best_bound(problem).time_ps
    assert check(schedule.expand()).is_valid


@pytest.mark.parametrize("graph", [torus((8, 8), UNIFORM), dgx_ring(8, 4), rfs(2, 4, 8)])
def test_an_all_to_all_meets_the_cut_through_the_middle(graph: LinkGraph) -> None:
    problem = Problem(graph, Collective("all_to_all", graph.npus, 2), MIB)
    schedule = made(problem)
    assert schedule.time_ps == best_bound(problem).time_ps
    assert check(schedule.expand()).is_valid


def test_a_mirrored_base_is_a_valid_reduce_scatter() -> None:
    graph = read_link_graph(TOPOLOGIES / "rfs_2_4_4_500_50.csv")
    problem = Problem(graph, Collective("reduce_scatter", graph.npus), MIB)
    mirrored = made(problem.mirrored).mirrored(problem)
    assert isinstance(mirrored, SymmetricSchedule)
    assert mirrored.time_ps == 159_786_399
    assert check(mirrored.expand()).is_valid
    assert mirrored.reduce.all()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_expanded_schedules_of_products_are_valid_and_not_below_their_bound(data: st.DataObject) -> None:
    kinds = st.builds(link_kind, st.sampled_from((0, 500, 3000)), st.sampled_from((25, 50, 200)))
    one = st.builds(Dimension, st.sampled_from(("ring", "full", "switch")), st.integers(2, 4), kinds)
    graph = product(data.draw(st.lists(one, min_size=1, max_size=3)))
    name = data.draw(st.sampled_from(("all_gather", "all_to_all")))
    model = LinkModel(occupancy=data.draw(st.sampled_from(("total", "bandwidth"))))
    problem = Problem(graph, Collective(name, graph.npus, data.draw(st.integers(1, 2))), MIB, model)
    effort = Effort(seed=data.draw(st.integers(0, 9)), trials=1, enough_ps=best_bound(problem).time_ps)
    schedule = Symmetric().synthesize(problem, effort).schedule
    assert check(schedule).is_valid
    assert schedule.time_ps >= best_bound(problem).time_ps
    assert len(schedule) == len(schedule.link)


def test_the_same_seed_gives_the_same_base() -> None:
    problem = all_gather(rfs(4, 8, 8), 2)
    one, two = (Symmetric().synthesize(problem, Effort(seed=3, trials=1)).schedule for _ in range(2))
    assert isinstance(one, SymmetricSchedule)
    assert isinstance(two, SymmetricSchedule)
    assert one.base.node.tolist() == two.base.node.tolist()
    assert one.base.start_ps.tolist() == two.base.start_ps.tolist()


def test_a_million_npus_are_kept_as_one_tree_that_is_not_listed() -> None:
    problem = all_gather(torus((100, 100), UNIFORM))
    schedule = made(problem, trials=1)
    assert schedule.time_ps == 2500 * 21_471_520
    assert (len(schedule.base.node), len(schedule)) == (9_999, 99_990_000)
    large = all_gather(torus((1000, 1000), UNIFORM))
    tree = SymmetricSchedule(large, large.graph.translations, schedule.base)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="9999000000 sends"):
        tree.expand()


def test_it_says_what_it_cannot_take() -> None:
    obstacle = Symmetric().obstacle(all_gather(mesh((4, 4), UNIFORM)))
    assert obstacle == "the links do not look the same from every NPU, in any numbering by digits"
    broadcast = Problem(torus((4,), UNIFORM), Collective("broadcast", 4), MIB)
    assert Symmetric().obstacle(broadcast) == "broadcast does not look the same from every NPU"
    with pytest.raises(InputError, match="synthesizer=auto"):
        Symmetric().synthesize(broadcast, Effort())


def test_parts_without_links_between_them_are_an_error() -> None:
    pairs = product([Dimension("ring", 2, UNIFORM), Dimension("ring", 1, UNIFORM)])
    links = [(u + 2 * i, v + 2 * i, 500, 50) for i in range(2) for u, v in ((0, 1), (1, 0))]
    assert len(pairs) == 2
    with pytest.raises(InputError, match="no way"):
        Symmetric().synthesize(all_gather(LinkGraph.of(4, 4, links)), Effort())
