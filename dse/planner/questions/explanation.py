"""Why a plan is as it is, from its file: what binds, what a layer moved would bring, what others lose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dse.base.errors import InputError
from dse.planner.files.answer import Answer
from dse.planner.files.records import best_entry
from dse.planner.problem.costs import Infeasible, rule_named
from dse.planner.problem.problem import ClusterPlan, PlanProblem
from dse.planner.questions.bottleneck import groups_text, parts_ms, period_ms, reasons, types_of_stages
from dse.planner.throughput import Throughput

MOST_OTHERS = 5


def explained(answer: Answer) -> dict[str, Any]:
    """Explain the best plan of an answer; `best` is None where it has none."""
    problem, plan, cost_model, document = answer.problem, answer.plan, answer.cost_model, answer.document
    if plan is None:
        return {"best": None, "reasons": [], "stages": [], "moves": [], "others": [], "simulation": None}
    entry = document["best"]
    parts = parts_ms(entry, cost_model)
    return {
        "best": groups_text(entry),
        "cost_ms": entry["cost_ms"],
        "bound_ms": document["bound_ms"],
        "gap": document["gap"],
        **{name: entry[name] for name in Throughput._fields},
        "defects": entry["defects"],
        "excludes": document["excludes"],
        "parts_ms": parts,
        "reasons": reasons(document),
        "stages": _stages(entry, cost_model),
        "moves": _moves(problem, plan, entry["cost_ms"], cost_model),
        "others": _others(answer, parts),
        "simulation": _simulation(problem, plan, cost_model),
    }


def _stages(entry: Mapping[str, Any], cost_model: str) -> list[dict[str, Any]]:
    """How each stage stands to those that bind: how long it waits, how full its GPUs are.

    Compat may leave stages out of its price: what would be told of their time is None.
    """
    priced = [stage for stage in entry["stages"] if stage["execution_ms"] is not None]
    longest = max(period_ms(stage, cost_model) for stage in priced)
    latest = max(stage["reduction_ms"] + stage["update_ms"] for stage in priced)
    found = []
    for stage in entry["stages"]:
        is_priced = stage["execution_ms"] is not None
        period = period_ms(stage, cost_model) if is_priced else None
        end = stage["reduction_ms"] + stage["update_ms"] if is_priced else None
        shares = {name: own["bytes"] / own["capacity_bytes"] for name, own in stage["memory"].items()}
        found.append(
            {
                "stage": stage["stage"],
                "types": stage["types"],
                "layers": stage["layers"],
                "period_ms": period,
                "idle_share": None if period is None else 1 - period / longest,
                "sets_the_pace": period == longest,
                "gradients_ms": end,
                "ends_the_step": end == latest,
                "memory_share": shares,
            }
        )
    return found


def _moves(problem: PlanProblem, plan: ClusterPlan, cost_ms: float, cost_model: str) -> list[dict[str, Any]]:
    """The effect of a layer more or less on each side of each boundary, or why it cannot be.

    Nothing is said of stages that the price leaves out: a layer moved there would look like a layer saved.
    """
    found, rule = [], rule_named(problem, cost_model)
    for cut in range(1, plan.costed):
        for step in (-1, 1):
            bounds = list(plan.partition)
            bounds[cut] += step
            if not bounds[cut - 1] < bounds[cut] < bounds[cut + 1]:
                continue
            from_, to = (cut - 1, cut) if step < 0 else (cut, cut - 1)
            entry: dict[str, Any] = {"from": from_, "to": to, "ms": None, "refused": None}
            try:
                entry["ms"] = rule.price(replace(plan, partition=tuple(bounds))).cost_ms - cost_ms
            except Infeasible as why:
                entry["refused"] = why.reason
            found.append(entry)
    return found


def _others(answer: Answer, parts: Mapping[str, float]) -> list[dict[str, Any]]:
    """The loss of the next plans, and in which parts of the step. The differences add up."""
    problem, cost_model, best = answer.problem, answer.cost_model, answer.document["best"]
    found, rule = [], rule_named(problem, cost_model)
    for plan in answer.ranking[1 : MOST_OTHERS + 1]:
        entry = best_entry(problem, plan, rule.price(plan), cost_model)
        own = parts_ms(entry, cost_model)
        found.append(
            {
                "plan": groups_text(entry),
                "types": types_of_stages(entry),
                "batches": plan.batches,
                "cost_ms": entry["cost_ms"],
                "longer_ms": entry["cost_ms"] - best["cost_ms"],
                "parts_ms": {name: ms - parts[name] for name, ms in own.items()},
            }
        )
    return found


def _simulation(problem: PlanProblem, plan: ClusterPlan, cost_model: str) -> dict[str, Any]:
    """The simulated step next to the price, by effects; `refused` says why there is none."""
    if cost_model == "step":
        return {"refused": "cost=step, whose price has messages and waiting; cost=strict plans are simulated"}
    from dse.planner.questions.simulation.effects import MEANINGS
    from dse.planner.questions.simulation.simulate import simulate

    try:
        one = simulate(problem, plan, cost_model)
    except Infeasible as why:
        return {"refused": why.reason}
    except InputError as why:  # more GPUs than a simulation takes
        return {"refused": str(why)}
    return {
        "refused": None,
        "step_ms": one.step_ms,
        "price_ms": one.price_ms,
        "short_of_memory": one.short_of_memory,
        "effects": [
            {"name": effect.name, "ms": effect.ms, "meaning": MEANINGS[effect.name]}
            for effect in one.effects
            if effect.ms
        ],
        "remainder_ms": one.remainder_ms,
    }
