"""The answer in a document, read again: its problem, its plans, and what they cost by the plain rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.settings import check_choice
from dse.planner.files.documents import plan_from_dict, problem_from_dict, shown_plan
from dse.planner.files.files import read_plan
from dse.planner.files.records import best_entry, gap_between
from dse.planner.problem.costs import Infeasible, rule_named
from dse.planner.problem.inputs.profile_files import check_gaps
from dse.planner.problem.keys import COST_MODELS
from dse.planner.problem.problem import ClusterPlan, PlanProblem
from dse.planner.search.automatic import useful_bound
from dse.planner.search.planner import excluded

_OF_CHANGED_DOCUMENTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, Infeasible)
_NUMBER = (int, float, type(None))
_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "planner": str,
    "cost_model": str,
    "bound_ms": _NUMBER,
    "optimal": bool,
    "infeasible": Mapping,
    "provenance": Mapping,
}


@dataclass(frozen=True)
class Answer:
    """`document` is that of the file, with every figure of `best` and `ranking` priced again."""

    problem: PlanProblem
    cost_model: str
    plan: ClusterPlan | None
    ranking: tuple[ClusterPlan, ...]
    document: Mapping[str, Any]


def read_answer(path: Path) -> Answer:
    """Return the answer in a file or a folder of `dse plan … -o`.

    Raises:
        InputError: as `read_plan`; a part is not as `dse plan` wrote it.
    """
    document = read_plan(path)
    try:
        return _answer(document)
    except InputError as why:
        raise InputError(f"{path}: {why}") from None
    except _OF_CHANGED_DOCUMENTS as why:
        raise InputError(
            f"{path}: is not as dse plan wrote it ({type(why).__name__}: {excerpt(why, 200)})"
        ) from why


def _answer(document: Mapping[str, Any]) -> Answer:
    for part, kind in _KINDS.items():
        if not isinstance(document[part], kind):
            raise TypeError(f"{part} is {document[part]!r}")
    for name in ("cluster", "model"):
        str(document["provenance"][name])
    cost_model = document["cost_model"]
    check_choice("cost_model", cost_model, tuple(COST_MODELS.own))
    problem = problem_from_dict(document["problem"])
    check_gaps(problem)
    if document["plan"] is None:
        excludes = list(excluded(problem, cost_model))
        found = {**document, "best": None, "ranking": [], "excludes": excludes}
        return Answer(problem, cost_model, None, (), found)
    rule = rule_named(problem, cost_model)
    plan = plan_from_dict(document["plan"])
    ranking = tuple(plan_from_dict(entry) for entry in document["ranking"])
    best = best_entry(problem, plan, rule.price(plan), cost_model)
    if not best["cost_ms"] > 0:
        raise InputError(f"the plan would take {best['cost_ms']:g} ms, which no step does; make it anew")
    bound_ms = useful_bound(document["bound_ms"])
    again = {
        "best": best,
        "bound_ms": bound_ms,
        "gap": gap_between(best["cost_ms"], bound_ms),
        "excludes": list(excluded(problem, cost_model)),
        "ranking": [
            {"cost_ms": rule.price(other).cost_ms, **shown_plan(problem.cluster, other)} for other in ranking
        ],
    }
    return Answer(problem, cost_model, plan, ranking, {**document, **again})
