"""Why a plan is as it is, from its file: what binds, what a layer moved would bring, what others lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse.planner.costs import COST_MODELS, Infeasible, price
from dse.planner.documents import plan_from_dict, problem_from_dict
from dse.planner.plan import ClusterPlan
from dse.planner.problem import PlanProblem
from dse.planner.records import best_entry, gap_between
from dse.planner.why import groups_text, parts_ms, period_ms, reasons

MOST_OTHERS = 5


def explained(data: Mapping[str, Any], *, simulate: bool = True) -> dict[str, Any]:
    """Explain the best plan of a document; `best` is None where it has none.

    Raises:
        InputError: the document cannot be read.
    """
    problem, cost_model = problem_from_dict(data["problem"]), str(data["cost_model"])
    assert cost_model in COST_MODELS
    if data["best"] is None:
        return {"best": None, "reasons": [], "stages": [], "moves": [], "others": [], "simulation": None}
    plan = plan_from_dict(data["plan"])
    entry = best_entry(problem, plan, price(problem, plan, cost_model), cost_model)
    parts = parts_ms(entry, cost_model)
    return {
        "best": groups_text(entry),
        "cost_ms": entry["cost_ms"],
        "bound_ms": data["bound_ms"],
        "gap": gap_between(entry["cost_ms"], data["bound_ms"]),
        "parts_ms": parts,
        "reasons": reasons({**data, "best": entry}),
        "stages": _stages(entry, cost_model),
        "moves": _moves(problem, plan, entry["cost_ms"], cost_model),
        "others": _others(problem, data["ranking"][1 : MOST_OTHERS + 1], parts, entry, cost_model),
        "simulation": _simulation(problem, plan, cost_model) if simulate else None,
    }


def _stages(entry: Mapping[str, Any], cost_model: str) -> list[dict[str, Any]]:
    """How each stage stands to those that bind: how long it waits, how full its GPUs are."""
    stages = [stage for stage in entry["stages"] if stage["execution_ms"] is not None]
    periods = [period_ms(stage, cost_model) for stage in stages]
    ends = [stage["reduction_ms"] + stage["update_ms"] for stage in stages]
    found = []
    for stage, period, end in zip(stages, periods, ends, strict=True):
        shares = {name: own["bytes"] / own["capacity_bytes"] for name, own in stage["memory"].items()}
        found.append(
            {
                "stage": stage["stage"],
                "types": stage["types"],
                "layers": stage["layers"],
                "period_ms": period,
                "idle_share": 1 - period / max(periods),
                "sets_the_pace": period == max(periods),
                "gradients_ms": end,
                "ends_the_step": end == max(ends),
                "memory_share": shares,
            }
        )
    return found


def _moves(problem: PlanProblem, plan: ClusterPlan, cost_ms: float, cost_model: str) -> list[dict[str, Any]]:
    """What a layer more or less on each side of each boundary would change, or why it cannot be."""
    found = []
    for cut in range(1, len(plan.partition) - 1):
        for step in (-1, 1):
            bounds = list(plan.partition)
            bounds[cut] += step
            if not bounds[cut - 1] < bounds[cut] < bounds[cut + 1]:
                continue
            from_, to = (cut - 1, cut) if step < 0 else (cut, cut - 1)
            entry: dict[str, Any] = {"from": from_, "to": to, "ms": None, "refused": None}
            try:
                entry["ms"] = (
                    price(problem, replace(plan, partition=tuple(bounds)), cost_model).cost_ms - cost_ms
                )
            except Infeasible as why:
                entry["refused"] = why.reason
            found.append(entry)
    return found


def _others(
    problem: PlanProblem,
    ranking: Sequence[Mapping[str, Any]],
    parts: Mapping[str, float],
    best: Mapping[str, Any],
    cost_model: str,
) -> list[dict[str, Any]]:
    """What the next plans lose, and in which parts of the step; the differences add up."""
    found = []
    for listed in ranking:
        plan = plan_from_dict({key: value for key, value in listed.items() if key != "cost_ms"})
        entry = best_entry(problem, plan, price(problem, plan, cost_model), cost_model)
        own = parts_ms(entry, cost_model)
        found.append(
            {
                "plan": groups_text(entry),
                "types": list(plan.types),
                "batches": plan.batches,
                "cost_ms": entry["cost_ms"],
                "longer_ms": entry["cost_ms"] - best["cost_ms"],
                "parts_ms": {name: ms - parts[name] for name, ms in own.items()},
            }
        )
    return found


def _simulation(problem: PlanProblem, plan: ClusterPlan, cost_model: str) -> dict[str, Any] | None:
    """The simulated step beside the price, by effects; None where the plan cannot be run at all."""
    from dse.planner.simulation.effects import MEANINGS
    from dse.planner.simulation.simulate import PlanSimulator

    try:
        one = PlanSimulator(problem, cost_model).simulate(plan)
    except Infeasible as why:
        return {"refused": why.reason}
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
