"""Changes of one choice of a job that its framework allows, each with its predicted time and memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

from dse.base.errors import InputError
from dse.inputs.accelerators import Cluster
from dse.prediction.frameworks.dialect import Dialect
from dse.prediction.frameworks.job import Job, Lack
from dse.prediction.frameworks.jobs import facts_of_job
from dse.prediction.steps.batch import Case
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import Figures, Verdict, figures, margin_of, verdict

_DEGREES = ("tp", "pp", "cp", "dp")
_MEMORY = ("fits", "may fit", "does not fit")


@dataclass(frozen=True)
class Change:
    """A job that differs in one choice: `settings` are the old and the new value by the framework's key.

    None stands for a key that is absent. `step_s` and `peak_memory_bytes` are predicted.
    """

    job: Job
    settings: Mapping[str, tuple[Any, Any]]
    step_s: float
    peak_memory_bytes: int
    verdict: Verdict


def best_changes(job: Job, dialect: Dialect, cluster: Cluster, count: int = 3) -> list[Change]:
    """Return the changes that gain most: of those that may fit the fastest, one for each set of keys.

    Only those that are faster count, unless the job itself does not fit: then any that may fit does, and
    without one the changes that need least memory.
    """
    changed = [other for other in changed_jobs(job) if is_legal(other, dialect)]
    cases = [Case(other.model, other.plan, cluster) for other in (job, *changed)]
    own, *found = figures(cases)
    if isinstance(own, str):
        return []
    before = _settings(job, dialect)
    capacity, margin = cluster.accelerator.memory_bytes, margin_of(job.plan.framework)
    changes = [
        Change(
            other,
            difference(before, _settings(other, dialect)),
            figure.step_s,
            figure.peak_memory_bytes,
            verdict(figure.peak_memory_bytes, capacity, margin),
        )
        for other, figure in zip(changed, found, strict=True)
        if isinstance(figure, Figures)
    ]
    fits = verdict(own.peak_memory_bytes, capacity, margin)
    return _best(changes, own, fits, count)


def _best(changes: list[Change], own: Figures, fits: Verdict, count: int) -> list[Change]:
    if fits == "does not fit":
        fitting = [change for change in changes if change.verdict != "does not fit"]
        ranked = sorted(fitting, key=lambda change: change.step_s)
        if not ranked:
            smaller = [change for change in changes if change.peak_memory_bytes < own.peak_memory_bytes]
            ranked = sorted(smaller, key=lambda change: change.peak_memory_bytes)
    else:
        faster = [
            change
            for change in changes
            if change.step_s < own.step_s and _MEMORY.index(change.verdict) <= _MEMORY.index(fits)
        ]
        ranked = sorted(faster, key=lambda change: change.step_s)
    by_keys: dict[frozenset[str], Change] = {}
    for change in ranked:
        by_keys.setdefault(frozenset(change.settings), change)
    return list(by_keys.values())[:count]


def is_legal(job: Job, dialect: Dialect) -> bool:
    """Whether a framework can express a job, and its rules allow it."""
    return next(obstacles(job, dialect), None) is None


def obstacles(job: Job, dialect: Dialect) -> Iterator[str]:
    """Yield the reasons why a framework cannot run a job: what it lacks, or the rules that the job breaks.

    Where it cannot run the model, no choice of the plan matters.
    """
    lacks: list[Lack] = []
    try:
        facts = facts_of_job(job, dialect, lacks)
    except InputError as error:
        yield str(error)
        return
    if lacks:
        of_model = [lack for lack in lacks if lack.field.startswith("model.")]
        yield from map(str, of_model or lacks)
        return
    for rule in dialect.table.rules.values():
        if not rule.is_warning and rule.broken(facts):
            yield f"{rule.id}: {rule.message(facts)}"


def _settings(job: Job, dialect: Dialect) -> dict[str, Any]:
    return dialect.settings(dialect.facts_of(job, []))


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ, by their key: the old and the new value, None for an absent one."""
    keys = dict.fromkeys((*before, *after))
    pairs = {key: (before.get(key), after.get(key)) for key in keys}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def changed_jobs(job: Job, *, far: bool = False) -> Iterator[Job]:
    """Yield the jobs that differ in one choice, and in what follows from it; if `far`, by whole degrees."""
    seen = {job.plan}
    for values in _changes(job.plan, has_experts=job.model.experts is not None, far=far):
        plan = _settled(replace(job.plan, **values), job.plan)
        if plan not in seen:
            seen.add(plan)
            yield Job(job.model, plan)


