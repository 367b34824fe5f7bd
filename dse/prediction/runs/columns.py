"""Figures of a training run for many predicted steps at once, as columns of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.inputs.accelerators import Cluster
from dse.inputs.models import ModelSpec
from dse.native import _engine
from dse.prediction.runs.asked import AskedRun
from dse.prediction.runs.power import require_power
from dse.prediction.runs.run import FailingJob
from dse.prediction.steps.plan import Plan

RUN_COLUMNS = tuple(name for name in _engine.run_columns() if name.startswith("run_"))


def run_columns(
    asked: AskedRun,
    model: ModelSpec,
    cluster: Cluster,
    plans: Sequence[Plan],
    plan_of: NDArray[np.int64],
    steps: NDArray[np.float64],
    step_flops: float,
) -> dict[str, NDArray[np.float64]]:
    """Return the columns of steps, `RUN_COLUMNS` by name, of rows as `FailingJob.columns` takes them.

    NaN where the job makes no progress, or shall shrink and has no replica to give up.
    `plan_of` are the numbers of their plans, whose checkpoints and replicas count, and nothing else of them.
    """
    if asked.has_energy(cluster):
        require_power(cluster.accelerator)
    price = asked.price(cluster.name)
    found = np.empty((len(steps), len(_engine.run_columns())))
    for number, plan in enumerate(plans):
        job, own = FailingJob(asked.question(model, plan, cluster)), plan_of == number
        found[own] = job.columns(steps[own], step_flops, math.nan if price is None else price)
    return dict(zip(RUN_COLUMNS, found.T, strict=False))
