"""Jobs that fail, event by event: many at once, each with its own clock, failures and repairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.references.runs.renewal import Checkpoints
from tests.references.runs.repairs import FailureClass, Spares


class FailingJobs:
    """So many jobs with their clocks, checkpoints and nodes in repair; nothing here is an expectation."""

    def __init__(
        self,
        interval_s: float,
        checkpoints: Checkpoints,
        classes: Sequence[FailureClass],
        spares: Spares | None,
        jobs: int,
        seed: int,
    ) -> None:
        """Begin every job with its first stretch."""
        self.random, self.jobs = np.random.default_rng(seed), jobs
        self.rates = np.array([one.rate for one in classes])
        self.far_s = np.array([one.recovery_s for one in classes])
        has_near = checkpoints.flush_s is not None
        near = [one.near_recovery_s if has_near else None for one in classes]
        self.keeps = np.array([one is not None for one in near])
        self.near_s = np.array([one or 0.0 for one in near])
        self.takes = np.array([one.nodes if spares is not None else 0 for one in classes])
        self.spares = spares if spares is not None else Spares(0, 0.0)
        self.speeds = np.array([1.0] * (self.spares.spares + 1) + list(self.spares.speeds))
        self.stretch = interval_s + checkpoints.blocking_s
        self.interval_s, self.writing_s = interval_s, checkpoints.writing_s
        self.lag = math.ceil(checkpoints.flush_s / self.stretch) if checkpoints.flush_s else 0
        self.every = max(checkpoints.every, self.lag)
        zeros = np.zeros(jobs)
        self.clock, self.recovering = zeros.copy(), zeros.copy()
        self.to_durable, self.length = np.full(jobs, self.stretch), np.full(jobs, self.stretch)
        self.broken, self.is_far = zeros.astype(int), zeros.astype(bool)
        self.gained, self.kept = zeros.copy(), zeros.copy()  # work since the last durable, and at it
        self.stored, self.pending = zeros.copy(), zeros.copy()  # work in storage, and on its way there
        self.count = zeros.astype(int)  # durable stretches since the last copy that is in storage
        self.failures = 0

    def step(self) -> Any:
        """Let the next failure or repair of every job happen; return which jobs failed."""
        most = len(self.speeds) - 1
        waits = self.broken > most
        failing = np.where(waits, 0.0, self.rates.sum())
        repairing = self.broken / self.spares.repair_s if self.spares.repair_s > 0 else np.zeros(self.jobs)
        passed = self.random.exponential(size=self.jobs) / (failing + repairing)
        self.clock += passed
        speed = self.speeds[np.minimum(self.broken, most)]
        self._compute(np.where(waits, 0.0, passed), speed)
        fails = self.random.random(self.jobs) * (failing + repairing) < failing
        picks = self.random.random(self.jobs) * self.rates.sum()
        kind = np.minimum(np.searchsorted(np.cumsum(self.rates), picks), len(self.rates) - 1)
        self.broken = np.where(fails, self.broken + self.takes[kind], np.maximum(self.broken - 1, 0))
        after = self.speeds[np.minimum(self.broken, most)]
        self.clock += np.where(after != speed, self.spares.reconfigure_s, 0.0)
        self._fail(fails, kind)
        return fails

    def _compute(self, up: Any, speed: Any) -> None:
        """Recover, then compute, with checkpoints between."""
        in_recovery = np.minimum(up, self.recovering)
        self.recovering = self.recovering - in_recovery
        self.is_far &= self.recovering > 0
        computed = up - in_recovery
        reached = computed >= self.to_durable
        durable = np.where(reached, 1 + (computed - self.to_durable) // self.stretch, 0).astype(int)
        own = speed * self.interval_s / self.length  # a stretch after a failure takes longer for its work
        first = self.kept + self.gained + self.to_durable * own
        each = speed * self.interval_s

        def work_at(mark: Any) -> Any:
            return first + (mark - self.count - 1) * each

        count = self.count + durable
        # Copies are of every so many stretches, and are in storage so many later; at most one is on its way.
        copies = np.maximum(0, (count - self.lag) // self.every)
        newest = copies * self.every
        stored = np.where(newest > self.count, work_at(newest), self.pending)
        self.stored = np.where(copies > 0, stored, self.stored)
        going = newest + self.every
        self.pending = np.where((going > self.count) & (going <= count), work_at(going), self.pending)
        self.kept = np.where(reached, work_at(count), self.kept)
        left = computed - self.to_durable - (durable - 1) * self.stretch
        self.gained = np.where(reached, left * each / self.stretch, self.gained + computed * own)
        self.length = np.where(reached, self.stretch, self.length)
        self.to_durable = self.to_durable + durable * self.stretch - computed
        self.count = count - newest

    def _fail(self, fails: Any, kind: Any) -> None:
        """Go back to the last checkpoint that is left, and recover from it."""
        self.is_far = np.where(fails, self.is_far | ~self.keeps[kind], self.is_far)
        recovery = np.where(self.is_far, self.far_s[kind], self.near_s[kind])
        self.recovering = np.where(fails, recovery, self.recovering)
        back = fails & self.is_far
        self.kept = np.where(back, self.stored, self.kept)
        self.count = np.where(back, 0, self.count)
        self.gained = np.where(fails, 0.0, self.gained)
        self.length = np.where(fails, self.stretch + self.writing_s, self.length)
        self.to_durable = np.where(fails, self.length, self.to_durable)


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

    The first quarter of the events only fills the repair shop.
    """
    run = FailingJobs(interval_s, checkpoints, classes, spares, jobs, seed)
    began: list[Any] = [np.full(jobs, -1.0), np.zeros(jobs)]
    ended: list[Any] = [np.zeros(jobs), np.zeros(jobs)]
    failures = 0
    for event in range(events):
        fails = run.step()
        if event >= events // 4:
            failures += int(fails.sum())
            first = fails & (began[0] < 0)
            began = [np.where(first, run.clock, began[0]), np.where(first, run.kept, began[1])]
            ended = [np.where(fails, run.clock, ended[0]), np.where(fails, run.kept, ended[1])]
    seen = began[0] >= 0
    wall = (ended[0] - began[0])[seen].sum()
    useful = (ended[1] - began[1])[seen].sum()
    return float(wall / useful), failures
