"""The exact planner: a dynamic program over suffixes with Pareto labels and bounds (docs/planner.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from math import factorial
from time import perf_counter
from typing import Any, NamedTuple

from dse.base.cancellation import current_cancellation
from dse.planner.problem.costs import additive_rule
from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.proofs.certificate import SearchedBlock, exact_certificate
from dse.planner.search.by_steps import plan_by_steps
from dse.planner.search.engine_arrays import engine_problem, plan_of
from dse.planner.search.in_time import plan_in_time
from dse.planner.search.planner import UNPROVEN, Limits, Planner, reasons_of
from dse.planner.search.space import micro_batches, most_stages

WITHIN = 0.1
MOST_LABELS = 4_000_000
MOST_CELLS = 50_000_000
"""Of strict spaces; searches of up to so many took up to 3 s of CPU time, of 100 million 11 s and no end."""
MOST_CELLS_OF_NOTHING = 500_000_000
"""Where no plan is found, up to so many cells are searched for a proof that none fits; some seconds."""


class ExactPlanner(Planner):
    """The optimum of the space of `dse.planner.search.space`, proven, and a certificate of it.

    Costs are compared as the search adds them up, the winner is priced by the pricing rule: the optimum is
    proven up to rounding, relatively 1e-12. The ranking has one plan per (type sequence, number of stages,
    micro-batches): its best. Proven is that every such plan within 10 % of the optimum is in it, in order, as
    far as `keep` reaches. With a time limit, or after Ctrl-C, the best plan so far and a proven bound are the
    answer; so they are for strict spaces of more than `MOST_CELLS` cells, which `anytime` searches first. An
    answer that is that of `anytime` says so in `planner`.
    """

    name = "exact"
    cost_models = ("compat", "strict", "step")

    def plan(
        self,
        problem: PlanProblem,
        cost_model: str,
        limits: Limits,
        on_progress: Callable[[str], None] | None = None,
    ) -> PlanResult:
        """See `Planner.plan`; `seconds` leaves out the certificate, `plans` are the labels looked at."""
        if cost_model == "step":
            return plan_by_steps(problem, self.name, limits, on_progress, is_exact=True)
        started = perf_counter()
        keep = max(1, limits.keep)
        if cost_model == "strict" and cells_of(problem) > MOST_CELLS:
            in_time = plan_in_time(problem, limits, on_progress)
            if in_time.best is not None or cells_of(problem) > MOST_CELLS_OF_NOTHING:
                return in_time
            # Labels may prove that nothing fits: then they are few.
            search = search_labels(problem, cost_model, keep, _time_left(limits, started))
            if not search.plans and not search.complete:
                return in_time
        else:
            search = search_labels(problem, cost_model, keep, _share_of_time(cost_model, limits))
            if cost_model == "strict" and not search.complete and not search.interrupted:
                left = replace(limits, time_limit_s=_time_left(limits, started))
                return plan_in_time(problem, left, on_progress)
        if search.interrupted and on_progress is not None:
            on_progress("interrupted: the best plan so far is the answer")
        return self._answer(problem, cost_model, search, started)

    def _answer(
        self, problem: PlanProblem, cost_model: str, search: LabelSearch, started: float
    ) -> PlanResult:
        """Price the plans that labels found, and certify the best."""
        rule = additive_rule(problem, cost_model)
        plans = [plan_of(problem, *found[1:]) for found in search.plans]
        costs = [rule.price(plan) for plan in plans]
        ranked = sorted(range(len(plans)), key=lambda i: (costs[i].cost_ms, i))
        blocks = [SearchedBlock(*block) for block in search.blocks]
        best = plans[ranked[0]] if ranked else None
        cost = costs[ranked[0]] if ranked else None
        bound = None
        if cost is not None:
            bound = cost.cost_ms if search.complete else min(search.bound_ms, cost.cost_ms)
        seconds = perf_counter() - started
        reasons = reasons_of(problem, cost_model, rule, best is None)
        if best is None and not search.complete:
            reasons = {**reasons, UNPROVEN: 1}
        certificate = None
        if best is not None and cost is not None and bound is not None:
            certificate = exact_certificate(problem, cost_model, blocks, best, cost, bound)
        return PlanResult(
            planner=self.name,
            cost_model=cost_model,
            count=None,
            plans=sum(block.labels for block in blocks),
            best=best,
            cost=cost,
            bound_ms=bound,
            optimal=search.complete and best is not None,
            seconds=seconds,
            ranking=tuple((costs[i].cost_ms, plans[i]) for i in ranked),
            infeasible=reasons,
            certificate=certificate,
        )


class LabelSearch(NamedTuple):
    """The result of the engine's search: plans and blocks as it lists them, the bound, and why it ended."""

    plans: list[Any]
    blocks: list[Any]
    bound_ms: float
    complete: bool
    interrupted: bool


def search_labels(
    problem: PlanProblem, cost_model: str, keep: int, time_limit_s: float | None
) -> LabelSearch:
    """Search all type sequences."""
    from dse.base.solvers import search_plans_exactly

    found = search_plans_exactly(
        engine_problem(problem),
        cost_model == "strict",
        [list(sequence) for sequence in permutations(range(len(problem.type_order)))],
        keep,
        WITHIN if keep > 1 else 0.0,
        MOST_LABELS,
        time_limit_s,
        current_cancellation(),
    )
    return LabelSearch(*found)


def _share_of_time(cost_model: str, limits: Limits) -> float | None:
    """Under strict half of the time: where labels do not end in it, beams and boxes have the other half."""
    if limits.time_limit_s is None or cost_model == "compat":
        return limits.time_limit_s
    return limits.time_limit_s / 2


def _time_left(limits: Limits, started: float) -> float | None:
    limit = limits.time_limit_s
    return None if limit is None else max(0.0, limit + started - perf_counter())


def cells_of(problem: PlanProblem) -> int:
    """Return how many cells the strict search has: by ranks, layers, stages, type orders, micro-batches."""
    orders = factorial(len(problem.type_order))
    one = problem.cluster.gpus * problem.layers * most_stages(problem)
    return one * orders * len(micro_batches(problem))
