"""A training step's time and memory, as the engine predicts them from its structure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.models.flops import training_flops
from dse.inputs.strategies.divisibility import InfeasibleStrategy
from dse.prediction.intervals.interval import Interval, interval_of
from dse.prediction.intervals.kinds import kind_of
from dse.prediction.steps.batch import Case, Columns, predict_columns
from dse.prediction.steps.checks import value_problem
from dse.prediction.steps.fitted import fit_notes
from dse.prediction.steps.groups import groups_of
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.prediction import CATEGORIES, PARTS, Prediction
from dse.prediction.steps.tier_shares import BY_TIERS

_flops = lru_cache(maxsize=256)(training_flops)


def predict(model: ModelSpec, plan: Plan, cluster: Cluster) -> Prediction:
    """Predict a training step of `model` under `plan` on `cluster`.

    Raises:
        InfeasibleStrategy: the plan cannot run; says why.
    """
    (found,) = predictions([Case(model, plan, cluster)])
    if isinstance(found, str):
        raise InfeasibleStrategy(found)
    return found


def require_feasible(model: ModelSpec, plan: Plan, cluster: Cluster) -> None:
    """Refuse what `predict` refuses, in less time.

    Raises:
        InfeasibleStrategy: says why the plan cannot run.
    """
    problem = value_problem(plan)
    if problem is None:
        problem = predict_columns([Case(model, plan, cluster)], only_feasible=True).reason(0)
    if problem is not None:
        raise InfeasibleStrategy(problem)


def predictions(cases: Sequence[Case], threads: int = 1) -> Iterator[Prediction | str]:
    """Predict many steps; a plan that cannot run gets the reason instead."""
    problems = [value_problem(case.plan) for case in cases]
    known = [case for case, problem in zip(cases, problems, strict=True) if problem is None]
    columns, place = predict_columns(known, threads=threads), 0
    for case, problem in zip(cases, problems, strict=True):
        if problem is not None:
            yield problem
            continue
        yield columns.reason(place) or _prediction(case, columns, place)
        place += 1


def _prediction(case: Case, columns: Columns, place: int) -> Prediction:
    parts_s = dict(zip(PARTS, columns.parts_s[place].tolist(), strict=True))
    memory = dict(zip(CATEGORIES, map(round, columns.memory_bytes[place].tolist()), strict=True))
    interval = interval_of(kind_of(case.model, case.plan, case.cluster, groups_of(case.plan)["ep"]))
    return Prediction(
        step_s=sum(parts_s.values()),
        parts_s=parts_s,
        peak_memory_bytes=sum(memory.values()),
        memory_bytes=memory,
        bubble_share=float(columns.bubble_share[place]),
        model_flops=_flops(case.model),
        notes=_notes(case, interval),
        interval=interval,
    )


def _notes(case: Case, interval: Interval | None) -> tuple[str, ...]:
    found = fit_notes(case.cluster.accelerator, case.plan, interval)
    for ranks, kind in ((case.plan.tp, "tp"), (case.plan.dp * case.plan.cp, "dp")):
        chosen = case.cluster.algorithms.of(kind)
        if chosen in BY_TIERS and ranks > 1:
            found.append(f"collectives of {kind} are {chosen}: their time was compared with no measured step")
    return tuple(found)
