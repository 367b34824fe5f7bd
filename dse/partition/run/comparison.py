"""A pipelined training run compared with one process, FSDP, and the step that was predicted."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dse.base.texts import counted
from dse.partition.problem.problem import Devices
from dse.partition.run.plans import Plan, device_of
from dse.partition.run.prediction import Predicted, predicted, shared_cores
from dse.partition.run.processes import run_processes
from dse.partition.run.training import (
    Trained,
    train_alone,
    train_pipeline,
    train_rehearsed,
    train_sharded,
)

TOLERANCE = 1e-5
"""By how much losses may differ, relative: sums of 32-bit floats in another order."""
COMPARED_STEPS = 10
"""Steps in which they must not differ by more: what rounding changes grows from step to step."""

_WARM_UP_STEPS = 2
_FSDP = (
    "FSDP: every process has a share of the samples and of the parameters, and gathers the parameters of a "
    "layer before it uses them"
)


class Steps(NamedTuple):
    """Seconds of the median and of the fastest step."""

    median_s: float
    fastest_s: float


@dataclass(frozen=True)
class Compared:
    """Losses and steps; None for what was not run."""

    plan: Plan
    processes: int
    losses: list[float]
    losses_alone: list[float]
    losses_sharded: list[float] | None
    steps: Steps
    predicted: Predicted | None
    steps_alone: Steps
    steps_sharded: Steps | None
    notes: tuple[str, ...] = ()
    steps_rehearsed: Steps | None = None

    @property
    def difference(self) -> float:
        """The largest relative difference of a loss from that of one process in the compared steps."""
        return _difference(self.losses[:COMPARED_STEPS], self.losses_alone[:COMPARED_STEPS])

    @property
    def difference_of_all_steps(self) -> float:
        """The same of all steps."""
        return _difference(self.losses, self.losses_alone)

    @property
    def is_equal(self) -> bool:
        """Whether the losses of the compared steps are those of one process within `TOLERANCE`."""
        return self.difference <= TOLERANCE

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        sharded = None if self.losses_sharded is None else _difference(self.losses_sharded, self.losses_alone)
        return {
            "model": self.plan.model,
            "schedule": self.plan.schedule,
            "processes": self.processes,
            "replicas": self.plan.replicas,
            "microbatches": self.plan.micro_batches,
            "micro_batch": self.plan.micro_batch,
            "steps": self.plan.steps,
            "losses": self.losses,
            "losses_alone": self.losses_alone,
            "losses_sharded": self.losses_sharded,
            "difference": self.difference,
            "difference_of_all_steps": self.difference_of_all_steps,
            "difference_sharded": sharded,
            "tolerance": TOLERANCE,
            "equal": self.is_equal,
            "step_s": self.steps.median_s,
            "fastest_step_s": self.steps.fastest_s,
            "predicted_step_s": None if self.predicted is None else self.predicted.step_s,
            "rehearsed_step_s": None if self.steps_rehearsed is None else self.steps_rehearsed.median_s,
            "fastest_rehearsed_step_s": None
            if self.steps_rehearsed is None
            else self.steps_rehearsed.fastest_s,
            "predicted_work_s": None if self.predicted is None else self.predicted.work_s,
            "overhead_of_a_pass_s": None if self.predicted is None else self.predicted.overhead_s,
            "step_alone_s": self.steps_alone.median_s,
            "fastest_step_alone_s": self.steps_alone.fastest_s,
            "step_sharded_s": None if self.steps_sharded is None else self.steps_sharded.median_s,
            "fastest_step_sharded_s": None if self.steps_sharded is None else self.steps_sharded.fastest_s,
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The same for people."""
        lines = [
            f"{self.plan.model}: {self.plan.schedule}, {counted(self.processes, 'process', 'processes')}, "
            f"{self.plan.micro_batches} micro-batches of {self.plan.micro_batch}, {self.plan.steps} steps",
            f"losses {'equal' if self.is_equal else 'DIFFER FROM'} those of one process: largest relative "
            f"difference {self.difference:.2g}, tolerance {TOLERANCE:g}",
            *self._later_steps(),
            f"first loss {self.losses[0]:.6f}, last {self.losses[-1]:.6f}",
            "",
            f"{'step':<24}{'median':>12}{'fastest':>12}",
            _row("pipeline, measured", self.steps),
        ]
        if self.predicted is not None:
            only = Steps(self.predicted.step_s, self.predicted.step_s)
            lines.append(f"{'pipeline, predicted':<24}{_ms(only.median_s):>12}{'':>12}  {self._errors(only)}")
        if self.steps_rehearsed is not None:
            row = _row("pipeline, rehearsed", self.steps_rehearsed)
            lines.append(f"{row}  {self._errors(self.steps_rehearsed)}")
        if self.steps_sharded is not None:
            lines.append(_row("FSDP, measured", self.steps_sharded))
        lines.append(_row("one process, measured", self.steps_alone))
        if self.steps_sharded is not None:
            lines += ["", _FSDP]
        return "\n".join(lines)

    def _later_steps(self) -> list[str]:
        if not self.is_equal or self.difference_of_all_steps <= TOLERANCE:
            return []
        return [
            f"these are the first {COMPARED_STEPS} steps; later ones differ by up to "
            f"{self.difference_of_all_steps:.2g}: sums in another order round differently, and that grows"
        ]

    def _errors(self, steps: Steps) -> str:
        pairs = zip(steps, self.steps, strict=True)
        of_median, of_fastest = (100 * (one / measured - 1) for one, measured in pairs)
        return f"{of_median:+.1f} % of the median, {of_fastest:+.1f} % of the fastest"


