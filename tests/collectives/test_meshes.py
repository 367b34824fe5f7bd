"""Schedules on meshes by a rule: as a simple simulation of it, valid when listed, and at known bounds."""

from __future__ import annotations

from dataclasses import replace
from itertools import product as all_of
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.link_products import Dimension, link_kind, mesh, product
from dse.base.errors import InputError
from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check
from dse.collectives.check.symmetric import checked, wave_violations
from dse.collectives.check.verdict import InvalidSchedule
from dse.collectives.files.folder import rule_lines
from dse.collectives.search import mesh as rules
from dse.collectives.search.kept import KeptSchedule
from dse.collectives.search.mesh import MeshSchedule
from dse.collectives.search.reductions import halves
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.collectives.search.synthesizers.meshes import Meshes, first_dimensions
from dse.inputs.networks import LinkGraph
from tests.collectives.schedules import MIB, torus

UNIFORM = link_kind(500, 50)
STEP_PS = 21_471_520


def lines(*dimensions: tuple[int, int, int]) -> LinkGraph:
    """A mesh of dimensions of a size, a latency in ns and GB/s."""
    return product([Dimension("line", size, link_kind(ns, gbps)) for size, ns, gbps in dimensions])


def problem_on(graph: LinkGraph, name: str = "all_gather", k: int = 1, occupancy: str = "total") -> Problem:
    return Problem(graph, Collective(name, graph.npus, k), MIB, LinkModel(occupancy=occupancy))  # type: ignore[arg-type]


def gathered(problem: Problem) -> MeshSchedule:
    made = Meshes().synthesize(problem, Effort()).schedule
    assert isinstance(made, MeshSchedule)
    return made


def all_reduced(problem: Problem, count: int) -> MeshSchedule:
    """An all-reduce in so many waves."""
    grid = problem.graph.mesh
    assert grid is not None
    first = first_dimensions(halves(problem)[1], grid)
    return MeshSchedule(problem, grid, rules._waves(problem, grid, first, count, count, None))


def simulated(problem: Problem) -> set[tuple[int, int, int, int]]:
    """The rule once more, chunk by chunk and slowly: node, next node, chunk and start of each send."""
    grid = problem.graph.mesh
    assert grid is not None
    arrival, held = (times.tolist() for times in rules.times_along(problem, grid))
    first = first_dimensions(problem, grid).tolist()
    npus, count = problem.graph.npus, len(grid.sizes)
    there = [[] for _ in range(npus)]  # type: list[list[tuple[int, int, int]]]
    for chunk in range(len(first)):
        there[chunk % npus].append((0, 0, chunk))
    busy: dict[tuple[int, int], list[int]] = {}
    sends = set()
    for leg in range(count):
        come = [[] for _ in range(npus)]  # type: list[list[tuple[int, int, int]]]
        for node, chunks in enumerate(there):
            there[node] = sorted(chunks)
        for dimension, begin, down in all_of(range(count), range(npus), (False, True)):
            size, stride = grid.sizes[dimension], grid.strides[dimension]
            step = -stride if down else stride
            if begin // stride % size != (size - 1 if down else 0):
                continue
            along: list[tuple[int, int]] = []
            for node in range(begin, begin + step * (size - 1), step):
                of_leg = [(at, -1, chunk) for at, chunk in along]
                of_leg += [t for t in there[node] if first[t[2]] == (dimension - leg) % count]
                before, free, along = sorted(busy.get((node, node + step), [])), 0, []
                now = busy.setdefault((node, node + step), [])
                for at, _, chunk in sorted(of_leg, key=lambda t: (t[0], t[1])):
                    start = max(at, free)
                    for other in before:
                        if other < start + held[dimension] and start < other + held[dimension]:
                            start = other + held[dimension]
                    free = start + held[dimension]
                    now.append(start)
                    sends.add((node, node + step, chunk, start))
                    along.append((start + arrival[dimension], chunk))
                    come[node + step].append((start + arrival[dimension], 2 * leg + 1 + down, chunk))
        for node, chunks in enumerate(come):
            there[node] += chunks
    return sends


def listed(schedule: Schedule) -> set[tuple[int, int, int, int]]:
    graph = schedule.problem.graph
    columns = (
        graph.sources[schedule.link],
        graph.destinations[schedule.link],
        schedule.chunk,
        schedule.start_ps,
    )
    return set(zip(*(column.tolist() for column in columns), strict=True))


MESHES = st.lists(
    st.tuples(st.integers(2, 5), st.sampled_from((0, 500, 3000)), st.sampled_from((25, 50, 400))),
    min_size=1,
    max_size=4,
).filter(lambda dimensions: 3 <= prod(size for size, _, _ in dimensions) <= 60)
OCCUPANCIES = st.sampled_from(("total", "bandwidth"))


@pytest.mark.parametrize(
    ("graph", "steps"),
    [(mesh((8, 8), UNIFORM), 32), (mesh((20, 20), UNIFORM), 200), (mesh((40,), UNIFORM), 39)],
)
def test_uniform_meshes_meet_the_ingress_of_their_corners(graph: LinkGraph, steps: int) -> None:
    made = gathered(problem_on(graph))
    assert made.time_ps == steps * STEP_PS == best_bound(made.problem).time_ps
    assert check(made.expand()).is_valid


def test_both_dimensions_are_busy_where_one_is_twice_as_fast() -> None:
    """Corners of 20 x 20 take 399 chunks over links of 21.47 and 10.99 us: 2.90 ms, missed by 0.8 %."""
    made = gathered(problem_on(lines((20, 500, 50), (20, 500, 100))))
    assert made.time_ps == 2_922_212_160
    assert best_bound(made.problem).time_ps == 2_900_240_640


