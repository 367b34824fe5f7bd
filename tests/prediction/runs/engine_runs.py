"""The engine's laws of training runs, called with the records of the plain evaluation."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from dse.inputs.accelerators import Cluster
from dse.inputs.models.settings import models_of_conf
from dse.native import _engine
from dse.prediction.runs.checkpoints import Store
from dse.prediction.runs.reliability import Reliability, reliability_named
from dse.prediction.runs.run import FailingJob, Question, run_record
from dse.prediction.runs.run import FailureClass as Failures
from dse.prediction.steps.native_inputs import step_cluster
from dse.prediction.steps.plan import Plan
from tests.references.runs.renewal import Checkpoints, Expected
from tests.references.runs.repairs import FailureClass, Shop, Spares


def _classes(classes: Sequence[FailureClass]) -> list[tuple[float, float, int, float | None]]:
    return [(one.rate, one.recovery_s, one.nodes, one.near_recovery_s) for one in classes]


def _checkpoints(of: Checkpoints) -> tuple[float, float, float | None, int]:
    return of.blocking_s, of.writing_s, of.flush_s, of.every


def repair_shop(classes: Sequence[FailureClass], spares: Spares) -> Shop:
    """How nodes in repair slow a job down."""
    fields = (spares.spares, spares.repair_s, list(spares.speeds), spares.reconfigure_s)
    return Shop(*_engine.repair_shop(_classes(classes), fields))


def expected(
    interval_s: float,
    checkpoints: Checkpoints,
    classes: Sequence[FailureClass],
    spares: Spares | None = None,
) -> Expected:
    """The expected time of a second of useful work."""
    shop = Shop() if spares is None else repair_shop(classes, spares)
    slowed = (shop.waiting, shop.reconfiguring, shop.speed)
    return Expected(*_engine.expected_parts(interval_s, _checkpoints(checkpoints), _classes(classes), slowed))


def best_interval_s(
    checkpoints: Checkpoints,
    classes: Sequence[FailureClass],
    *,
    least_s: float = 1.0,
    most_s: float = 30 * 86400.0,
) -> float:
    """The interval of least expected time."""
    found = _engine.best_interval_s(_checkpoints(checkpoints), _classes(classes), least_s, most_s)
    assert math.isfinite(found)
    return found


def question_on(
    cluster: Cluster, reliability: Reliability | None = None, store: Store | None = None
) -> Question:
    """A step of some model on a cluster."""
    model, rates = dict(models_of_conf())["llama3_8b"], reliability or reliability_named("llama3")
    return Question(model, Plan(), cluster, 1, rates, store or Store(100, 10))


def job_of(size_bytes: float, cluster: Cluster, store: Store) -> _engine.TrainingJob:
    """The job whose checkpoint has so many bytes."""
    record = json.dumps(run_record(question_on(cluster, store=store)))
    return _engine.TrainingJob(record, step_cluster(cluster), size_bytes, 1)


def failures_of(
    reliability: Reliability, cluster: Cluster, store: Store | None = None
) -> tuple[Failures, ...]:
    """The failures of a job on all of a cluster."""
    return FailingJob(question_on(cluster, reliability, store)).classes
