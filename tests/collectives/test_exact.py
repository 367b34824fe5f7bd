"""Exact synthesis: known optima with certificates, refutations without bounds, general delays, limits."""

from __future__ import annotations

import json
import random
import sys
from fractions import Fraction
from math import gcd
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from schedules import MIB, random_graph

from dse.base.errors import InputError
from dse.collectives import Collective, LinkModel, Problem
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.collectives.search.synthesizers.decided import Decided
from dse.collectives.search.synthesizers.exact import Exact
from dse.collectives.search.synthesizers.restarts import Restarts
from dse.collectives.search.synthesizers.time_indexed import Grid, Places, timed
from dse.collectives.search.synthesizers.tree_sums import timed_all_reduce
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.csv import read_link_graph
from tests.collectives.link_graphs import random_graph as random_nodes

GOLDEN = Path(__file__).parent.parent / "golden"
INSTANCES = {
    instance["name"]: instance
    for instance in json.loads((GOLDEN / "synthesis" / "optima.json").read_text())["instances"]
}
SMALL = [name for name, instance in INSTANCES.items() if instance["npus"] <= 9]
LARGE = [name for name in INSTANCES if name not in SMALL]
pytest.importorskip("highspy")


def problem_of(name: str) -> Problem:
    instance = INSTANCES[name]
    npus = instance["npus"]
    links = [(u, v, Fraction(a), Fraction(b)) for u, v, a, b in instance["links"]]
    collective = Collective(instance["collective"], npus, instance["chunks"], instance["root"])
    return Problem(LinkGraph.of(npus, npus, links), collective, Fraction(instance["chunk_bytes"]))


@pytest.mark.parametrize("name", SMALL)
def test_the_exact_synthesizer_reaches_the_optimum_and_proves_it(name: str) -> None:
    result = synthesize(problem_of(name), "exact", compare=False)

    assert check(result.schedule).is_valid
    assert result.time_ps == INSTANCES[name]["optimum_ps"]
    assert result.is_optimal


@pytest.mark.parametrize("name", LARGE)
def test_auto_reaches_the_optima_of_larger_problems(name: str) -> None:
    result = synthesize(problem_of(name), compare=False)

    assert check(result.schedule).is_valid
    assert result.time_ps == INSTANCES[name]["optimum_ps"] == result.bound_ps