@settings(max_examples=60, deadline=None)
@given(MESHES, st.integers(1, 2), OCCUPANCIES)
def test_the_sends_are_those_of_a_simple_simulation(
    dimensions: list[tuple[int, int, int]], k: int, occupancy: str
) -> None:
    made = gathered(problem_on(lines(*dimensions), k=k, occupancy=occupancy))
    assert listed(made) == simulated(made.problem)
    assert made.time_ps == made.expand().time_ps
    assert made.held_ps == made.expand().held_ps


@settings(max_examples=60, deadline=None)
@given(MESHES, st.integers(1, 2), OCCUPANCIES, st.integers(1, 4))
def test_what_is_kept_is_valid_when_listed(
    dimensions: list[tuple[int, int, int]], k: int, occupancy: str, count: int
) -> None:
    all_reduce = problem_on(lines(*dimensions), "all_reduce", k, occupancy)
    scatter, gather = halves(all_reduce)
    plain = gathered(gather)
    for made in (plain, plain.mirrored(scatter), all_reduced(all_reduce, count)):
        assert isinstance(made, MeshSchedule)
        assert wave_violations(made) == []
        assert check(made.expand()).is_valid
        assert (len(made), made.time_ps) == (len(made.expand()), made.expand().time_ps)
        assert made.held_ps == made.expand().held_ps
        assert made.time_ps >= best_bound(made.problem).time_ps


@settings(max_examples=40, deadline=None)
@given(MESHES, st.integers(2, 4), st.data())
def test_waves_at_other_moments_are_judged_like_all_their_sends(
    dimensions: list[tuple[int, int, int]], count: int, data: st.DataObject
) -> None:
    made = all_reduced(problem_on(lines(*dimensions), "all_reduce"), count)
    number = data.draw(st.integers(0, count - 1))
    wave = made.waves[number]
    moved = replace(wave, at_ps=wave.at_ps + data.draw(st.sampled_from((-1, 1, -(10**7)))))
    waves = (*made.waves[:number], moved, *made.waves[number + 1 :])
    changed = MeshSchedule(made.problem, made.mesh, waves)
    assert bool(wave_violations(changed)) >= (not check(changed.expand()).is_valid)
    if number == 0 and moved.at_ps < wave.at_ps:
        assert wave_violations(changed) == [
            "rule 2: a sum is sent before 0, or while a link carries another wave"
        ]


def test_all_reduces_overlap_in_waves() -> None:
    """60 x 60: a reduce-scatter and then an all-gather take 3,605 steps; 1,831 are needed."""
    problem = problem_on(mesh((60, 60), UNIFORM), "all_reduce")
    barrier = all_reduced(problem, 1)
    found = barrier.overlapped(None)
    assert len(found.waves) == 4
    assert found.time_ps < 0.71 * barrier.time_ps
    assert wave_violations(found) == []


def test_chunks_of_no_wave_and_ways_over_other_links_are_found() -> None:
    made = all_reduced(problem_on(mesh((3, 4), UNIFORM), "all_reduce"), 2)
    assert wave_violations(MeshSchedule(made.problem, made.mesh, made.waves[:1])) == [
        "rule 4: a chunk is not of exactly one wave"
    ]
    wrong = replace(made.mesh, link_of=made.mesh.link_of[::-1].copy())
    assert wave_violations(MeshSchedule(made.problem, wrong, made.waves)) == [
        "rule 1: a way of the mesh is over no link of its node, or one of another kind"
    ]


def test_a_schedule_too_large_to_list_is_checked_by_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.collectives.search.mesh.MOST_LISTED_SENDS", 10)
    made = synthesize(problem_on(mesh((4, 4), UNIFORM), "all_reduce"), "mesh", compare=False).schedule
    assert isinstance(made, KeptSchedule)
    assert checked(made, "mesh") == "rule"
    with pytest.raises(
        InputError, match="480 sends, more than the 10 that can be listed; the rule that makes"
    ):
        made.expand()
    assert isinstance(made, MeshSchedule)
    first = made.waves[0]
    early = MeshSchedule(made.problem, made.mesh, (replace(first, at_ps=first.at_ps - 1),))
    with pytest.raises(InvalidSchedule, match="the rule of the schedule of mesh is invalid: rule 2"):
        checked(early, "mesh")
    assert len(list(rule_lines(made))) == 1 + len(made.waves)


def test_it_says_what_it_cannot_take() -> None:
    assert Meshes().obstacle(problem_on(torus(3, 3))) == (
        "the links are no mesh of lines, with one kind of link along each dimension"
    )
    assert Meshes().obstacle(problem_on(mesh((3, 3), UNIFORM), "all_to_all")) == (
        "all_to_all has no rule for meshes"
    )
    wide = problem_on(mesh((2, 20_000), UNIFORM))
    assert Meshes().obstacle(wide) == "it would keep up to 12.80 GB of sends; it keeps 1.20 GB"
    with pytest.raises(InputError, match="synthesizer=auto"):
        Meshes().synthesize(wide, Effort())


@pytest.mark.parametrize("sizes", [(5,), (2, 3), (3, 2, 4)])
def test_a_mesh_is_found_by_its_links(sizes: tuple[int, ...]) -> None:
    graph = mesh(sizes, UNIFORM)
    found = graph.mesh
    assert found is not None
    assert found.sizes == sizes
    some = np.ones(len(graph), dtype=np.bool_)
    some[1:] = False
    assert graph.without(some).mesh is None
    other = graph.kind_of.copy()
    other[-1] = 1
    kinds = (*graph.kinds, link_kind(1, 1))
    assert replace(graph, kind_of=other, kinds=kinds).mesh is None
    assert torus(3, 3).mesh is None
