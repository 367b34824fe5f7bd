"""A training run: from the predicted step and the failures of the machine to days, goodput and GPU-hours."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from dse.base.errors import InputError
from dse.inputs.accelerators import Cluster
from dse.inputs.models import ModelSpec
from dse.prediction.runs.checkpoints import Store, checkpoint_bytes, checkpoint_times
from dse.prediction.runs.elastic import elastic_spares
from dse.prediction.runs.reliability import Reliability
from dse.prediction.runs.renewal import (
    Checkpoints,
    Expected,
    best_interval_s,
    daly_interval_s,
    expected,
    young_interval_s,
)
from dse.prediction.runs.repairs import FailureClass, Spares
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.prediction import Prediction

_MOST_TOTAL = 1000.0
"""A run that takes more than so many times its steps makes no progress."""
_COMPUTE = ("matrix_products", "attention", "memory_bound", "launches", "optimizer")


@dataclass(frozen=True)
class PlannedStops:
    """Maintenance: the job stands still for `for_s` after every `every_s`, restart included."""

    every_s: float
    for_s: float

    @property
    def share(self) -> float:
        """Stopped time over running time."""
        return self.for_s / self.every_s


Elastic = Literal["wait", "shrink", "best"]
ELASTIC: tuple[Elastic, ...] = ("wait", "shrink", "best")


@dataclass(frozen=True)
class Question:
    """A model, a machine, and `steps` steps of `plan`, whose checkpoints are `interval_s` of work apart.

    `interval_s` None is the best one that is not shorter than a step or the time to write a checkpoint.
    `spares` None: every failed node is replaced at once. Where they are used up, the job waits, or shrinks by
    replicas (`elastic`), in `reconfigure_s`; `speeds` are then those with 1, 2, … nodes fewer, if known.
    """

    model: ModelSpec
    plan: Plan
    cluster: Cluster
    steps: int
    reliability: Reliability
    store: Store
    interval_s: float | None = None
    spares: int | None = None
    stops: PlannedStops | None = None
    elastic: Elastic = "wait"
    reconfigure_s: float | None = None
    speeds: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Bounds:
    """A figure, and from where to where it lies in 80 % of cases; `low` and `high` None where unknown."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Run:
    """An expected run. `parts_s` are seconds of the whole run by their cause, and sum to its time.

    `effective_ratio` is the time of steps over all. `mean_time_between_s` is between failures of the whole
    job while it is up. `choices_s` are the times of waiting and of shrinking, where both are asked for.
    """

    question: Question
    prediction: Prediction
    checkpoint_bytes: int
    checkpoints: Checkpoints
    load_s: float
    classes: tuple[FailureClass, ...]
    interval_s: float
    young_s: float
    daly_s: float
    expected: Expected
    parts_s: dict[str, float]
    time_s: Bounds
    effective_ratio: float
    failures: float
    choices_s: dict[str, float] = field(default_factory=dict)

    @property
    def npu_hours(self) -> float:
        """Hours of all NPUs of the job; spares are not counted."""
        return self.time_s.value / 3600 * self.question.cluster.npus

    @property
    def mean_time_between_s(self) -> float:
        """Expected time between failures; infinite without."""
        rate = sum(one.rate for one in self.classes)
        return 1 / rate if rate > 0 else math.inf

    @property
    def goodput(self) -> float:
        """The model's operations over the run, over what the NPUs could do: MFU with all losses."""
        peak = self.question.cluster.accelerator.peak_tflops
        peak_tflops = peak.get("bf16", peak.get("fp16", 0.0)) * self.question.cluster.npus
        done = self.prediction.model_flops * self.question.steps
        return done / (self.time_s.value * peak_tflops * 1e12)


class NoReplicaError(InputError):
    """A job shall shrink, and the loss of a node leaves no replica."""


