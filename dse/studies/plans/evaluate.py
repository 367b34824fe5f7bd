"""From a case to its row; what cannot be planned is a row with a reason."""

from __future__ import annotations

import json
from typing import Any

from dse.base.errors import InputError
from dse.planner.files.records import result_to_plain
from dse.planner.problem.problem import PlanResult
from dse.planner.questions.subsets import Subset
from dse.planner.search.automatic import solve
from dse.planner.search.planner import UNPROVEN
from dse.studies.evaluator import Evaluator
from dse.studies.plans.case import Case
from dse.studies.plans.record import FAILED, NOTHING_FITS, OK, PLANS, PlanRow


class PlanEvaluator(Evaluator[Case, PlanRow]):
    """Plans; a problem that a planner refuses gives a row of status `failed`."""

    record = PLANS

    def evaluate(self, case: Case) -> PlanRow:
        """See `Evaluator.evaluate`."""
        asked = case.asked
        try:
            result = solve(asked.planner, asked.problem, asked.cost_model, asked.limits)
        except InputError as error:
            return self.failed(case, FAILED, str(error))
        found = _found(case, result)
        if result.best is None:
            reasons = sorted(result.infeasible, key=lambda reason: _rank(result, reason))
            return _row(case, NOTHING_FITS, reasons[0] if reasons else "no plan fits", **found)
        return _row(case, OK, "", **found)

    def failed(self, case: Case, status: str, reason: str) -> PlanRow:
        """See `Evaluator.failed`."""
        return _row(case, status, reason)


def _rank(result: PlanResult, reason: str) -> tuple[bool, int, str]:
    """First what is unproven, then what is most frequent."""
    return reason != UNPROVEN, -result.infeasible[reason], reason


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


def _row(case: Case, status: str, reason: str, **found: Any) -> PlanRow:
    asked, problem = case.asked, case.asked.problem
    gpus = {type_: problem.cluster.gpus_of(type_) for type_ in problem.cluster.types}
    source = problem.profiles.source
    return PLANS.row_of(
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
        **found,
    )
