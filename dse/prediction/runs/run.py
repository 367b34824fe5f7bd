"""A training run: from the predicted step and the failures of the machine to days, goodput and GPU-hours."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dse.base.errors import InputError
from dse.inputs.accelerators import Cluster
from dse.inputs.models import ModelSpec
from dse.native import _engine
from dse.prediction.runs.checkpoints import Store, checkpoint_bytes, daly_interval_s, young_interval_s
from dse.prediction.runs.power import Bounds, Facility
from dse.prediction.runs.reliability import Reliability
from dse.prediction.steps.native_inputs import step_cluster
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import Prediction

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
    `spares` None: every failed node is replaced at once; else so many stand by, and `spares_share` of the
    nodes besides. Where they are used up, the job waits, or shrinks by replicas (`elastic`), in
    `reconfigure_s`; `speeds` are then those with 1, 2, … nodes fewer, if known.
    """

    model: ModelSpec
    plan: Plan
    cluster: Cluster
    steps: int
    reliability: Reliability
    store: Store
    interval_s: float | None = None
    spares: int | None = None
    spares_share: float = 0.0
    stops: PlannedStops | None = None
    elastic: Elastic = "wait"
    reconfigure_s: float | None = None
    speeds: tuple[float, ...] | None = None
    facility: Facility = field(default_factory=Facility)


def run_record(q: Question) -> Mapping[str, Any]:
    """Return what is asked of a run but its model, plan and machine, as the engine reads it."""
    return {
        "reliability": q.reliability.record(),
        "store": vars(q.store),
        "interval_s": q.interval_s,
        "spares": q.spares,
        "spares_share": q.spares_share,
        "stop_share": q.stops.share if q.stops is not None else 0.0,
        "elastic": q.elastic,
        "reconfigure_s": q.reconfigure_s,
        "facility": {name: getattr(q.facility, name) for name in ("host_w", "pue", "at_limit")},
    }


@dataclass(frozen=True)
class FailureClass:
    """Failures of one kind: `rate` per second of the whole job, `recovery_s` from the failure to computing.

    `nodes` are lost at once. `near_recovery_s` is the time where a copy near the nodes is read; None where
    the failure loses that copy.
    """

    name: str
    rate: float
    recovery_s: float
    nodes: int
    near_recovery_s: float | None


@dataclass(frozen=True)
class Checkpoints:
    """A checkpoint blocks for `blocking_s`, and is durable `writing_s` after that.

    `flush_s` None: it is in storage. Else it is near the nodes, and every `every`-th one is copied to storage
    behind the steps for `flush_s`.
    """

    blocking_s: float
    writing_s: float
    flush_s: float | None
    every: int


@dataclass(frozen=True)
class Run:
    """An expected run. `parts_s` are seconds of the whole run by their cause, and sum to its time.

    `effective_ratio` is the time of steps over all, `goodput` the model's operations over what the NPUs could
    do: MFU with all losses. `mean_time_between_s` is between failures of the whole job while it is up.
    `choices_s` are the times of waiting and of shrinking, where both are asked for. `spares` are nodes.
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
    parts_s: dict[str, float]
    time_s: Bounds
    effective_ratio: float
    goodput: float
    failures: float
    spares: int | None
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


class FailingJob:
    """The failures and checkpoints of a question, which are the same for all steps of its job."""

    def __init__(self, question: Question) -> None:
        """Find the sizes and rates, once for all steps.

        Raises:
            InputError: the machine cannot have such a run, such as copies at a peer on one node.
        """
        q = self.question = question
        self.checkpoint_bytes = checkpoint_bytes(q.model, q.plan)
        record, speeds = json.dumps(run_record(q)), None if q.speeds is None else list(q.speeds)
        cluster = step_cluster(q.cluster)
        self._job = _engine.TrainingJob(record, cluster, self.checkpoint_bytes, q.plan.dp, speeds)
        self.checkpoints, self.load_s = Checkpoints(*self._job.checkpoints), self._job.load_s
        names = q.reliability.components
        self.classes = tuple(
            [FailureClass(name, *one) for name, one in zip(names, self._job.classes, strict=True)]
        )

    def run(self, prediction: Prediction) -> Run:
        """Return the expected run of a predicted step.

        Raises:
            InputError: the job makes no progress, as it hardly ever lives until a checkpoint; the interval is
                too short; or it shall shrink, and the loss of a node leaves no replica.
        """
        q = self.question
        compute_s = sum(prediction.parts_s[name] for name in _COMPUTE)
        ends_s = prediction.range_s or (math.nan, math.nan)
        step = (prediction.step_s, compute_s, prediction.parts_s["pp_bubble"], *ends_s)
        found = self._job.run(step, q.steps, prediction.model_flops)
        problem, _, interval_s, shortest_s, time_s, parts_s = found[:6]
        effective_ratio, goodput, failures, choices_s = found[6:]
        if problem:
            raise InputError(self._problem(problem, interval_s, shortest_s))
        has_near = self.checkpoints.flush_s is not None
        rate = sum(one.rate for one in self.classes if not has_near or one.near_recovery_s is not None)
        blocking_s = self.checkpoints.blocking_s
        return Run(
            question=q,
            prediction=prediction,
            checkpoint_bytes=self.checkpoint_bytes,
            checkpoints=self.checkpoints,
            load_s=self.load_s,
            classes=self.classes,
            interval_s=interval_s,
            young_s=young_interval_s(blocking_s, rate) if rate > 0 else math.inf,
            daly_s=daly_interval_s(blocking_s, rate) if rate > 0 else math.inf,
            parts_s=dict(zip(_engine.run_parts(), parts_s, strict=True)),
            time_s=Bounds(time_s[0], *[None if math.isnan(each) else each for each in time_s[1:]]),
            effective_ratio=effective_ratio,
            goodput=goodput,
            failures=failures,
            spares=None if self._job.spares < 0 else self._job.spares,
            choices_s={
                name: each for name, each in zip(ELASTIC, choices_s, strict=False) if not math.isnan(each)
            },
        )

    def columns(self, steps: NDArray[np.float64], step_flops: float, price: float) -> NDArray[np.float64]:
        """Return the figures of steps, rows of `_engine.run_columns()`; NaN where one is unknown.

        `steps` have the seconds of each, of its computing, of its bubble, and the ends of its 80 %.
        """
        return self._job.columns(np.ascontiguousarray(steps), self.question.steps, step_flops, price)

    def _problem(self, problem: int, interval_s: float, shortest_s: float) -> str:
        """Say why a run has no figures, by the engine's number of the reason."""
        q, checkpoints = self.question, self.checkpoints
        if problem == 1:
            return (
                f"elastic=shrink needs a replica to give up: the loss of a node of {q.cluster.name} leaves "
                f"none of {q.plan.label()}; write elastic=best, or a strategy of more replicas"
            )
        if problem == 2:
            why = "a checkpoint is written for" if shortest_s == checkpoints.writing_s else "a step takes"
            return f"interval is {q.interval_s:.4g} s; {why} {shortest_s:.4g} s, so it must be at least that"
        rate = sum(one.rate for one in self.classes)
        least = interval_s + checkpoints.blocking_s + checkpoints.writing_s
        return (
            f"the job fails every {1 / rate:.4g} s and needs {least:.4g} s from one durable checkpoint to "
            "the next, or recovers for longer than it lives: write checkpoints faster, or use fewer NPUs"
        )


def run_of(question: Question, prediction: Prediction) -> Run:
    """Return the expected run of a predicted step.

    Raises:
        InputError: as `FailingJob.run`.
    """
    return FailingJob(question).run(prediction)
