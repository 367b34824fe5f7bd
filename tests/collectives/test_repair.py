"""Schedules after failures: what survives, repairs, what is lost, and what cannot be repaired."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from schedules import all_gather, all_reduce_of, greedy, random_graph, ring, torus

from benchmarks.link_products import Dimension, product
from dse.base.errors import InputError
from dse.collectives import Collective, Problem, Schedule
from dse.collectives.check.checker import check
from dse.collectives.robust.failures import Failure, surviving
from dse.collectives.robust.repair import SLACK, repair
from dse.collectives.robust.settings import slack_of
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.graph import LinkKind

EFFORT = Effort(trials=8)


def avoids(schedule: Schedule, failure: Failure) -> bool:
    """Whether no send starts on a dead link at or after the failure."""
    return not (failure.links[schedule.link] & (schedule.start_ps >= failure.at_ps)).any()


def test_texts_name_cables_and_single_directions() -> None:
    graph = ring(5)

    both = Failure.parse(graph, "0-1, 3>2")

    pairs = zip(graph.sources[both.links].tolist(), graph.destinations[both.links].tolist(), strict=True)
    assert sorted(pairs) == [(0, 1), (1, 0), (3, 2)]
    assert Failure.parse(graph, npus="4").links.sum() == 4


@pytest.mark.parametrize(
    ("links", "npus", "message"),
    [
        ("0-2", "", "failed_links: the topology has no link from 0 to 2; links from 0 lead to 1, 4$"),
        ("9>1", "", "failed_links: the topology has no link from 9 to 1$"),
        ("0:1", "", "failed_links: '0:1' is no link; write 3-7, or 3>7 for one direction"),
        ("", "5", "failed_npus: 5 is no NPU; allowed are 0 to 4"),
        ("", "x", "failed_npus: 'x' is no NPU; allowed are 0 to 4"),
    ],
)
def test_what_is_no_part_of_the_network_cannot_fail(links: str, npus: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Failure.parse(ring(5), links, npus)


def test_sends_that_depend_on_a_dead_link_do_not_survive() -> None:
    graph = LinkGraph.of(4, 4, [(0, 1, 0, 1), (1, 2, 0, 1), (2, 3, 0, 1), (0, 3, 0, 1)])
    problem = Problem(graph, Collective("broadcast", 4), 1000)
    columns = (np.array([0, 1, 2], np.int32), np.zeros(3, np.int32), np.array([0, 1, 2]) * 10**6)
    schedule = Schedule.of(problem, *columns)

    kept = surviving(schedule, Failure.of(graph, [(1, 2)]))

    assert kept.link.tolist() == [0]
    assert len(surviving(schedule, Failure.of(graph, [(1, 2)], at_ps=2_000_000))) == 3
    assert len(surviving(schedule, Failure.of(graph, [(1, 2)], at_ps=1_999_999))) == 1


def test_a_torus_without_a_link_reaches_its_new_bound_and_keeps_most() -> None:
    schedule = greedy(all_gather(torus(4, 4)))

    found = repair(schedule, Failure.of(schedule.problem.graph, [(0, 1)]), EFFORT)

    assert found.bound_ps == found.repaired.time_ps == found.anew.time_ps == 107_357_600
    assert found.kept >= 0.9
    assert check(found.repaired).is_valid


def test_a_link_that_dies_later_is_used_until_then() -> None:
    schedule = greedy(all_gather(torus(4, 4)))
    failure = Failure.of(schedule.problem.graph, [(0, 1)], at_ps=50_000_000)

    found = repair(schedule, failure, EFFORT)

    for made in (found.repaired, found.anew):
        assert check(made).is_valid
        assert avoids(made, failure)
    over = schedule.problem.graph.number_of[0, 1]
    assert (found.repaired.link == over).sum() == 2  # two chunks of 21.5 µs have arrived by then


def test_chunks_of_a_dead_npu_are_lost_unless_another_has_them() -> None:
    schedule = greedy(all_gather(torus(3, 3)))
    graph = schedule.problem.graph

    at_once = repair(schedule, Failure.of(graph, npus=[4]), EFFORT)
    later = repair(schedule, Failure.of(graph, npus=[4], at_ps=25_000_000), EFFORT)

    assert at_once.lost == (4,)
    assert later.lost == ()
    assert check(at_once.repaired).is_valid
    assert check(later.repaired).is_valid
    ends = (graph.sources, graph.destinations)
    assert not any((end[at_once.repaired.link] == 4).any() for end in ends)


@pytest.mark.parametrize("name", ["reduce_scatter", "reduce", "gather", "all_reduce"])
def test_collectives_that_end_in_sums_or_one_place_are_repaired_backwards(name: str) -> None:
    graph = torus(3, 3)
    if name == "all_reduce":
        schedule = all_reduce_of(greedy(all_gather(graph)))
    else:
        problem = Problem(graph, Collective(name, 9), all_gather(graph).chunk_bytes)
        wide = greedy(problem.mirrored) if name != "gather" else None
        if wide is None:
            from dse.collectives.search.synthesizers.greedy import Arrival

            wide = Arrival().synthesize(problem.mirrored, EFFORT).schedule
        schedule = wide.mirrored(problem)

    failure = Failure.parse(graph, "0-1")
    found = repair(schedule, failure, EFFORT)

    assert check(found.repaired).is_valid
    assert check(found.anew).is_valid
    assert avoids(found.repaired, failure)


def test_an_npu_that_nothing_reaches_is_named_with_the_one_that_has_the_chunk() -> None:
    schedule = greedy(all_gather(ring(4)))

    with pytest.raises(InputError, match=r"no way from NPU \d to NPU 2"):
        repair(schedule, Failure.of(schedule.problem.graph, [(1, 2), (3, 2)]), EFFORT)


def test_sums_cannot_be_repaired_after_the_start() -> None:
    schedule = all_reduce_of(greedy(all_gather(ring(4))))
    failure = Failure.of(schedule.problem.graph, [(0, 1)])

    with pytest.raises(InputError, match="failures of links at time 0 only"):
        repair(schedule, replace(failure, at_ps=5), EFFORT)


@settings(max_examples=15, deadline=None)
@given(st.integers(4, 8), st.integers(0, 10**6), st.booleans())
def test_repairs_are_valid_close_to_a_schedule_made_anew_and_avoid_what_failed(
    npus: int, seed: int, late: bool
) -> None:
    schedule = greedy(all_gather(random_graph(npus, 6, seed)), seed)
    graph = schedule.problem.graph
    link = seed % len(graph)
    pair = (int(graph.sources[link]), int(graph.destinations[link]))
    failure = Failure.of(graph, [pair], at_ps=schedule.time_ps // 3 if late else 0)

    found = repair(schedule, failure, EFFORT)

    assert check(found.repaired).is_valid
    assert avoids(found.repaired, failure)
    assert found.bound_ps <= found.repaired.time_ps <= found.anew.time_ps
    least = repair(schedule, failure, EFFORT, slack=SLACK)
    assert least.repaired.time_ps <= found.anew.time_ps * (1 + SLACK)
    assert least.kept >= found.kept


FAST, SLOW = LinkKind(Fraction(500), Fraction(200)), LinkKind(Fraction(1000), Fraction(50, 7))
ROWS, COLUMNS = LinkKind(Fraction(500), Fraction(50)), LinkKind(Fraction(500), Fraction(75))
LARGE = {
    "torus": [Dimension("ring", 8, ROWS), Dimension("ring", 8, ROWS)],
    "mesh of two speeds": [Dimension("line", 8, ROWS), Dimension("line", 8, COLUMNS)],
    "hypercube": [Dimension("ring", 2, ROWS)] * 6,
    "cliques on a ring": [Dimension("full", 8, COLUMNS), Dimension("ring", 8, ROWS)],
    "rings, cliques and a switch": [
        Dimension("ring", 2, FAST),
        Dimension("full", 4, ROWS),
        Dimension("full", 8, SLOW),
    ],
}


@pytest.mark.parametrize("dimensions", LARGE.values(), ids=LARGE)
def test_after_one_link_a_repair_of_64_npus_keeps_four_fifths_and_costs_a_twentieth(
    dimensions: list[Dimension],
) -> None:
    graph = product(dimensions)
    schedule = synthesize(
        Problem(graph, Collective("all_gather", 64), Fraction(1 << 20)), compare=False
    ).schedule
    for link in range(0, len(graph), len(graph) // 5):
        pair = int(graph.sources[link]), int(graph.destinations[link])
        failure = Failure.of(graph, [pair])

        found = repair(schedule, failure, EFFORT, slack=SLACK)

        assert check(found.repaired).is_valid
        assert avoids(found.repaired, failure)
        assert found.kept >= 0.8
        assert found.repaired.time_ps <= found.anew.time_ps * 1.05
        assert repair(schedule, failure, EFFORT).repaired.time_ps <= found.anew.time_ps


def test_the_least_change_is_asked_for_and_refused_where_nothing_fails() -> None:
    assert slack_of({"failed_links": "0-1"}) == 0.0
    assert slack_of({"failed_links": "0-1", "repair": "least_change"}) == 0.05
    with pytest.raises(InputError, match="repair=least_change has no effect without failed_links"):
        slack_of({"repair": "least_change"})
    with pytest.raises(InputError, match="repair is 'most'; allowed are fastest, least_change"):
        slack_of({"failed_npus": "1", "repair": "most"})
