"""From a case to its row; what cannot be planned is a row with a reason."""

from __future__ import annotations

import json
from typing import Any

from dse.base.errors import InputError
from dse.planner.files.records import result_to_plain
from dse.planner.problem.plan import PlanResult
from dse.planner.questions.subsets import Subset
from dse.planner.search.automatic import solve
from dse.planner.search.exclusions import UNPROVEN
from dse.studies.plans.case import Case
from dse.studies.plans.record import FAILED, NOTHING_FITS, OK, PlanRow

_FIGURES = (
    *("planner", "cost_ms", "bound_ms", "gap_pct", "optimal", "count", "plans", "stages", "batches", "plan"),
    *("price_per_hour", "price_per_step", "memory_share_pct", "search_s", "tokens_per_s", "mfu_pct"),
)


def evaluate(case: Case) -> PlanRow:
    """Plan a case; a problem that a planner refuses gives a row of status `failed`."""
    asked = case.asked
    try:
        result = solve(asked.planner, asked.problem, asked.cost_model, asked.limits)
    except InputError as error:
        return _row(case, FAILED, str(error), {})
    if result.best is None:
        reasons = sorted(result.infeasible.items(), key=lambda item: (item[0] != UNPROVEN, -item[1], item[0]))
        return _row(case, NOTHING_FITS, reasons[0][0] if reasons else "no plan fits", _found(case, result))
    return _row(case, OK, "", _found(case, result))


def _found(case: Case, result: PlanResult) -> dict[str, Any]:
    plain = result_to_plain(case.asked.problem, result)
    found = {
        **{name: plain[name] for name in ("planner", "bound_ms", "count", "plans", "optimal")},
        "gap_pct": None if plain["gap"] is None else 100 * plain["gap"],
        "search_s": result.seconds,
    }
    if result.best is None:
        return found
    subset = Subset({}, case.asked.problem, result)
    share = subset.memory_share
    return {
        **found,
        "cost_ms": subset.step_ms,
        "stages": len(result.best.groups),
        "batches": result.best.batches,
        "plan": json.dumps(plain["best"]),
        "tokens_per_s": plain["best"]["tokens_per_s"],
        "mfu_pct": plain["best"]["mfu_pct"],
        "price_per_hour": subset.price_per_hour,
        "price_per_step": subset.price_per_step,
        "memory_share_pct": None if share is None else 100 * share,
    }


def _row(case: Case, status: str, reason: str, figures: dict[str, Any]) -> PlanRow:
    asked, problem = case.asked, case.asked.problem
    gpus = {type_: problem.cluster.gpus_of(type_) for type_ in problem.cluster.types}
    source = problem.profiles.source
    return PlanRow(
        cluster=asked.cluster_name,
        model=asked.model_name,
        gpus=problem.cluster.gpus,
        gpus_by_type=json.dumps(gpus),
        layers=problem.layers,
        gbs=problem.gbs,
        costs=source if source in ("model", "calibrated") else "files",
        asked=asked.planner,
        cost_model=asked.cost_model,
        allow_mixed_stages=problem.allow_mixed_stages,
        max_tp=problem.max_tp,
        memory_reserve=problem.memory_reserve,
        time_limit_s=asked.limits.time_limit_s,
        status=status,
        reason=reason,
        key=case.key,
        **(dict.fromkeys(_FIGURES) | figures),
    )
