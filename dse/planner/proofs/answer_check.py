"""The answer that people and programs read in a document must be the plan that the certificate speaks of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dse.planner.files.documents import plan_from_dict
from dse.planner.files.records import best_entry, gap_between
from dse.planner.problem.costs import Infeasible, rule_named
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem
from dse.planner.search.automatic import useful_bound

_SHOWN = 80


def wrong_in_answer(
    document: Mapping[str, Any], problem: PlanProblem, plan: ClusterPlan, cost: PlanCost
) -> list[str]:
    """Return what in the answer differs from problem, plan, cost and certificate; parts may be missing.

    The answer is `best`, with its stages, `ranking`, `cost_model`, `bound_ms`, `gap` and `optimal`.
    """
    certificate = document["certificate"]
    cost_model, bound_ms = certificate["cost_model"], certificate["bound_ms"]
    is_proven = bound_ms == cost.cost_ms
    wanted = {
        "cost_model": cost_model,
        "gap": gap_between(cost.cost_ms, bound_ms),
        # A search that a limit ended may have reached the optimum and not say so.
        "optimal": is_proven and document.get("optimal") is not False,
    }
    if document.get("bound_ms") != bound_ms:  # which a file may have though it says nothing
        wanted["bound_ms"] = useful_bound(bound_ms)
    lines = [line for key, value in wanted.items() for line in _differs(document, key, value, key)]
    if "best" in document:
        lines += _in_best(document["best"], best_entry(problem, plan, cost, cost_model))
    return lines + _in_ranking(document.get("ranking", []), problem, cost_model, cost.cost_ms)


def _in_best(said: Any, wanted: Mapping[str, Any]) -> list[str]:
    if not isinstance(said, Mapping):
        return ["best: must be the plan and its stages, an object"]
    lines = [line for key, value in wanted.items() for line in _differs(said, key, value, f"best.{key}")]
    return lines + [f"best.{key}: unknown" for key in said if key not in wanted]


def _in_ranking(ranking: Any, problem: PlanProblem, cost_model: str, best_ms: float) -> list[str]:
    """Every plan is priced again, and none is cheaper than the best."""
    rule, lines = rule_named(problem, cost_model), []
    for place, entry in enumerate(ranking):
        try:
            cost_ms = rule.price(plan_from_dict(entry)).cost_ms
        except Infeasible as why:
            lines.append(f"ranking[{place}]: cannot run: {why.reason}")
            continue
        lines += _differs(entry, "cost_ms", cost_ms, f"ranking[{place}].cost_ms")
        if cost_ms < best_ms:
            lines.append(f"ranking[{place}].cost_ms: {cost_ms}, cheaper than the best plan, {best_ms}")
    return lines


def _differs(said: Mapping[str, Any], key: str, value: Any, where: str) -> list[str]:
    """A line where a value is there and is another one."""
    plain = json.loads(json.dumps(value))
    if key not in said or said[key] == plain:
        return []
    return [f"{where}: {_short(said[key])}, but plan and certificate say {_short(plain)}"]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
