"""A training step's time and memory, as the engine predicts them from its structure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from dse.base.errors import InputError
from dse.inputs.accelerators.accelerator import CALIBRATED_BY_USER, Accelerator
from dse.inputs.accelerators.algorithms import BY_TIERS
from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.models.flops import training_flops
from dse.inputs.strategies.divisibility import InfeasibleStrategy
from dse.prediction.intervals.interval import Interval, interval_of
from dse.prediction.intervals.kinds import kind_of
from dse.prediction.steps.batch import Case, predict_columns
from dse.prediction.steps.checks import value_problem
from dse.prediction.steps.framework_memory import WIDEST_MARGIN
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.plan import Plan

flops_of_step = lru_cache(maxsize=256)(training_flops)


def predict(model: ModelSpec, plan: Plan, cluster: Cluster) -> Prediction:
    """Predict a training step of `model` under `plan` on `cluster`.

    Raises:
        InfeasibleStrategy: the plan cannot run; says why.
    """
    (found,) = predictions([Case(model, plan, cluster)])
    if isinstance(found, str):
        raise InfeasibleStrategy(found)
    return found


def require_feasible(model: ModelSpec, plan: Plan, cluster: Cluster) -> None:
    """Refuse what `predict` refuses, in less time.

    Raises:
        InfeasibleStrategy: says why the plan cannot run.
    """
    problem = value_problem(plan)
    if problem is None:
        problem = predict_columns([Case(model, plan, cluster)], only_feasible=True).reason(0)
    if problem is not None:
        raise InfeasibleStrategy(problem)


class Figures(NamedTuple):
    """A predicted step: its time in parts (`PARTS`), peak memory by category (`CATEGORIES`), idle share."""

    parts_s: list[float]
    memory_bytes: list[int]
    bubble_share: float

    @property
    def step_s(self) -> float:
        """The time of the step."""
        return sum(self.parts_s)

    @property
    def peak_memory_bytes(self) -> int:
        """The memory of the fullest stage."""
        return sum(self.memory_bytes)


def predictions(cases: Sequence[Case], threads: int = 1) -> Iterator[Prediction | str]:
    """Predict many steps; a plan that cannot run gets the reason instead."""
    for case, found in zip(cases, figures(cases, threads), strict=True):
        yield found if isinstance(found, str) else prediction(case, found)


def figures(cases: Sequence[Case], threads: int = 1) -> Iterator[Figures | str]:
    """Return the figures of many steps without notes and intervals, or the reason why a plan cannot run."""
    problems = [value_problem(case.plan) for case in cases]
    known = [case for case, problem in zip(cases, problems, strict=True) if problem is None]
    columns = predict_columns(known, threads=threads)
    rows = zip(
        columns.parts_s.tolist(),
        [list(map(round, memory)) for memory in columns.memory_bytes.tolist()],
        columns.bubble_share.tolist(),
        strict=True,
    )
    found = (columns.reason(place) or Figures(*row) for place, row in enumerate(rows))
    return (problem or next(found) for problem in problems)


def prediction(case: Case, found: Figures) -> Prediction:
    """Return figures with how sure they are, and what they rest on that is not measured."""
    interval = interval_of(kind_of(case.model, case.plan, case.cluster))
    return Prediction(
        step_s=found.step_s,
        parts_s=dict(zip(PARTS, found.parts_s, strict=True)),
        peak_memory_bytes=found.peak_memory_bytes,
        memory_bytes=dict(zip(CATEGORIES, found.memory_bytes, strict=True)),
        bubble_share=found.bubble_share,
        model_flops=flops_of_step(case.model),
        notes=notes_of(case, interval),
        interval=interval,
    )


def notes_of(case: Case, interval: Interval | None) -> tuple[str, ...]:
    """Return what a prediction rests on that is not measured."""
    found = fit_notes(case.cluster.accelerator, case.plan, interval)
    for ranks, kind in ((case.plan.tp, "tp"), (case.plan.dp * case.plan.cp, "dp")):
        chosen = case.cluster.algorithms.of(kind)
        if chosen in BY_TIERS and ranks > 1:
            found.append(f"collectives of {kind} are {chosen}: their time was compared with no measured step")
    return tuple(found)


def fit_notes(accelerator: Accelerator, plan: Plan, interval: Interval | None) -> list[str]:
    """Return notes on an interval, and on constants of the user's own or of a type that no unseen run had."""
    notes = [interval.note] if interval else []
    is_own = accelerator.calibration.startswith(CALIBRATED_BY_USER)
    if is_own or (accelerator.calibration and not (interval and interval.knows_accelerator)):
        notes.append(accelerator.calibration)
    framework = framework_named(plan.framework)
    if framework.calibration.startswith("starting value"):
        notes.append(f"the launch time of {framework.name} is a {framework.calibration}")
    return notes


PARTS = (
    "matrix_products",
    "attention",
    "memory_bound",
    "launches",
    "tp",
    "cp",
    "ep",
    "pp_bubble",
    "p2p",
    "dp",
    "optimizer",
)
CATEGORIES = ("weights", "gradients", "optimizer", "activations", "communication", "workspace", "reserve")
"""The categories of memory, in their order."""
PREDICTION_VERSION = 11
"""Raised whenever a prediction of the same inputs may change: stored ones are then made again."""


@dataclass(frozen=True)
class Prediction:
    """`step_s` is the sum of `parts_s`; `peak_memory_bytes` that of `memory_bytes`, of the fullest stage.

    `interval` says where unseen steps of this kind came out; None where nothing was measured.
    """

    step_s: float
    parts_s: Mapping[str, float]
    peak_memory_bytes: int
    memory_bytes: Mapping[str, int]
    bubble_share: float
    model_flops: float
    notes: tuple[str, ...] = ()
    interval: Interval | None = None

    @property
    def range_s(self) -> tuple[float, float] | None:
        """From when to when 80 % of steps of this kind end; None where nothing was measured."""
        if self.interval is None:
            return None
        return self.step_s * self.interval.low, self.step_s * self.interval.high


Verdict = Literal["fits", "may fit", "does not fit"]


def verdict(peak_memory_bytes: float, capacity_bytes: float, margin: float) -> Verdict:
    """Return whether a predicted peak fits, where predictions are off by up to `margin` times the peak.

    >>> verdict(60e9, 80e9, 0.1), verdict(75e9, 80e9, 0.1), verdict(85e9, 80e9, 0.1), verdict(90e9, 80e9, 0.1)
    ('fits', 'may fit', 'may fit', 'does not fit')
    """
    if peak_memory_bytes * (1 + margin) <= capacity_bytes:
        return "fits"
    return "may fit" if peak_memory_bytes <= most_that_may_fit(capacity_bytes, margin) else "does not fit"


def most_that_may_fit(capacity_bytes: float, margin: float) -> float:
    """Return the largest predicted peak that may fit."""
    return capacity_bytes * (1 + margin)


def margin_of(framework: str) -> float:
    """Return the margin of predicted peaks of a framework; the widest where there is none of this name."""
    try:
        return framework_named(framework).memory.margin
    except InputError:  # the study was made where this file is
        return WIDEST_MARGIN
