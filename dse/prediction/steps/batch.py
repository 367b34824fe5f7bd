"""Predictions of many plans at once: columns of plans go into the engine, columns of figures come out."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.strategies.precisions import PRECISIONS
from dse.inputs.strategies.schedules import schedule_named
from dse.inputs.strategies.schedules.schedule import KINDS
from dse.native import _engine
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.native_inputs import framework_text, step_cluster, step_model
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.synthesized import lines_of

if TYPE_CHECKING:
    from dse.inputs.strategies.schedules.schedule import Timetable

_COLUMNS = _engine.plan_columns()
_NUMBERS, _TEXTS = _COLUMNS[: _engine.PLAN_NUMBERS], _COLUMNS[_engine.PLAN_NUMBERS :]
_numbers_of = attrgetter(*_NUMBERS)
_texts_of = attrgetter(*_TEXTS)


class Case(NamedTuple):
    """A step to be predicted."""

    model: ModelSpec
    plan: Plan
    cluster: Cluster


@dataclass(frozen=True)
class Columns:
    """Predictions of cases, in their order.

    `parts_s` are cases x parts (`dse.prediction.steps.prediction.PARTS`), `memory_bytes` cases x categories
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


def predict_columns(cases: Sequence[Case], *, threads: int = 1, only_feasible: bool = False) -> Columns:
    """Predict steps; `only_feasible` looks only for reasons why plans cannot run.

    Raises:
        InputError: a framework or schedule is unknown.
    """
    models, model_of = _numbered([case.model for case in cases])
    clusters, cluster_of = _numbered([case.cluster for case in cases])
    texts: dict[str, int] = {}
    rows = [
        (*_numbers_of(case.plan), *[texts.setdefault(text, len(texts)) for text in _texts_of(case.plan)])
        for case in cases
    ]
    own = [
        (
            -1.0 if case.plan.launch_us is None else case.plan.launch_us,
            -1.0 if case.plan.elementwise is None else case.plan.elementwise,
            float(case.plan.optimizer_bytes or 0),
        )
        for case in cases
    ]
    found = _predictor().predict(
        [step_model(model) for model in models],
        [step_cluster(cluster) for cluster in clusters],
        np.array(model_of, np.int32),
        np.array(cluster_of, np.int32),
        np.array(rows, np.int64).reshape(len(cases), len(_COLUMNS)),
        np.array(own, np.float64).reshape(len(cases), 3),
        list(texts),
        threads,
        only_feasible,
    )
    return Columns(*found)


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
    ) -> tuple[list[NDArray[np.int64]], list[list[int]], list[int]]:
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
        return ticks, messages, list(map(int, found.in_flight(stages, chunks, micro_batches)))

    def synthesized(
        self, legs: Sequence[tuple[int, float, float]]
    ) -> list[tuple[float, list[tuple[float, float]]]]:
        return lines_of(legs)


@functools.cache
def _predictor() -> _engine.StepPredictor:
    recipes = [(name, recipe.format, recipe.bits) for name, recipe in PRECISIONS.items()]
    return _engine.StepPredictor(recipes, _Source())
