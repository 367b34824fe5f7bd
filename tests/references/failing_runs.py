"""Jobs that fail, event by event: many at once, each with its own clock, failures and repairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.prediction.runs.renewal import Checkpoints, FailureClass, Spares


def simulated_total(
    interval_s: float,
    checkpoints: Checkpoints,
    classes: Sequence[FailureClass],
    spares: Spares | None,
    *,
    jobs: int,
    events: int,
    seed: int,
) -> tuple[float, int]:
    """Return wall time over useful time between two failures of each job, and how many failures there were.

    Nothing here is an expectation: each job computes, checkpoints, fails, waits and recovers. The first
    quarter of the events only fills the repair shop.
    """
    random = np.random.default_rng(seed)
    rates = np.array([one.rate for one in classes])
    recoveries = np.array([one.recovery_s for one in classes])
    takes = np.array([one.takes_node for one in classes]) & (spares is not None)
    limit = spares.spares if spares is not None else 0
    repair_rate = 1 / spares.repair_s if spares is not None and spares.repair_s > 0 else 0.0
    stretch = interval_s + checkpoints.blocking_s
    after_failure = stretch + checkpoints.writing_s
    clock, work = np.zeros(jobs), np.zeros(jobs)
    recovering, to_durable = np.zeros(jobs), np.full(jobs, stretch)
    broken = np.zeros(jobs, int)
    began: list[Any] = [np.full(jobs, -1.0), np.zeros(jobs)]
    ended: list[Any] = [np.zeros(jobs), np.zeros(jobs)]
    failures = 0
    for event in range(events):
        waits = broken > limit
        failing = np.where(waits, 0.0, rates.sum())
        repairing = broken * repair_rate
        passed = random.exponential(size=jobs) / (failing + repairing)
        clock += passed
        up = np.where(waits, 0.0, passed)
        in_recovery = np.minimum(up, recovering)
        recovering -= in_recovery
        computed = up - in_recovery
        durable = np.where(computed >= to_durable, 1 + (computed - to_durable) // stretch, 0)
        work += durable * interval_s
        to_durable = to_durable + durable * stretch - computed
        fails = random.random(jobs) * (failing + repairing) < failing
        kind = np.minimum(
            np.searchsorted(np.cumsum(rates), random.random(jobs) * rates.sum()), len(rates) - 1
        )
        broken = np.where(fails, broken + takes[kind], np.maximum(broken - 1, 0))
        recovering = np.where(fails, recoveries[kind], recovering)
        to_durable = np.where(fails, after_failure, to_durable)
        if event >= events // 4:
            failures += int(fails.sum())
            first = fails & (began[0] < 0)
            began = [np.where(first, clock, began[0]), np.where(first, work, began[1])]
            ended = [np.where(fails, clock, ended[0]), np.where(fails, work, ended[1])]
    seen = began[0] >= 0
    wall = (ended[0] - began[0])[seen].sum()
    useful = (ended[1] - began[1])[seen].sum()
    return float(wall / useful), failures
