"""Collectives with sums among some NPUs: what the others relay, add on the way, and never contribute."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import MIB, random_graph, replay, ring

from dse.base.errors import InputError
from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.collectives.bounds import best_bound
from dse.collectives.check.checker import check
from dse.collectives.problem.collective import REDUCING, Part
from dse.collectives.problem.of_schedule import given_problem
from dse.collectives.problem.settings import network_of, problem_of
from dse.collectives.question import question_of, synthesized
from dse.collectives.search.fixed_algorithms import fixed_algorithms
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph

RING = {"topology": "torus__dim=[8]__alpha=500__beta=50"}


def among(graph: LinkGraph, name: str, group: tuple[int, ...], chunks: int = 1, root: int = 0) -> Problem:
    """A collective among some NPUs, of chunks of 1 MiB."""
    collective = Collective.of_part(Part(name, group, chunks, root), graph.npus)
    return Problem(graph, collective, MIB, LinkModel("gib", "bandwidth", "ns"))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(3, 7),
    st.integers(0, 8),
    st.integers(0, 2),
    st.integers(0, 999),
    st.integers(1, 3),
    st.sampled_from(REDUCING),
    st.data(),
)
def test_sums_of_a_group_are_whole_and_above_their_bound(
    nodes: int, links: int, switches: int, seed: int, k: int, name: str, data: st.DataObject
) -> None:
    npus = max(2, nodes - switches)
    wired = random_graph(nodes, links, seed)
    graph = LinkGraph(npus, nodes, wired.sources, wired.destinations, wired.kind_of, wired.kinds)
    group = tuple(data.draw(st.lists(st.integers(0, npus - 1), min_size=2, unique=True)))
    root = data.draw(st.integers(0, len(group) - 1)) if name == "reduce" else 0
    problem = among(graph, name, group, k, root)

    found = synthesize(
        problem, "auto" if npus * problem.collective.chunks > 100 else "fast", Effort(trials=2)
    )

    assert check(found.schedule).is_valid
    assert found.time_ps >= best_bound(problem).time_ps
    assert replay(found.schedule)[0] <= found.time_ps


def test_a_relay_adds_what_it_passes_on() -> None:
    """NPUs 0 and 1 send to NPU 2 by way of NPU 3, which sends one sum: 2 us, not 3."""
    graph = LinkGraph.of(4, 4, [(0, 3, 0, 1), (1, 3, 0, 1), (3, 2, 0, 1)])
    part = Part("reduce", (2, 0, 1))
    problem = Problem(graph, Collective.of_part(part, 4), Fraction(1000))
    found = synthesize(problem, "auto", Effort(trials=2))
    assert (found.time_ps, found.is_optimal, len(found.schedule)) == (2_000_000, True, 3)
    assert found.schedule.reduce.all()

    for left_out in range(3):
        kept = np.arange(3) != left_out
        columns = (found.schedule.link, found.schedule.chunk, found.schedule.start_ps)
        part_of_it = Schedule.of(problem, *(column[kept] for column in columns), True)
        assert not check(part_of_it).is_valid


def test_a_relay_contributes_nothing() -> None:
    """NPU 1 sends before NPU 0 has contributed; a relay adds nothing of its own."""
    graph = LinkGraph.of(3, 3, [(0, 1, 0, 1), (1, 2, 0, 1)])
    link, chunk, start = np.array([[0, 0, 0], [1, 0, 1_000_000]], dtype=np.int64).T
    columns = (link.astype(np.int32), chunk.astype(np.int32), start.copy())
    early = (*columns[:2], np.zeros(2, dtype=np.int64))
    of_two = Problem(graph, Collective.of_part(Part("reduce", (2, 0)), 3), Fraction(1000))
    of_all = Problem(graph, Collective("reduce", 3, root=2), Fraction(1000))
    assert check(Schedule.of(of_two, *columns, True)).is_valid
    assert check(Schedule.of(of_all, *columns, True)).is_valid
    rules = [[v.rule for v in check(Schedule.of(p, *early, True)).violations] for p in (of_two, of_all)]
    assert rules == [[3, 4], [4]]


def test_every_second_npu_of_a_ring_reduces_as_a_ring_of_half_the_size() -> None:
    """Each way is two links: 12 sends of each of 2 chunks are forwarded by the NPUs between."""
    found = synthesize(among(ring(8), "reduce_scatter", (0, 2, 4, 6), 2), "auto", Effort(trials=5))
    assert (found.time_ps, found.is_optimal) == (80_124_000, True)
    both = synthesize(among(ring(8), "all_reduce", (0, 2, 4, 6), 2), "auto", Effort(trials=5))
    assert both.barrier_ps == 160_248_000
    assert both.time_ps < both.barrier_ps


def test_a_group_of_all_npus_is_no_group() -> None:
    values = {**RING, "collective": "all_reduce", "group": "[0,1,2,3,4,5,6,7]"}
    problem, _ = problem_of(network_of(values, None), values)
    assert problem.collective == Collective("all_reduce", 8)


def test_the_operation_of_a_group_is_that_of_its_members() -> None:
    values = {**RING, "collective": "all_reduce", "group": "[0,1,2]", "operation_bytes": "3MiB"}
    problem, size = problem_of(network_of(values, None), values)
    assert (problem.collective.chunks, size.chunk_bytes) == (3, Fraction(1 << 20))


@pytest.mark.parametrize("name", REDUCING)
def test_folders_of_groups_are_read_again(tmp_path: Path, name: str) -> None:
    values = {**RING, "collective": name, "group": "[1,4,6]", "trials": "1"}
    answer = synthesized(question_of(values, None))
    answer.write(tmp_path)

    file, problem = given_problem(tmp_path / "schedule.jsonl", {}, None)

    assert problem.collective == answer.schedule.problem.collective
    assert check(file.sends.schedule(problem)).is_valid


def test_a_group_without_a_way_is_one_line(tmp_path: Path) -> None:
    """NPU 1 reaches NPU 2, and nothing leads back."""
    path = tmp_path / "one-way.csv"
    path.write_text("3\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n0,1,0,1\n1,0,0,1\n1,2,0,1\n")
    asked = {"topology": str(path), "collective": "all_reduce", "group": "[1,2]"}
    with pytest.raises(InputError, match="topology has no way from NPU 2 to NPU 1, which all_reduce needs"):
        question_of(asked, None)
    assert synthesized(question_of({**asked, "group": "[0,1]"}, None)).is_optimal


def test_links_of_a_group_fail_and_sums_are_repaired() -> None:
    values = {**RING, "collective": "reduce", "group": "[0,2,5]", "trials": "2", "failed_links": "1-2"}
    found = synthesized(question_of(values, None)).found
    assert found.repaired is not None
    assert check(found.repaired).is_valid


def test_fixed_algorithms_past_a_relay_bring_each_contribution_once() -> None:
    """NPU 2 is on the way of several messages of a chunk, and the switch passes messages on one by one."""
    kinds = [(7000, 10), (500, 100), (100, 100), (100, 10), (300, 100), (7000, 100), (500, 10)]
    ends = ["01", "03", "05", "10", "12", "21", "23", "24", "30", "32", "34", "42", "43", "45", "50", "54"]
    links = [
        (int(a), int(b), *kinds[int(kind)]) for (a, b), kind in zip(ends, "0120333413545626", strict=True)
    ]
    graph = replace(LinkGraph.of(5, 6, links), cannot_add=frozenset({5}))
    part = Part("reduce_scatter", (0, 4, 3, 1))
    model = LinkModel(occupancy="bandwidth", clock="ns")
    asked = Problem(graph, Collective.of_part(part, 5), Fraction(100), model)
    found = fixed_algorithms(asked).schedules
    assert "direct" in found
    for schedule in found.values():
        assert check(schedule).is_valid
