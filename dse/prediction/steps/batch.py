"""Predictions of many plans at once: columns of plans go into the engine, columns of figures come out."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.strategies.precisions import PRECISIONS
from dse.inputs.strategies.schedules import schedule_named
from dse.inputs.strategies.schedules.schedule import KINDS, Timetable
from dse.native import _engine
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.native_inputs import framework_text, step_cluster, step_model
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.synthesized import lines_of

_COLUMNS = _engine.plan_columns()
NUMBERS, TEXTS = _COLUMNS[: _engine.PLAN_NUMBERS], _COLUMNS[_engine.PLAN_NUMBERS :]
_MOST = 2.0**62
_BEYOND = "a step takes 146 years or more, or an NPU needs 4.6e18 bytes or more: no figure is so large"
OWN = ("launch_us", "elementwise", "optimizer_bytes")
_numbers_of = attrgetter(*NUMBERS)
_texts_of = attrgetter(*TEXTS)


class Case(NamedTuple):
    """A step to be predicted."""

    model: ModelSpec
    plan: Plan
    cluster: Cluster


@dataclass(frozen=True)
class Columns:
    """Predictions of cases, in their order.

    `parts_s` are cases x parts (`dse.prediction.steps.predict.PARTS`), `memory_bytes` cases x categories
    of the fullest stage, `reason_of` the number of the text in `reasons` that says why a plan cannot run; -1
    where it can.
    """

    parts_s: NDArray[np.float64]
    memory_bytes: NDArray[np.float64]
    bubble_share: NDArray[np.float64]
    reason_of: NDArray[np.int32]
    reasons: list[str]

    def reason(self, case: int) -> str | None:
        """Why a plan cannot run; None where it can."""
        number = int(self.reason_of[case])
        return None if number < 0 else self.reasons[number]


@dataclass(frozen=True)
class Batch:
    """Cases as the engine takes them, each a line of `plans` and `own`, with its model and its cluster.

    The columns of `own` are `OWN`: -1 (bytes: 0) where the plan leaves them to its framework.
    """

    models: Sequence[_engine.StepModel]
    clusters: Sequence[_engine.StepCluster]
    model_of: NDArray[np.int32]
    cluster_of: NDArray[np.int32]
    plans: NDArray[np.int64]
    own: NDArray[np.float64]
    texts: list[str]

    @classmethod
    def of(cls, cases: Sequence[Case]) -> Batch:
        """Return cases as a batch."""
        models, model_of = _numbered([case.model for case in cases])
        clusters, cluster_of = _numbered([case.cluster for case in cases])
        plans, own, texts = plan_rows([case.plan for case in cases])
        return cls(
            [step_model(model) for model in models],
            [step_cluster(cluster) for cluster in clusters],
            np.array(model_of, np.int32),
            np.array(cluster_of, np.int32),
            plans,
            own,
            texts,
        )

    def predict(self, *, threads: int = 1, only_feasible: bool = False) -> Columns:
        """Predict the steps, as `predict_columns`."""
        return _countable(
            *step_predictor().predict(
                self.models,
                self.clusters,
                self.model_of,
                self.cluster_of,
                self.plans,
                self.own,
                self.texts,
                threads,
                only_feasible,
            )
        )


def _countable(
    parts_s: NDArray[np.float64],
    memory_bytes: NDArray[np.float64],
    bubble_share: NDArray[np.float64],
    reason_of: NDArray[np.int32],
    reasons: list[str],
) -> Columns:
    """Return figures of which those are refused that no whole number of ns or bytes holds."""
    is_known = (parts_s.sum(axis=1) < _MOST / 1e9) & (memory_bytes.sum(axis=1) < _MOST)
    beyond = (reason_of < 0) & ~is_known
    if beyond.any():
        reason_of = np.where(beyond, np.int32(len(reasons)), reason_of)
        reasons = [*reasons, _BEYOND]
    return Columns(parts_s, memory_bytes, bubble_share, reason_of, reasons)


def plan_rows(plans: Sequence[Plan]) -> tuple[NDArray[np.int64], NDArray[np.float64], list[str]]:
    """Return the lines of plans in `Batch.plans` and `Batch.own`, and their texts."""
    texts: dict[str, int] = {}
    rows = [
        (*_numbers_of(plan), *[texts.setdefault(text, len(texts)) for text in _texts_of(plan)])
        for plan in plans
    ]
    own = [
        (
            -1.0 if plan.launch_us is None else plan.launch_us,
            -1.0 if plan.elementwise is None else plan.elementwise,
            float(plan.optimizer_bytes or 0),
        )
        for plan in plans
    ]
    return (
        np.array(rows, np.int64).reshape(len(plans), len(_COLUMNS)),
        np.array(own, np.float64).reshape(len(plans), len(OWN)),
        list(texts),
    )


def predict_columns(cases: Sequence[Case], *, threads: int = 1, only_feasible: bool = False) -> Columns:
    """Predict steps; `only_feasible` looks only for reasons why plans cannot run.

    Raises:
        InputError: a framework or schedule is unknown.
    """
    return Batch.of(cases).predict(threads=threads, only_feasible=only_feasible)


def _numbered(items: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return the different items, and the number of each; a repeated object is hashed once."""
    known: dict[Any, int] = {}
    of_id: dict[int, int] = {}
    numbers = []
    for item in items:
        number = of_id.get(id(item))
        if number is None:
            number = of_id[id(item)] = known.setdefault(item, len(known))
        numbers.append(number)
    return list(known), numbers


class _Source:
    """Answers the engine, which asks once for each: frameworks, schedules, synthesised collectives."""

    def framework(self, name: str) -> str:
        return framework_text(framework_named(name))

    def schedule(self, name: str) -> tuple[bool, bool]:
        found = schedule_named(name)
        return found.splits_backward, found.is_v_shaped

    def problem(self, name: str, stages: int, chunks: int, micro_batches: int) -> str:
        return schedule_named(name).problem(stages, chunks, micro_batches)

    def timetable(
        self, name: str, stages: int, chunks: int, micro_batches: int
    ) -> tuple[list[NDArray[np.int64]], list[list[int]]]:
        found = schedule_named(name)
        table: Timetable = found.timetable(stages, chunks, micro_batches)
        shape = (stages, chunks, micro_batches)
        ticks = [
            np.ascontiguousarray(np.broadcast_to(own, shape), np.int64).reshape(-1)
            for own in table
            if own is not None
        ]
        messages = [
            [KINDS.index(kind), *source, *destination, link]
            for kind, source, destination, link in found.messages(stages, chunks)
        ]
        return ticks, messages

    def synthesized(
        self, legs: Sequence[tuple[int, float, float]]
    ) -> list[tuple[float, list[tuple[float, float]]]]:
        return lines_of(legs)


class _Predictors(threading.local):
    """The predictor of a thread, which remembers schedules and frameworks."""

    def __init__(self) -> None:
        recipes = [(name, recipe.format, recipe.bits) for name, recipe in PRECISIONS.items()]
        self.own = _engine.StepPredictor(recipes, _Source())


def step_predictor() -> _engine.StepPredictor:
    """Return the predictor of this thread."""
    return _predictors().own


def forget_predictors() -> None:
    """Have all threads start with new predictors, which remember nothing."""
    _predictors.cache_clear()


@functools.cache
def _predictors() -> _Predictors:
    return _Predictors()
