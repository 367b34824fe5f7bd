"""The nearest job that the rules of a framework allow."""

from __future__ import annotations

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


class _Distance(NamedTuple):
    """How far a changed job is from one: broken rules, changed degrees, changed fields, seconds of a step."""

    broken: int
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

    Each change breaks fewer rules than the job before it. Of several the first is one that keeps the
    degrees, then one of fewest fields, then one whose predicted step differs least.
    """
    broken = len(refusals(job, dialect))
    while broken:
        others = [other for other in changed_jobs(job) if _is_expressible(other, dialect)]
        counts = [len(refusals(other, dialect)) for other in others]
        better = [other for other, count in zip(others, counts, strict=True) if count < broken]
        own, *found = figures([Case(one.model, one.plan, cluster) for one in (job, *better)])
        if isinstance(own, str):
            return None
        ranked = [
            (
                _distance(job.plan, other.plan, len(refusals(other, dialect)), figure.step_s - own.step_s),
                other,
            )
            for other, figure in zip(better, found, strict=True)
            if isinstance(figure, Figures)
        ]
        if not ranked:
            return None
        (distance, job) = min(ranked, key=lambda one: one[0])
        broken = distance.broken
    return job


def _is_expressible(job: Job, dialect: Dialect) -> bool:
    lacks: list[Lack] = []
    try:
        facts_of_job(job, dialect, lacks)
    except InputError:
        return False
    return not lacks


def _distance(before: Plan, after: Plan, broken: int, seconds: float) -> _Distance:
    names = [
        field.name for field in fields(before) if getattr(before, field.name) != getattr(after, field.name)
    ]
    return _Distance(broken, sum(name in _DEGREES for name in names), len(names), abs(seconds))
