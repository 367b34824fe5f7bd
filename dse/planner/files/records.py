"""Plans as plain data: the answer of a planner with its problem, so that a file can be checked on its own.

A document has the answer with the stages of the best plan, the ranking, where all came from, and what
`dse.planner.proofs.check` reads: problem (cluster, profiles and options in full), plan, cost and certificate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from dse.planner.files.documents import cost_to_dict, plan_to_dict, problem_to_dict, shown_plan
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem, PlanResult
from dse.planner.problem.ranks import first_ranks, stage_spans, stage_types
from dse.planner.problem.steps import way_of
from dse.planner.proofs.defects import defects_of
from dse.planner.search.automatic import useful_bound
from dse.planner.search.planner import excluded
from dse.planner.throughput import throughput_of

VERSION = 1
"""Raised when a document of this version cannot be read by an older reader."""

_MS_PER_HOUR = 3.6e6
_TERMS_MS = ("execution_ms", "link_ms", "reduction_ms", "update_ms")


def stage_entries(problem: PlanProblem, plan: ClusterPlan, cost: PlanCost | None) -> list[dict[str, Any]]:
    """Return what is known of each stage: its place, degrees, layers, and terms of the cost where priced.

    `memory_bytes` are runs [bytes, GPUs] in rank order; `memory` has the most of a GPU per type, with its
    capacity.
    """
    entries = []
    spans, types, ranks = (
        stage_spans(problem.cluster, plan),
        stage_types(problem.cluster, plan),
        first_ranks(plan),
    )
    for stage, gpus in enumerate(plan.groups):
        dp, tp = plan.strategies[stage]
        hosts = [
            {
                "host": span.host,
                "address": problem.cluster.hosts[span.host].address,
                "first": span.first,
                "gpus": span.gpus,
            }
            for span in spans[stage]
        ]
        terms = cost.stages[stage] if cost is not None and stage < len(cost.stages) else None
        entries.append(
            {
                "stage": stage,
                "first_rank": ranks[stage],
                "gpus": gpus,
                "types": types[stage],
                "hosts": hosts,
                "dp": dp,
                "tp": tp,
                **({"way": plan.ways[stage]} if plan.ways else {}),
                "layers": [plan.partition[stage], plan.partition[stage + 1]],
                "micro_batches": plan.batches,
                "samples_per_replica": _sequences(problem, plan, stage),
                **{name: getattr(terms, name, None) for name in _TERMS_MS},
                "memory_bytes": runs(terms.memory_bytes) if terms else [],
                "memory": _most_memory(problem, types[stage], terms.memory_bytes if terms else ()),
            }
        )
    return entries


def _most_memory(
    problem: PlanProblem, types: Mapping[str, int], memory_bytes: Sequence[float]
) -> dict[str, dict[str, float]]:
    """The most that a GPU of each type holds, where GPUs are known."""
    if not memory_bytes:
        return {}
    found, first = {}, 0
    for type_, gpus in types.items():
        capacity = problem.cluster.memory_gib[type_] * 2**30
        found[type_] = {"bytes": max(memory_bytes[first : first + gpus]), "capacity_bytes": capacity}
        first += gpus
    return found


def result_to_plain(problem: PlanProblem, result: PlanResult) -> dict[str, Any]:
    """Return the answer of a planner, without its certificate."""
    best: dict[str, Any] | None = None
    if result.best is not None and result.cost is not None:
        best = best_entry(problem, result.best, result.cost, result.cost_model)
    return {
        "planner": result.planner,
        "cost_model": result.cost_model,
        "count": result.count,
        "plans": result.plans,
        "best": best,
        "bound_ms": useful_bound(result.bound_ms),
        "gap": gap_of(result),
        "optimal": result.optimal,
        "seconds": result.seconds,
        "ranking": [
            {"cost_ms": cost_ms, **shown_plan(problem.cluster, plan)} for cost_ms, plan in result.ranking
        ],
        "infeasible": dict(sorted(result.infeasible.items())),
        "excludes": list(excluded(problem, result.cost_model)),
        **({"homogeneous": _alone(problem, result)} if result.homogeneous else {}),
    }


def _sequences(problem: PlanProblem, plan: ClusterPlan, stage: int) -> float:
    """Of a micro-batch of a replica."""
    if plan.ways:
        return way_of(plan.ways[stage]).micro_batch
    return problem.gbs / (plan.strategies[stage][0] * plan.batches)


def _alone(problem: PlanProblem, result: PlanResult) -> list[dict[str, Any]]:
    return [
        {"cost_ms": cost_ms, "types": stage_types(problem.cluster, plan)[0], **plan_shape(plan)}
        for cost_ms, plan in result.homogeneous
    ]


def plan_shape(plan: ClusterPlan) -> dict[str, Any]:
    """Return what a plan for equal stages is."""
    dp, tp = plan.strategies[0]
    return {"dp": dp, "tp": tp, "pp": len(plan.groups), "batches": plan.batches, "way": plan.ways[0]}


def best_entry(problem: PlanProblem, plan: ClusterPlan, cost: PlanCost, cost_model: str) -> dict[str, Any]:
    """Return a plan with its throughput, price, stages and defects."""
    defects = defects_of(problem, plan, cost_model)
    throughput = throughput_of(problem, cost.cost_ms, "the plan cannot run as it is" if defects else "")
    return {
        "cost_ms": cost.cost_ms,
        **shown_plan(problem.cluster, plan),
        "gap_ms": cost.gap_ms,
        "batch_generator_ms": cost.batch_generator_ms,
        **({"parts_ms": dict(cost.parts)} if cost.parts else {}),
        **throughput._asdict(),
        "price_per_hour": problem.cluster.hourly_price,
        "price_per_step": price_of_step(problem, cost.cost_ms),
        "defects": defects,
        "stages": stage_entries(problem, plan, cost),
    }


def gap_of(result: PlanResult) -> float | None:
    """By how much the best plan is above the bound, as a share of the bound; None where either is missing."""
    return None if result.cost is None else gap_between(result.cost.cost_ms, result.bound_ms)


def gap_between(cost_ms: float, bound_ms: float | None) -> float | None:
    """The same of a cost and a bound."""
    return None if bound_ms is None or bound_ms <= 0 else max(0.0, cost_ms / bound_ms - 1)


def price_of_step(problem: PlanProblem, step_ms: float) -> float | None:
    """Return what all GPUs cost for the time of a step; None where prices are unknown."""
    hourly = problem.cluster.hourly_price
    return None if hourly is None else hourly * step_ms / _MS_PER_HOUR


def runs(values: Iterable[float]) -> list[list[float]]:
    """Return [number, how often] for each run of equal numbers."""
    return [[value, sum(1 for _ in group)] for value, group in groupby(values)]


def document(problem: PlanProblem, result: PlanResult, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything about an answer, for files: what `dse plan check` reads."""
    parts = {"plan": None, "cost": None, "certificate": result.certificate}
    if result.best is not None and result.cost is not None:
        parts = {**parts, "plan": plan_to_dict(result.best), "cost": cost_to_dict(result.cost)}
    return {
        "version": VERSION,
        **result_to_plain(problem, result),
        "provenance": dict(provenance),
        **parts,
        "problem": problem_to_dict(problem),
    }