@pytest.mark.parametrize("name", [name for name in SMALL if "randmesh" not in name])
def test_programs_alone_find_the_optimum_and_nothing_below(name: str) -> None:
    problem = problem_of(name)
    if problem.collective.name == "gather":
        problem = problem.mirrored
    optimum = INSTANCES[name]["optimum_ps"]
    unit = gcd(*problem.times_of_kinds.ravel().tolist())
    grid = Grid.of(problem, unit, optimum, "down")

    def answer(steps: int) -> str:
        if problem.collective.name == "all_reduce":
            model = timed_all_reduce(grid, problem.collective.chunks, steps)
        else:
            model = timed(grid, Places.of(problem), steps)
        return model.program.solve(60, 0)[0] if model else "infeasible"

    assert answer(optimum // unit) == "feasible"
    assert answer(optimum // unit - 1) == "infeasible"


def test_delays_of_any_length_are_solved_exactly_on_their_sums() -> None:
    graph = read_link_graph(GOLDEN / "topologies" / "randhet_4_4_1_500_50.csv")

    result = synthesize(Problem(graph, Collective("scatter", 16), MIB), "exact", compare=False)

    assert check(result.schedule).is_valid
    assert result.time_ps == result.bound_ps == 76_900_320


def test_points_of_time_are_the_sums_of_the_times_of_links() -> None:
    problem = Problem(random_graph(4, 0, seed=0), Collective("all_gather", 4), MIB)
    times = set(problem.times_of_kinds.ravel().tolist())
    least = min(times)

    points = Grid.of(problem, 1, 3 * least, "down").points

    assert points[:2] == [0, least]
    assert {a + b for a in times for b in times if a + b <= 3 * least} <= set(points)


def test_a_coarse_grid_proves_a_bound_that_no_schedule_beats() -> None:
    problem = Problem(random_graph(6, 3, seed=5), Collective("all_to_all", 6), MIB)
    best = Restarts().synthesize(problem, Effort(trials=40)).schedule.time_ps

    made = Exact().synthesize(problem, Effort(time_limit_s=2))

    assert check(made.schedule).is_valid
    assert made.proven_ps <= made.schedule.time_ps <= best


def test_a_time_limit_gives_the_best_known() -> None:
    graph = read_link_graph(GOLDEN / "topologies" / "randhet_4_4_1_500_50.csv")
    problem = Problem(graph, Collective("scatter", 16), MIB)

    result = synthesize(problem, "exact", Effort(time_limit_s=0.2), compare=False)

    assert check(result.schedule).is_valid
    assert result.time_ps >= result.bound_ps == 76_900_320


def test_a_problem_that_is_too_large_is_refused_with_the_way_out() -> None:
    problem = Problem(random_graph(60, 4000, seed=0), Collective("all_gather", 60), MIB)

    with pytest.raises(InputError, match=r"synthesizer is exact, but 3600 places.*synthesizer=auto"):
        synthesize(problem, "exact")


def test_without_highspy_the_error_of_an_all_reduce_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)

    problem = Problem(random_graph(5, 3, seed=1), Collective("all_reduce", 5), MIB)
    start = synthesize(problem, "restarts", Effort(trials=1), compare=False).schedule

    with pytest.raises(InputError, match=r"pip install 'dse\[synthesis\]'"):
        Exact().whole_all_reduce(problem, Effort(), start)


def test_the_optimum_of_sixteen_npus_needs_no_highspy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An all-gather on an MI250 node: three messages over links of 50 GB/s, and two of 200."""
    monkeypatch.setitem(sys.modules, "highspy", None)
    graph = read_link_graph(GOLDEN / "topologies" / "mi250.csv")
    problem = Problem(graph, Collective("all_gather", 16), MIB)

    result = synthesize(problem, "exact", compare=False)

    assert check(result.schedule).is_valid
    assert result.time_ps == result.bound_ps == 3 * 21_571_520 + 2 * 5_842_880


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(3, 5),
    st.sampled_from(("all_gather", "broadcast", "scatter", "gather", "all_to_all")),
    st.integers(1, 2),
    st.sampled_from(("total", "bandwidth")),
)
def test_times_are_refuted_and_found_as_by_programs(
    seed: int, npus: int, name: str, chunks: int, occupancy: Literal["total", "bandwidth"]
) -> None:
    rng = random.Random(seed)
    pairs = {(u, (u + 1) % npus) for u in range(npus)}
    pairs |= {(u, v) for u in range(npus) for v in range(npus) if u != v and rng.random() < 0.4}
    kinds = ((0, 100), (0, 40), (3000, 100))
    graph = LinkGraph.of(npus, npus, [(u, v, *rng.choice(kinds)) for u, v in sorted(pairs)])
    model = LinkModel(occupancy=occupancy)
    problem = Problem(graph, Collective(name, npus, chunks), Fraction(1_000_000), model)
    best = Restarts().synthesize(problem, Effort(trials=1)).schedule
    grid = Grid.of(problem, 1, best.time_ps, "down")
    assume(len(grid.points) < 40)

    made = Decided(problem, best, 0, Effort(time_limit_s=0.5))
    made.climb()

    assert check(made.best).is_valid
    assume(made.is_done)
    for point in grid.between(0, made.best.time_ps)[-2:]:
        program = timed(grid, Places.of(problem), point)
        answer = program.program.solve(1, 0)[0] if program else "infeasible"
        assert answer != ("infeasible" if point == made.best.time_ps else "feasible")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(("all_gather", "broadcast")))
def test_switches_pass_on_in_optima(seed: int, name: str) -> None:
    graph = random_nodes(seed, 4, 2)
    problem = Problem(graph, Collective(name, graph.npus), MIB)
    best = Restarts().synthesize(problem, Effort(trials=1)).schedule

    made = Decided(problem, best, 0, Effort(time_limit_s=1))
    made.climb()

    assert check(made.best).is_valid
    assert best_bound(problem).time_ps <= made.best.time_ps <= best.time_ps
    assert made.least_ps <= made.best.time_ps
