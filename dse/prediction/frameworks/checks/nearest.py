"""The nearest job that the rules of a framework allow."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import NamedTuple

from dse.base.errors import InputError
from dse.inputs.accelerators import Cluster
from dse.prediction.frameworks.checks.changes import changed_jobs
from dse.prediction.frameworks.dialect import Dialect
from dse.prediction.frameworks.job import Job, Lack
from dse.prediction.frameworks.jobs import facts_of_job
from dse.prediction.steps.batch import Case
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import Figures, figures

_DEGREES = ("tp", "pp", "cp", "dp", "ep")
_MOST_STEPS = 12  # jobs that are changed; most find a legal one after the first


class _Distance(NamedTuple):
    """How far a changed job is from one: broken rules, changed degrees, changed fields, seconds of a step.

    A job that has no prediction breaks one rule more.
    """

    broken: float
    degrees: int
    fields: int
    seconds: float


def refusals(job: Job, dialect: Dialect) -> list[str]:
    """Return the rules that a job breaks, each with its message; warnings do not count."""
    facts = facts_of_job(job, dialect, [])
    rules = [rule for rule in dialect.table.rules.values() if rule.broken(facts) and not rule.is_warning]
    return [f"{rule.id}: {rule.message(facts)}" for rule in rules]


def nearest_legal(job: Job, dialect: Dialect, cluster: Cluster) -> Job | None:
    """Return the legal job that changes of one choice after the other lead to; None if none is found.

    Each time the job that breaks fewest rules is changed, of several the one that keeps most degrees, then
    most fields, then the predicted step.
    """
    (own,) = figures([Case(job.model, job.plan, cluster)])
    asked_s = own.step_s if isinstance(own, Figures) else math.inf
    edge, seen = [(_Distance(math.inf, 0, 0, 0.0), job)], {job.plan}
    for _ in range(_MOST_STEPS):
        if not edge:
            break
        least = min(edge, key=lambda one: one[0])
        edge.remove(least)
        if least[0].broken == 0:
            return least[1]
        others = [other for other in changed_jobs(least[1], far=True) if other.plan not in seen]
        seen.update(other.plan for other in others)
        others = [other for other in others if _is_expressible(other, dialect)]
        found = figures([Case(other.model, other.plan, cluster) for other in others])
        for other, figure in zip(others, found, strict=True):
            runs = isinstance(figure, Figures)
            broken = len(refusals(other, dialect)) + (not runs)
            far_s = abs(figure.step_s - asked_s) if isinstance(figure, Figures) else math.inf
            edge.append((_distance(job.plan, other.plan, broken, far_s), other))
    return None


def _is_expressible(job: Job, dialect: Dialect) -> bool:
    lacks: list[Lack] = []
    try:
        facts_of_job(job, dialect, lacks)
    except InputError:
        return False
    return not lacks


def _distance(before: Plan, after: Plan, broken: float, seconds: float) -> _Distance:
    names = [
        field.name for field in fields(before) if getattr(before, field.name) != getattr(after, field.name)
    ]
    return _Distance(broken, sum(name in _DEGREES for name in names), len(names), seconds)