class FailingJob:
    """The failures and checkpoints of a question, which are the same for all steps of its job."""

    def __init__(self, question: Question) -> None:
        """Find the sizes and rates, once for all steps."""
        q = self.question = question
        self.checkpoint_bytes = checkpoint_bytes(q.model, q.plan)
        self.checkpoints, self.load_s, self._near = checkpoint_times(
            self.checkpoint_bytes, q.cluster, q.store
        )
        self._choices = self._spares()
        factors = (1.0, *q.reliability.bounds(q.cluster))
        self.classes, *self._ends = (
            q.reliability.classes(q.cluster, self.load_s, factor, near=self._near) for factor in factors
        )

    def _spares(self) -> dict[str, Spares | None]:
        """Return what the job does without a spare, by name."""
        q = self.question
        waiting = None if q.spares is None else Spares(q.spares, q.reliability.repair_s)
        if q.elastic == "wait":
            return {"wait": waiting}
        if waiting is None:
            raise InputError(
                f"elastic={q.elastic} has no effect where a failed node is replaced at once: write spares=0"
            )
        reconfigure_s = q.reliability.restart_s if q.reconfigure_s is None else q.reconfigure_s
        shrinking = elastic_spares(waiting, q.cluster, q.plan, reconfigure_s, q.speeds)
        if shrinking.speeds:
            return {"wait": waiting, "shrink": shrinking}
        if q.elastic == "best":
            return {"wait": waiting}
        raise NoReplicaError(
            f"elastic=shrink needs a replica to give up: the loss of a node of {q.cluster.name} leaves none "
            f"of {q.plan.label()}; write elastic=best, or a strategy of more replicas"
        )

    @functools.cached_property
    def best_interval_s(self) -> float:
        """The interval of least expected time, of those in which a checkpoint is written."""
        least_s = max(1.0, self.checkpoints.writing_s)
        return best_interval_s(self.checkpoints, self.classes, least_s=least_s)

    def _whole_steps(self, shortest_s: float, step_s: float) -> float:
        """Return the best interval in whole steps, as checkpoints are between them, not below the shortest.

        With copies in storage one step may save one of the stretches in which such a copy is written.
        """
        least = math.ceil(shortest_s / step_s)
        near = self.best_interval_s / step_s
        if self._near is None:
            return max(round(near), least) * step_s
        both = [max(count, least) * step_s for count in (math.floor(near), math.ceil(near))]
        return min(both, key=lambda one: expected(one, self.checkpoints, self.classes).total)

    def _chosen(self, interval_s: float) -> tuple[str, dict[str, Expected]]:
        """Return what the job does without a spare, and the expectation of all that it may do."""
        found = {
            name: expected(interval_s, self.checkpoints, self.classes, spares)
            for name, spares in self._choices.items()
        }
        if self.question.elastic == "best":
            return min(found, key=lambda name: found[name].total), found
        return self.question.elastic, found

    def run(self, prediction: Prediction) -> Run:
        """Return the expected run of a predicted step.

        Raises:
            InputError: the job makes no progress, as it hardly ever lives until a checkpoint.
        """
        q = self.question
        shortest_s = max(prediction.step_s, self.checkpoints.writing_s)
        interval_s = _asked_interval_s(q.interval_s, shortest_s, self.checkpoints)
        if interval_s is None:
            interval_s = self._whole_steps(shortest_s, prediction.step_s)
        name, choices = self._chosen(interval_s)
        found = choices[name]
        work_s = q.steps * prediction.step_s
        total_s = _total_s(work_s, found, q.stops)
        if found.total > _MOST_TOTAL:
            raise InputError(_no_progress(interval_s, self.checkpoints, self.classes))
        rate = sum(one.rate for one in self.classes if self._near is None or one.near_recovery_s is not None)
        return Run(
            question=q,
            prediction=prediction,
            checkpoint_bytes=self.checkpoint_bytes,
            checkpoints=self.checkpoints,
            load_s=self.load_s,
            classes=self.classes,
            interval_s=interval_s,
            young_s=young_interval_s(self.checkpoints.blocking_s, rate) if rate > 0 else math.inf,
            daly_s=daly_interval_s(self.checkpoints.blocking_s, rate) if rate > 0 else math.inf,
            expected=found,
            parts_s=_parts_s(prediction, q.steps, found, total_s),
            time_s=self._bounds(prediction, interval_s, total_s, self._choices[name]),
            effective_ratio=work_s / total_s,
            failures=found.failures * work_s,
            choices_s={each: _total_s(work_s, one, q.stops) for each, one in choices.items()},
        )

    def _bounds(
        self, prediction: Prediction, interval_s: float, total_s: float, spares: Spares | None
    ) -> Bounds:
        """Return the time with both step and failure rates at the low, and at the high end of their 80 %."""
        if prediction.range_s is None:
            return Bounds(total_s)
        ends = []
        for step_s, classes in zip(prediction.range_s, self._ends, strict=True):
            found = expected(interval_s, self.checkpoints, classes, spares)
            ends.append(_total_s(self.question.steps * step_s, found, self.question.stops))
        return Bounds(total_s, *ends)


def run_of(question: Question, prediction: Prediction) -> Run:
    """Return the expected run of a predicted step.

    Raises:
        InputError: as `FailingJob.run`.
    """
    return FailingJob(question).run(prediction)


def _asked_interval_s(asked_s: float | None, shortest_s: float, checkpoints: Checkpoints) -> float | None:
    """Refuse an interval in which no step ends, or no checkpoint is written."""
    if asked_s is not None and asked_s < shortest_s:
        why = "a checkpoint is written for" if shortest_s == checkpoints.writing_s else "a step takes"
        raise InputError(
            f"interval is {asked_s:.4g} s; {why} {shortest_s:.4g} s, so it must be at least that"
        )
    return asked_s


def _total_s(work_s: float, found: Expected, stops: PlannedStops | None) -> float:
    return work_s * found.total * (1 + (stops.share if stops is not None else 0.0))


def _parts_s(prediction: Prediction, steps: int, found: Expected, total_s: float) -> dict[str, float]:
    """Return the parts of the run: those of steps first, then those of failures, then planned stops."""
    compute = sum(prediction.parts_s[name] for name in _COMPUTE)
    bubble = prediction.parts_s["pp_bubble"]
    work_s = steps * prediction.step_s
    parts = {
        "compute": steps * compute,
        "pipeline bubble": steps * bubble,
        "exposed communication": steps * (prediction.step_s - compute - bubble),
        "checkpoints": work_s * found.checkpoints,
        "lost work": work_s * found.lost,
        "detection and restart": work_s * found.recovery,
        "waiting for spares": work_s * found.waiting,
        "fewer replicas": work_s * found.shrunk,
    }
    parts["planned stops"] = max(0.0, total_s - work_s * found.total)
    return parts


def _no_progress(interval_s: float, checkpoints: Checkpoints, classes: Sequence[FailureClass]) -> str:
    rate = sum(one.rate for one in classes)
    least = interval_s + checkpoints.blocking_s + checkpoints.writing_s
    return (
        f"the job fails every {1 / rate:.4g} s and needs {least:.4g} s from one durable checkpoint to the "
        "next, or recovers for longer than it lives: write checkpoints faster, or use fewer NPUs"
    )
