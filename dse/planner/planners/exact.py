"""The exact planner: a dynamic program over suffixes with Pareto labels and bounds (spec 11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from time import perf_counter

from dse.cancellation import current_cancellation
from dse.planner.certificate import SearchedBlock, exact_certificate
from dse.planner.costs import rule_named
from dse.planner.native import engine_problem
from dse.planner.plan import ClusterPlan, PlanResult
from dse.planner.planner import Limits, Planner
from dse.planner.problem import PlanProblem
from dse.planner.reasons import reasons_of
from dse.planner.space import most_stages

WITHIN = 0.1
MOST_LABELS = 4_000_000
MOST_CELLS = 100_000


class ExactPlanner(Planner):
    """The optimum of the space of `dse.planner.space`, proven, and a certificate of it.

    Costs are compared as the search adds them up, the winner is priced by the pricing rule: the optimum is
    proven up to rounding, relatively 1e-12. The ranking has one plan per (type sequence, number of stages,
    micro-batches): its best. Proven is that every such plan within 10 % of the optimum is in it, in order, as
    far as `keep` reaches. With a time limit, or after Ctrl-C, the best plan so far and a proven bound are the
    answer; so they are for strict spaces of more than `MOST_CELLS` cells, which `anytime` searches.
    """

    name = "exact"
    cost_models = ("compat", "strict")

    def plan(
        self,
        problem: PlanProblem,
        cost_model: str,
        limits: Limits,
        on_progress: Callable[[str], None] | None = None,
    ) -> PlanResult:
        """See `Planner.plan`; `seconds` leaves out the certificate, `plans` are the labels looked at."""
        from dse._engine import search_plans_exactly

        if cost_model == "strict" and cells_of(problem) > MOST_CELLS:
            from dse.planner.planners.anytime import plan_in_time

            return plan_in_time(self.name, problem, limits, on_progress)
        started = perf_counter()
        rule = rule_named(problem, cost_model)
        keep = max(1, limits.keep)
        found, blocks, bound, complete, interrupted = search_plans_exactly(
            engine_problem(problem),
            cost_model == "strict",
            [list(sequence) for sequence in permutations(range(len(problem.type_order)))],
            keep,
            WITHIN if keep > 1 else 0.0,
            MOST_LABELS,
            _share_of_time(cost_model, limits),
            current_cancellation(),
        )
        if cost_model == "strict" and not complete and not interrupted:
            left = limits
            if limits.time_limit_s is not None:
                left = replace(limits, time_limit_s=max(0.0, limits.time_limit_s + started - perf_counter()))
            from dse.planner.planners.anytime import plan_in_time

            return plan_in_time(self.name, problem, left, on_progress)
        plans = [plan_of(problem, *answer[1:]) for answer in found]
        priced = sorted(((rule.price(plan).cost_ms, i, plan) for i, plan in enumerate(plans)))
        searched = [SearchedBlock(*block) for block in blocks]
        labels = sum(block.labels for block in searched)
        if interrupted and on_progress is not None:
            on_progress("interrupted: the best plan so far is the answer")
        best = priced[0][2] if priced else None
        cost = rule.price(best) if best else None
        lower = None
        if cost is not None:
            lower = cost.cost_ms if complete else min(bound, cost.cost_ms)
        seconds = perf_counter() - started
        certificate = None
        if best is not None and cost is not None and lower is not None:
            certificate = exact_certificate(problem, cost_model, searched, best, cost, lower)
        return PlanResult(
            self.name,
            cost_model,
            None,
            labels,
            best,
            cost,
            lower,
            complete and best is not None,
            seconds,
            tuple((ms, plan) for ms, _, plan in priced),
            reasons_of(problem, cost_model, rule, best is None),
            certificate,
        )


def plan_of(
    problem: PlanProblem, sequence: Sequence[int], batches: int, stages: Sequence[tuple[int, int, int]]
) -> ClusterPlan:
    """Return the engine's plan: stages are (GPUs, tensor degree, first layer after it)."""
    return ClusterPlan(
        tuple(problem.type_order[i] for i in sequence),
        tuple(gpus for gpus, _, _ in stages),
        tuple((gpus // tp, tp) for gpus, tp, _ in stages),
        batches,
        (0, *(end for _, _, end in stages)),
        len(stages),
    )


def _share_of_time(cost_model: str, limits: Limits) -> float | None:
    """Under strict half of the time: where labels do not end in it, beams and boxes have the other half."""
    if limits.time_limit_s is None or cost_model == "compat":
        return limits.time_limit_s
    return limits.time_limit_s / 2


def cells_of(problem: PlanProblem) -> int:
    """Return how many first ranks, layers and stage counts the strict search tells apart."""
    return problem.cluster.gpus * problem.layers * most_stages(problem)