def compare(plan: Plan, processes: int, links: Devices | None, *, predict: bool, baseline: bool) -> Compared:
    """Train in all ways, one after the other, on the same processes; with `links` None they are measured.

    Raises:
        ProcessDied: a process ended early.
        InputError: the partition does not fit the model, or samples cannot be shared out.
    """
    notes = []
    if predict and device_of(0).type == "cpu":
        notes += shared_cores(processes)
    step = predicted(plan, processes, links) if predict else None
    piped: list[Trained]
    if step is not None and device_of(0).type == "cpu":
        piped = run_processes(train_rehearsed, processes, plan, step.stages)
    else:
        piped = run_processes(train_pipeline, processes, plan)
    alone: Trained = run_processes(train_alone, 1, plan, group=False)[0]
    sharded = None
    if baseline and plan.batch % processes:
        notes.append(f"no FSDP: {processes} processes cannot share {plan.batch} samples of a step evenly")
    elif baseline and processes > 1:
        sharded = run_processes(train_sharded, processes, plan)
    losses = next(one.losses for one in piped if one.losses is not None)
    assert alone.losses is not None
    steps, steps_alone = _steps(piped), _steps([alone])
    if steps.median_s > steps_alone.median_s and processes > 1:
        notes.append(_why_slower(plan, step))
    return Compared(
        plan,
        processes,
        losses,
        alone.losses,
        None if sharded is None else sharded[0].losses,
        steps,
        step,
        steps_alone,
        None if sharded is None else _steps(sharded),
        tuple(notes),
        _steps_of([one.rehearsed for one in piped]) if piped[0].rehearsed else None,
    )


def _why_slower(plan: Plan, step: Predicted | None) -> str:
    slower = "the pipeline is slower than one process"
    if step is None:
        return f"{slower}; leave out --no-prediction to see what the framework takes"
    passes = 2 * plan.micro_batches * len(set(plan.placement.values()))
    return (
        f"{slower}: the framework takes {_ms(step.overhead_s)} for each of {passes} passes, which have "
        f"{_ms(step.work_s / passes)} of work each; a larger micro_batch has more"
    )


def _steps(trained: Sequence[Trained]) -> Steps:
    """The median and the fastest step of the slowest process, after warm-up."""
    return _steps_of([one.seconds for one in trained])


def _steps_of(seconds: Sequence[Sequence[float]]) -> Steps:
    kept = [one[_WARM_UP_STEPS:] or one for one in seconds]
    return Steps(max(map(statistics.median, kept)), max(map(min, kept)))


def _difference(losses: Sequence[float], others: Sequence[float]) -> float:
    differences = [abs(a - b) / max(abs(b), 1e-30) for a, b in zip(losses, others, strict=True)]
    return math.inf if any(map(math.isnan, differences)) else max(differences)


def _row(title: str, steps: Steps) -> str:
    return f"{title:<24}{_ms(steps.median_s):>12}{_ms(steps.fastest_s):>12}"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"
