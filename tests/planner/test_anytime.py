"""The anytime planner: sound bounds, plans that keep their promises, and limits that keep the best."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from large_problem import large_problem
from small_problems import small_problem

from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.costs.strict import GIB
from dse.planner.problem.problem import PlanProblem, PlanResult, Profile, ProfileKey, ProfileSet
from dse.planner.proofs.check import check_plan
from dse.planner.proofs.duals import RelaxedWays
from dse.planner.proofs.steps import Region
from dse.planner.proofs.ways import BestPlaces, RelaxedWay, WayMaker
from dse.planner.search.planner import UNPROVEN, Limits
from dse.planner.search.planners.anytime import AnytimePlanner
from dse.planner.search.planners.exact import ExactPlanner
from tests.references.plan_documents import plan_document


def check_strict_promises(problem: PlanProblem, result: PlanResult) -> None:
    """No empty stage, no lost layer, no tensor group of two types, no GPU over its memory."""
    plan, cost = result.best, result.cost
    assert plan is not None
    assert cost is not None
    assert plan.partition[0] == 0
    assert plan.partition[-1] == problem.layers
    assert all(a < b for a, b in zip(plan.partition, plan.partition[1:], strict=False))
    types = [t for t in plan.types for _ in range(problem.cluster.gpus_of(t))]
    start = 0
    for gpus, (dp, tp), stage in zip(plan.groups, plan.strategies, cost.stages, strict=True):
        for replica in range(dp):
            group = types[start + replica * tp : start + (replica + 1) * tp]
            assert len(set(group)) == 1
        for type_, need in zip(types[start : start + gpus], stage.memory_bytes, strict=True):
            assert need <= problem.cluster.memory_gib[type_] * GIB * (1 - problem.memory_reserve)
        start += gpus
    assert start == problem.cluster.gpus


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9))
def test_bounds_are_sound_and_plans_keep_the_strict_promises(seed: int) -> None:
    problem = small_problem(seed, compat=False)
    optimum = ExactPlanner().plan(problem, "strict", Limits(keep=1))
    result = AnytimePlanner().plan(problem, "strict", Limits(keep=1))
    if optimum.cost is None:
        assert result.best is None
        return
    check_strict_promises(problem, optimum)
    if result.cost is not None and result.bound_ms is not None:
        check_strict_promises(problem, result)
        assert result.bound_ms <= optimum.cost.cost_ms * (1 + 1e-12) <= result.cost.cost_ms * (1 + 1e-11)


def test_a_cluster_of_32_gpus_is_planned_with_a_proof() -> None:
    problem = large_problem(hosts_per_type=1, layers=8, gbs=8, hidden=2048, mixed=False)
    result = AnytimePlanner().plan(problem, "strict", Limits(keep=1))
    check_strict_promises(problem, result)
    assert result.best is not None
    assert result.cost is not None
    assert result.bound_ms is not None
    assert result.bound_ms >= 0.8 * result.cost.cost_ms
    assert result.certificate is not None
    assert check_plan(plan_document(problem, result.best, result.cost, result.certificate)).lines == ()


def test_bounds_count_micro_batches_in_flight_and_sending_between_types(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = large_problem(hosts_per_type=1, layers=32, gbs=64, hidden=8192, mixed=False)
    result = AnytimePlanner().plan(problem, "strict", Limits(keep=1, gap=0.01))
    assert result.certificate is not None
    box = min(result.certificate["boxes"], key=lambda box: box["bound_ms"] or float("inf"))
    region = Region(*(box[name] for name in Region._fields))
    prices = np.array(box["multipliers"])
    ways = RelaxedWays(problem, BestPlaces(problem), box["batches"])
    assert result.bound_ms == pytest.approx(13184.577600, rel=1e-9)
    assert ways.bound_ms(region, prices) == pytest.approx(13184.577600, rel=1e-9)
    with monkeypatch.context() as changed:
        changed.setattr(WayMaker, "ways", any_number_in_flight(WayMaker.ways))
        ways = RelaxedWays(problem, BestPlaces(problem), box["batches"])
    assert ways.bound_ms(region, prices) == pytest.approx(13181.507460, rel=1e-9)
    places = BestPlaces(problem)
    places.across_gbps = dict(places.within_gbps)
    ways = RelaxedWays(problem, places, box["batches"])
    assert ways.bound_ms(region, prices) == pytest.approx(13174.904256, rel=1e-9)


def any_number_in_flight(ways: Callable[[WayMaker], Any]) -> Callable[[WayMaker], Any]:
    """Return the ways with room for as many micro-batches as there are, where one fits."""

    def changed(maker: WayMaker) -> tuple[list[RelaxedWay], list[int]]:
        made, kinds = ways(maker)
        return [way._replace(in_flight=np.where(way.in_flight >= 1, np.inf, 0)) for way in made], kinds

    return changed


def test_a_wider_gap_ends_the_search_earlier() -> None:
    problem = large_problem(hosts_per_type=1, layers=16, gbs=64, hidden=8192)
    wide = AnytimePlanner().plan(problem, "strict", Limits(keep=1, gap=0.05))
    near = AnytimePlanner().plan(problem, "strict", Limits(keep=1, gap=0.02))
    for result, gap in ((wide, 0.05), (near, 0.02)):
        assert result.cost is not None
        assert result.bound_ms is not None
        assert result.cost.cost_ms <= result.bound_ms * (1 + gap)
    assert wide.plans < near.plans


def test_a_time_limit_keeps_the_best_plan_so_far() -> None:
    problem = large_problem(hosts_per_type=16, layers=32, gbs=16, hidden=2048)
    result = ExactPlanner().plan(problem, "strict", Limits(time_limit_s=0.01))
    check_strict_promises(problem, result)
    assert not result.optimal


def test_ctrl_c_keeps_the_best_plan_so_far() -> None:
    problem = large_problem(hosts_per_type=32, layers=64, gbs=64, hidden=4096)
    said: list[str] = []

    def press(line: str) -> None:
        if not said:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        said.append(line)

    result = AnytimePlanner().plan(problem, "strict", Limits(), press)
    check_strict_promises(problem, result)
    assert said[-1] == "interrupted: the best plan so far is the answer"
    assert not result.optimal
    assert result.certificate is None or result.bound_ms is not None


def test_only_a_search_of_all_plans_says_that_none_fits() -> None:
    problem = replace(large_problem(hosts_per_type=1, layers=8, gbs=8, hidden=2048), memory_reserve=0.9999)
    assert UNPROVEN in AnytimePlanner().plan(problem, "strict", Limits()).infeasible
    result = ExactPlanner().plan(problem, "strict", Limits())
    assert result.best is None
    assert UNPROVEN not in result.infeasible


def test_a_bound_knows_that_hosts_may_be_linked_faster_than_gpus_inside() -> None:
    """Three GPUs and five: the fourth stage does best on the next host, over 50 GB/s instead of 12."""
    times = {
        ProfileKey(type_, tp, batch): Profile(
            (10.0 * batch / tp * slower,) * 3, (100.0 * batch,) * 3, 0.0, 1.0, 0.0
        )
        for type_, slower in (("A", 1), ("B", 2))
        for tp in (1, 2)
        for batch in (1, 2, 4, 8)
    }
    problem = PlanProblem(
        MixedCluster(
            (Host("a", "A", 3, 12.0, 50.0, 0), Host("b", "B", 5, 12.0, 50.0, 0)), {"A": 80.0, "B": 80.0}
        ),
        ProfileSet(times, ProfileKey("A", 1, 1), (1e8,) * 3, memory_has_states=False),
        ("A", "B"),
        gbs=2,
        hidden=8192,
        sequence=4096,
        vocabulary=1000,
        allow_mixed_stages=True,
    )
    optimum = ExactPlanner().plan(problem, "strict", Limits(keep=1))
    found = AnytimePlanner().plan(problem, "strict", Limits(keep=1))
    assert optimum.cost is not None
    assert optimum.cost.cost_ms == pytest.approx(49.86870912)
    assert found.bound_ms is not None
    assert found.bound_ms <= 49.86870912


def test_beams_seek_plans_that_are_little_better_than_the_best() -> None:
    """What a band of stage times makes a label look worse than it is does not end it."""
    problem = large_problem(hosts_per_type=1, layers=20, gbs=128, hidden=5120, mixed=False)
    result = AnytimePlanner().plan(problem, "strict", Limits(keep=1))
    assert result.cost is not None
    assert result.bound_ms is not None
    assert result.cost.cost_ms == pytest.approx(5929.329472962388, rel=1e-9)
    assert result.cost.cost_ms <= result.bound_ms * 1.001


def test_beams_near_a_plan_run_once() -> None:
    problem = large_problem(hosts_per_type=1, layers=8, gbs=16, hidden=4096)
    result = AnytimePlanner().plan(problem, "strict", Limits(keep=1))
    assert result.cost is not None
    assert result.cost.cost_ms == pytest.approx(357.7773229038067, rel=1e-9)
    assert result.plans == 1020
