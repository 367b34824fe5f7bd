"""The search of plans priced by the model of a step: those of sweeps, and mixed pipelines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from time import perf_counter

import numpy as np

from dse.base.cancellation import current_cancellation
from dse.planner.problem.costs.step import StepRule
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem, PlanResult
from dse.planner.problem.steps import MixedPlan, StepInputs, StepType, layer_way, way_words
from dse.planner.proofs.certificate import step_certificate
from dse.planner.search.planner import UNPROVEN, Limits
from dse.planner.search.space import check_types
from dse.prediction.steps.plan import Plan

GAP = 1e-3
NODES = {"exact": 50_000_000, "anytime": 300_000}
"""Partial plans below the bound that each looks at without a time limit; 10 million take some seconds."""
_LEAST_PER_TYPE = 3


def plan_by_steps(
    problem: PlanProblem,
    planner: str,
    limits: Limits,
    on_progress: Callable[[str], None] | None,
    *,
    is_exact: bool,
) -> PlanResult:
    """Search the fastest predicted plan; the bound covers all mixed pipelines and all plans of sweeps.

    `planner` is the name that the answer has; with `is_exact`, no gap is left where the search ends.
    """
    started = perf_counter()
    check_types(problem.type_order)
    rule = StepRule(problem)
    steps = rule.steps
    uniform = sorted(_of_sweeps(problem, steps, max(1, limits.keep)), key=lambda found: found[0])
    known_s = uniform[0][0] if uniform else float("inf")
    gap = 0.0 if is_exact else GAP if limits.gap is None else limits.gap
    nodes = NODES["exact" if is_exact or limits.time_limit_s is not None else "anytime"]
    end = None if limits.time_limit_s is None else started + limits.time_limit_s
    left_s = None if end is None else max(0.0, end - perf_counter())
    found, bound_s, complete, priced, labels, interrupted = steps.question().search(
        known_s, gap, nodes, max(1, limits.keep), left_s, current_cancellation()
    )
    if interrupted and on_progress is not None:
        on_progress("interrupted: the best plan so far is the answer")
    plans = [plan for _, plan in uniform]
    plans += [_mixed_plan(problem, steps, plan) for _, plan in found]
    costs = {plan: rule.price(plan) for plan in dict.fromkeys(plans)}
    ranked = sorted(costs, key=lambda plan: costs[plan].cost_ms)[: max(1, limits.keep)]
    best = ranked[0] if ranked else None
    cost = costs[best] if best is not None else None
    bound_ms = None
    if cost is not None:
        bound_ms = cost.cost_ms if complete else min(1000 * bound_s, cost.cost_ms)
    looked_at = priced + labels + sum(len(type_.uniform) for type_ in steps.types)
    certificate = None
    if best is not None and cost is not None and bound_ms is not None:
        certificate = step_certificate(problem, best, cost, bound_ms, priced, labels)
    return PlanResult(
        planner,
        "step",
        None,
        looked_at,
        best,
        cost,
        bound_ms,
        complete and best is not None,
        perf_counter() - started,
        tuple((costs[plan].cost_ms, plan) for plan in ranked),
        {} if best is not None else _reasons(complete),
        certificate,
        _fastest_of_types(costs, uniform),
    )


def _fastest_of_types(
    costs: Mapping[ClusterPlan, PlanCost], uniform: Sequence[tuple[float, ClusterPlan]]
) -> tuple[tuple[float, ClusterPlan], ...]:
    found: dict[int, tuple[float, ClusterPlan]] = {}
    for _, plan in uniform:
        found.setdefault(plan.starts[0], (costs[plan].cost_ms, plan))
    return tuple(found.values())


def _reasons(complete: bool) -> dict[str, int]:
    reasons = {"no stage of a layer fits, or the batch does not divide": 1}
    return reasons if complete else {**reasons, UNPROVEN: 1}


def _of_sweeps(problem: PlanProblem, steps: StepInputs, keep: int) -> Iterator[tuple[float, ClusterPlan]]:
    """Yield the fastest plans of the sweep over each type alone, with their steps in seconds."""
    for type_ in steps.types:
        if not type_.uniform:
            continue
        steps_s, memory = steps.predicted(type_, type_.uniform)
        steps_s = np.where(memory <= type_.memory_bytes, steps_s, np.inf)
        for place in np.argsort(steps_s, kind="stable")[: max(keep, _LEAST_PER_TYPE)].tolist():
            if steps_s[place] < np.inf:
                yield float(steps_s[place]), _uniform_plan(problem, steps, type_, type_.uniform[place])


def _uniform_plan(problem: PlanProblem, steps: StepInputs, type_: StepType, plan: Plan) -> ClusterPlan:
    from dse.native._engine import stage_layers

    parts = stage_layers(steps.layers, plan.pp, plan.chunks, plan.stages)
    counts = [sum(parts[stage :: plan.pp]) for stage in range(plan.pp)]
    words = way_words(plan if plan.chunks > 1 else replace(layer_way(plan), micro_batch=plan.micro_batch))
    gpus = plan.dp * plan.tp * plan.cp
    first = _first_ranks(steps)[type_.name]
    batches = problem.gbs // (plan.dp * plan.micro_batch)
    return ClusterPlan(
        problem.type_order,
        (gpus,) * plan.pp,
        ((plan.dp, plan.tp),) * plan.pp,
        batches,
        _partition(counts, problem.layers),
        plan.pp,
        ways=(words,) * plan.pp,
        starts=tuple(first + stage * gpus for stage in range(plan.pp)),
    )


def _mixed_plan(problem: PlanProblem, steps: StepInputs, plan: MixedPlan) -> ClusterPlan:
    batches, sequences, stages = plan
    plans = [steps.plans[type_][way] for type_, way, _, _ in stages]
    groups = [dp * way.tp * way.cp for (_, _, dp, _), way in zip(stages, plans, strict=True)]
    return ClusterPlan(
        problem.type_order,
        tuple(groups),
        tuple((dp, way.tp) for (_, _, dp, _), way in zip(stages, plans, strict=True)),
        batches,
        _partition([count for *_, count in stages], problem.layers),
        len(stages),
        ways=tuple(
            way_words(replace(way, micro_batch=sequences // dp))
            for way, (_, _, dp, _) in zip(plans, stages, strict=True)
        ),
        starts=_starts(steps, [type_ for type_, *_ in stages], groups),
    )


def _partition(counts: list[int], layers: int) -> tuple[int, ...]:
    """The bounds of stages; the first begins with the embedding, the last has all that follows its layers."""
    return (0, *(1 + end for end in accumulate(counts[:-1])), layers)


def _first_ranks(steps: StepInputs) -> dict[str, int]:
    gpus = [type_.gpus for type_ in steps.types]
    return dict(zip((type_.name for type_ in steps.types), [0, *accumulate(gpus[:-1])], strict=True))


def _starts(steps: StepInputs, types: list[int], groups: list[int]) -> tuple[int, ...]:
    """Where stages lie: those of whole nodes first, then parts of nodes, the largest first."""
    starts = [0] * len(groups)
    free = _first_ranks(steps)
    for stage in sorted(range(len(groups)), key=lambda stage: (-groups[stage], stage)):
        name = steps.types[types[stage]].name
        starts[stage] = free[name]
        free[name] += groups[stage]
    return tuple(starts)
