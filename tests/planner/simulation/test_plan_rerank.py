"""Re-ranking: the simulator has the last word, and what it says of the exact plan and of the walk's."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from planner.golden_rows import row_problem
from random_plans import random_problem

from dse.planner.problem.costs import Infeasible
from dse.planner.problem.problem import ClusterPlan, PlanProblem, PlanResult
from dse.planner.questions.simulation import rerank, simulate
from dse.planner.search.planner import Limits
from dse.planner.search.planners.exact import ExactPlanner
from dse.planner.search.planners.metis import Metis

CLUSTERS = 50


def walked(problem: PlanProblem) -> PlanResult:
    return Metis().plan(problem, "compat", Limits(keep=1))


def exact(problem: PlanProblem) -> PlanResult:
    return ExactPlanner().plan(problem, "strict", Limits(keep=20))


def simulated(problem: PlanProblem, plan: ClusterPlan | None) -> float:
    """The walk's best plan: infinite where it trains no model."""
    assert plan is not None
    try:
        return simulate(problem, plan, "compat").step_ms
    except Infeasible:
        return float("inf")


def test_the_exact_plan_simulated_is_never_worse_than_the_walks_best_on_random_clusters() -> None:
    rng = random.Random(5)
    compared = 0
    while compared < CLUSTERS:
        problem = random_problem(rng)
        if problem.cluster.gpus.bit_count() > 1:  # the walk wants a power of two
            continue
        walk = walked(problem)
        if walk.best is None:
            continue
        best = rerank(problem, exact(problem)).best
        assert best is not None
        assert best.step_ms <= simulated(problem, walk.best) * (1 + 1e-9)
        compared += 1


@pytest.mark.parametrize("row", [1, 2, 3])
def test_the_exact_plan_simulated_is_never_worse_than_the_walks_best_on_the_tables_rows(row: int) -> None:
    problem = row_problem(row)
    result = rerank(problem, exact(problem))
    assert result.best is not None
    assert result.best.short_of_memory == ""
    walk = walked(problem)
    assert walk.best is not None
    theirs = simulate(problem, walk.best, "compat")
    assert result.best.step_ms < theirs.step_ms
    # One tensor group over both types, priced as if all GPUs were A100, and too large for their memory.
    assert theirs.short_of_memory != ""
    assert max(theirs.effects, key=lambda effect: effect.ms).name == "layer times"


def test_on_row_4_it_is_memory_alone_that_makes_the_exact_plan_slower() -> None:
    problem = row_problem(4)
    walk = walked(problem)
    assert walk.best is not None
    theirs = simulate(problem, walk.best, "compat")
    assert theirs.step_ms == pytest.approx(1396.092785, rel=1e-9)
    assert theirs.short_of_memory.startswith("A100 tp 64: layers 0 to 39 need 173.3 GiB a GPU")
    gib = {type_: 10 * own for type_, own in problem.cluster.memory_gib.items()}
    roomy = replace(problem, cluster=replace(problem.cluster, memory_gib=gib))
    ours = exact(roomy).best
    assert ours is not None
    assert simulate(roomy, ours, "strict").step_ms == pytest.approx(1260.741491, rel=1e-9)


def test_reranking_orders_by_the_simulated_step_and_says_why() -> None:
    result = rerank(row_problem(1), exact(row_problem(1)))
    steps = [simulation.step_ms for simulation in result.simulations]
    prices = [result.simulations[i].price_ms for i in result.by_price]
    assert steps == sorted(steps)
    assert prices == sorted(prices)  # type: ignore[type-var]
    assert result.best is not None
    assert result.cheapest is not None
    assert result.best is not result.cheapest
    assert result.best.price_ms is not None
    assert result.cheapest.price_ms is not None
    assert result.gained_ms > 0
    explained = sum(effect.ms for effect in result.reason())
    prices_differ = result.cheapest.price_ms - result.best.price_ms
    assert result.gained_ms == pytest.approx(explained + prices_differ, abs=1e-6)


def test_what_does_not_fit_comes_last_and_what_cannot_run_is_counted() -> None:
    problem = row_problem(1)
    lossy = ClusterPlan(("V100", "A100"), (16, 16), ((16, 1), (8, 2)), 8, (0, 3, 9), 2)
    whole = replace(lossy, partition=(0, 3, 10))
    small = ClusterPlan(("V100", "A100"), (16, 16), ((1, 16), (1, 16)), 32, (0, 2, 10), 2)
    plans = [(1.0, lossy), (1.1, whole), (1.2, small)]
    result = PlanResult("by hand", "compat", None, 3, lossy, None, None, False, 0.0, tuple(plans))
    found = rerank(problem, result)
    assert [each.plan for each in found.simulations] == [small, whole]
    assert found.simulations[1].short_of_memory.startswith("V100 tp 1: layers 0 to 2 need 15.7 GiB")
    assert found.left_out == (("layers are in no stage", 1),)


def test_nothing_to_rank_is_nothing() -> None:
    result = PlanResult("none", "strict", None, 0, None, None, None, False, 0.0)
    assert rerank(row_problem(1), result).best is None
