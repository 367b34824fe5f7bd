"""Time limits: they count for bounds, ways and fixed algorithms too, and the answer says what they ended."""

from __future__ import annotations

from dataclasses import replace

import pytest
from schedules import MIB, random_graph, ring, torus

from dse.base.cancellation import NEVER, Cancellation, Deadline
from dse.collectives import Collective, Problem
from dse.collectives.bounds import lower_bounds
from dse.collectives.bounds.view import View
from dse.collectives.bounds.windows import set_bounds
from dse.collectives.files.summary import summary, summary_text
from dse.collectives.problem.settings import Network, Size
from dse.collectives.search.chunk_counts import best_split, cutting_of
from dse.collectives.search.fixed_algorithms import NAMES, TOO_LATE, fixed_algorithms
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort, Progress
from dse.inputs.networks.named import named_network

COLLECTIVES = ("all_gather", "broadcast", "scatter", "all_to_all", "reduce_scatter", "all_reduce")
OVER = Deadline(ends_s=0.0)


def problem(collective: str, npus: int = 12) -> Problem:
    return Problem(random_graph(npus, 8, seed=3), Collective(collective, npus), MIB)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_bounds_after_the_deadline_are_those_of_nodes_and_not_stronger(name: str) -> None:
    for asked in (problem(name), replace(problem(name), graph=torus(3, 4))):
        whole = {bound.name: bound.time_ps for bound in lower_bounds(asked)}
        cut = {bound.name: bound.time_ps for bound in lower_bounds(asked, OVER)}
        assert {"ingress", "egress"} & set(whole) == set(cut)
        assert all(time_ps == whole[which] for which, time_ps in cut.items())


def test_sets_that_a_deadline_has_ended_before_the_first_have_no_bounds() -> None:
    assert list(set_bounds(View(problem("all_reduce"), OVER), [])) == []


@pytest.mark.parametrize("name", COLLECTIVES)
def test_bounds_with_time_to_spare_are_all_there(name: str) -> None:
    assert lower_bounds(problem(name), Deadline.after(1000)) == lower_bounds(problem(name))


def test_a_cancellation_ends_the_search_for_bounds() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    assert {bound.name for bound in lower_bounds(problem("all_gather"), Deadline(None, cancellation))} == {
        "ingress",
        "egress",
    }


def test_the_answer_says_that_the_bounds_were_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    network, effort = Network("random", problem("all_gather").graph), Effort(trials=1, time_limit_s=1000)
    whole = synthesize(problem("all_gather"), "greedy", effort)
    assert "bounds_are_cut" not in summary(whole, network, Size(MIB))
    monkeypatch.setattr("dse.collectives.search.synthesis._SHARE_OF_BOUNDS", 0.0)
    cut = synthesize(problem("all_gather"), "greedy", effort)
    data = summary(cut, network, Size(MIB))
    assert data["bounds_are_cut"] is True
    assert "the time limit ended the search for bounds; a stronger one may exist" in summary_text(data)


def test_a_schedule_that_meets_a_bound_needs_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.collectives.search.synthesis._SHARE_OF_BOUNDS", 0.0)
    made = Problem(ring(4), Collective("all_gather", 4), MIB)
    found = synthesize(made, "auto", Effort(time_limit_s=1000))
    assert found.is_optimal
    assert "bounds_are_cut" not in summary(found, Network("ring", made.graph), Size(MIB))


@pytest.mark.parametrize("name", ["all_gather", "reduce_scatter", "all_reduce"])
def test_fixed_algorithms_that_are_too_late_are_left_out(name: str) -> None:
    asked = problem(name, npus=8)
    played = fixed_algorithms(asked, None, OVER)
    assert played.schedules == {}
    assert set(played.left_out.values()) == {TOO_LATE}
    assert set(played.left_out) == set(fixed_algorithms(asked).schedules) <= set(NAMES)


def test_fixed_algorithms_whose_routes_take_longer_than_what_is_left_are_left_out() -> None:
    asked = Problem(named_network("fc__n=500").graph, Collective("broadcast", 500), MIB)
    assert set(fixed_algorithms(asked, None, Deadline.after(0.1)).left_out.values()) == {TOO_LATE}


def test_numbers_of_chunks_that_are_too_late_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"chunks_per_npu": "auto", "operation_bytes": "1MiB", "collective": "all_gather"}
    cutting = cutting_of(Network("ring", ring(4)), values)
    assert cutting is not None
    effort = Effort(trials=1, time_limit_s=1000)
    monkeypatch.setattr(Deadline, "is_over", True)
    found = best_split(cutting, "greedy", effort)
    assert list(found.times_ps) == [1]
    assert set(found.left_out.values()) == {TOO_LATE}


def test_the_bound_is_reported_before_the_search() -> None:
    reports: list[Progress] = []
    asked = Problem(ring(4), Collective("all_gather", 4), MIB)
    found = synthesize(asked, "greedy", Effort(trials=1, report=reports.append))
    assert reports[0] == Progress(None, 0, found.bound_ps)


def test_a_deadline_gives_shares_of_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    deadline = Deadline.after(30)
    assert (deadline.left_s, deadline.part(1 / 3).left_s, deadline.at_least(50).left_s) == (30, 10, 50)
    assert (NEVER.left_s, NEVER.part(0.5).left_s, NEVER.is_over, OVER.is_over) == (None, None, False, True)