def _changes(plan: Plan, *, has_experts: bool, far: bool) -> Iterable[dict[str, Any]]:
    """Values of one choice at a time; degrees change in pairs, so that the NPUs stay."""
    for more, less in permutations(_DEGREES, 2):
        degree = getattr(plan, less)
        for factor in (*_prime_factors(degree), *([degree] if far and degree > 1 else [])):
            yield {more: factor * getattr(plan, more), less: degree // factor}
    for size in (2 * plan.micro_batch, plan.micro_batch // 2):
        if size:
            yield {"micro_batch": size}
    for kind in ("none", "selective", "light", "full"):
        yield {"recompute": kind, "recompute_layers": 0}
    yield {"weight_sharded": not plan.weight_sharded, "zero": 1}
    yield {"weight_sharded": False, "zero": 1 - min(plan.zero, 1)}
    if plan.tp > 1:
        yield {"sequence_parallel": not plan.sequence_parallel}
        yield {"sequence_parallel": True, "overlap_tp": not plan.overlap_tp}
    yield {"overlap_dp": not plan.overlap_dp}
    if plan.pp > 1:
        for chunks in (1, 2, 3, 4, 2 * plan.chunks):
            yield {"schedule": "interleaved" if chunks > 1 else "1f1b", "chunks": chunks}
        yield {"schedule": "zb-h1", "chunks": 1}
    yield {"offload": "optimizer" if plan.offload == "none" else "none"}
    yield {"graphs": "full" if plan.graphs == "none" else "none"}
    if plan.precision == "fp16":
        yield {"precision": "bf16"}
    if plan.cp > 1:
        for context in ("ring", "ulysses", "gather"):
            yield {"context": context}
    if has_experts:
        yield {"expert_tp": 1 if plan.expert_tp != 1 and plan.tp > 1 else 0}
        yield {"ep": 2 * plan.ep}
        if plan.ep % 2 == 0:
            yield {"ep": plan.ep // 2}
        if plan.ep > 1:
            yield {"dispatcher": "alltoall" if plan.dispatcher == "deduplicated" else "deduplicated"}
            yield {"overlap_ep": not plan.overlap_ep}


def _prime_factors(number: int) -> Iterator[int]:
    """Yield the prime factors of a whole number, each once."""
    factor = 2
    while factor * factor <= number:
        if number % factor == 0:
            yield factor
            while number % factor == 0:
                number //= factor
        factor += 1
    if number > 1:
        yield number


def _settled(plan: Plan, before: Plan) -> Plan:
    """A plan without choices that have lost their effect."""
    values: dict[str, Any] = {}
    if plan.tp == 1:
        values |= {"sequence_parallel": False, "overlap_tp": False}
    elif before.tp == 1:
        values["sequence_parallel"] = True
    if plan.tp != before.tp == before.expert_tp:
        values["expert_tp"] = plan.tp if plan.tp > 1 else 0
    if plan.pp == 1:
        values |= {"schedule": "1f1b", "chunks": 1, "stages": "even"}
    elif (plan.pp, plan.chunks) != (before.pp, before.chunks):
        values["stages"] = "spread" if plan.layers_per_stage or before.pp == 1 else plan.stages
    if plan.cp == 1:
        values["context"] = "ring"
    if plan.ep == 1:
        values |= {"dispatcher": "alltoall", "overlap_ep": False}
    if not plan.overlap_dp and plan.weight_sharded:
        values["overlap_dp"] = True
    return replace(plan, **values)
