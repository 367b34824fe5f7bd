"""Figures of a training run for many predicted steps at once, as columns of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.base.errors import InputError
from dse.inputs.accelerators import Cluster
from dse.inputs.models import ModelSpec
from dse.prediction.runs.asked import AskedRun
from dse.prediction.runs.run import FailingJob, NoReplicaError
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.prediction import PARTS, Prediction

if TYPE_CHECKING:
    from typing_extensions import Self

RUN_COLUMNS = (
    "run_time_s",
    "run_time_low_s",
    "run_time_high_s",
    "run_effective_pct",
    "run_goodput_pct",
    "run_failures",
    "run_cost",
    "run_energy_mwh",
)


@dataclass(frozen=True)
class StoredStep(Prediction):
    """A step of which a row tells how long it computes; `ends_s` are those of its 80 %, if any."""

    ends_s: tuple[float, float] | None = None

    @property
    def range_s(self) -> tuple[float, float] | None:
        """From when to when 80 % of such steps end; None where nothing was measured."""
        return self.ends_s

    @classmethod
    def of(cls, step_s: float, compute_s: float, ends_s: tuple[float, float] | None, flops: float) -> Self:
        """Return a step; all in which it does not compute counts as communication."""
        parts_s = {**dict.fromkeys(PARTS, 0.0), "matrix_products": compute_s, "dp": step_s - compute_s}
        return cls(step_s, parts_s, 0, {}, 0.0, flops, ends_s=ends_s)


def run_columns(
    asked: AskedRun,
    model: ModelSpec,
    cluster: Cluster,
    plans: Sequence[Plan],
    steps: Iterable[tuple[int, StoredStep]],
) -> dict[str, list[float | None]]:
    """Return the columns of steps, `RUN_COLUMNS` by name.

    None where the job makes no progress, or shall shrink and has no replica to give up.
    `steps` have the number of their plan, whose checkpoints count, and nothing else of it.
    """
    jobs = [_job(asked, model, cluster, plan) for plan in plans]
    found = [_row(asked, jobs[number], step) for number, step in steps]
    columns = list(map(list, zip(*found, strict=True))) or [[] for _ in RUN_COLUMNS]
    return dict(zip(RUN_COLUMNS, columns, strict=True))


def _job(asked: AskedRun, model: ModelSpec, cluster: Cluster, plan: Plan) -> FailingJob | None:
    try:
        return FailingJob(asked.question(model, plan, cluster))
    except NoReplicaError:
        return None


def _row(asked: AskedRun, job: FailingJob | None, step: StoredStep) -> tuple[float | None, ...]:
    if job is None:
        return (None,) * len(RUN_COLUMNS)
    try:
        run = job.run(step)
    except InputError:  # the job makes no progress
        return (None,) * len(RUN_COLUMNS)
    price, energy = asked.price(job.question.cluster.name), asked.energy(run)
    time_s = run.time_s
    return (
        *(time_s.value, time_s.low, time_s.high, 100 * run.effective_ratio, 100 * run.goodput, run.failures),
        None if price is None else price * run.npu_hours,
        None if energy is None else energy.energy_mwh.value,
    )
