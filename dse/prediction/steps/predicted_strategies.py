"""Predictions of many strategies of a model on a cluster: columns in, columns out, no object for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.strategies.columns import Strategies
from dse.prediction.intervals.interval import interval_of
from dse.prediction.intervals.kinds import kind_of
from dse.prediction.steps.batch import NUMBERS, TEXTS, Batch, Case, Columns
from dse.prediction.steps.native_inputs import step_cluster, step_model
from dse.prediction.steps.predict import Figures, notes_of
from dse.prediction.steps.strategies import Plans, Refusals, plans_of

_OWN = (-1.0, -1.0, 0.0)  # launch_us, elementwise and optimizer_bytes are those of frameworks

# On which axes notes and intervals depend; with experts also on where their groups lie.
_NOTED = ("framework", "precision", "cp", "tp", "dp")
_NOTED_WITH_EXPERTS = (*_NOTED, "pp", "ep", "expert_tp", "order")


@dataclass(frozen=True)
class Predictions:
    """Steps of the strategies at `places`, those that can run: the rest are refused.

    `parts_s` are strategies x parts, `memory_bytes` strategies x categories of the fullest stage in whole
    bytes. An interval is from `low` to `high` times the step, which are no numbers where nothing was
    measured. `notes` are the different notes, and `note_of` has the number of a strategy's.
    """

    places: NDArray[np.intp]
    parts_s: NDArray[np.float64]
    memory_bytes: NDArray[np.int64]
    bubble_share: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    notes: list[tuple[str, ...]]
    note_of: NDArray[np.intp]

    @property
    def step_s(self) -> NDArray[np.float64]:
        """The parts, added in their order."""
        return summed(self.parts_s)

    def figures(self, row: int) -> Figures:
        """Return those of a strategy, by its place among those that can run."""
        parts_s, memory_bytes = self.parts_s[row].tolist(), self.memory_bytes[row].tolist()
        return Figures(parts_s, memory_bytes, float(self.bubble_share[row]))


def summed(parts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of each line, from the left: numpy adds in pairs."""
    total = np.zeros(len(parts))
    for column in parts.T:
        total = total + column
    return total


def predict_strategies(
    model: ModelSpec, strategies: Strategies, cluster: Cluster, refused: Refusals, *, threads: int = 1
) -> Predictions:
    """Predict the steps of strategies that nothing has refused so far, by some threads.

    Raises:
        InputError: a framework or schedule is unknown.
    """
    plans, found = _found(model, strategies, cluster, refused, threads=threads)
    runs = found.reason_of < 0
    ran = plans.take(runs)
    return Predictions(
        np.flatnonzero(refused.reason_of < 0),
        found.parts_s[runs],
        np.rint(found.memory_bytes[runs]).astype(np.int64),
        found.bubble_share[runs],
        *_certainty(model, ran, cluster),
    )


def refuse_infeasible(model: ModelSpec, strategies: Strategies, cluster: Cluster, refused: Refusals) -> None:
    """Refuse what `predict_strategies` refuses, in less time."""
    _found(model, strategies, cluster, refused, only_feasible=True)


def _found(
    model: ModelSpec,
    strategies: Strategies,
    cluster: Cluster,
    refused: Refusals,
    *,
    threads: int = 1,
    only_feasible: bool = False,
) -> tuple[Plans, Columns]:
    """Return the plans that nothing but the engine refuses, and what it finds of them."""
    plans = plans_of(model, strategies, refused)
    found = _batch(model, plans, cluster).predict(threads=threads, only_feasible=only_feasible)
    refused.refuse_rest(found.reason_of, found.reasons)
    return plans, found


def _batch(model: ModelSpec, plans: Plans, cluster: Cluster) -> Batch:
    count, texts = len(plans.strategies), list[str]()
    columns = np.empty((count, len(NUMBERS) + len(TEXTS)), np.int64)
    for place, name in enumerate(NUMBERS if count else ()):  # a refused number may have more than 64 bits
        columns[:, place] = plans.column(name)
    for place, name in enumerate(TEXTS, len(NUMBERS)):
        own, numbers = _numbered(plans, name)
        columns[:, place] = numbers + len(texts)
        texts += own
    return Batch(
        [step_model(model)],
        [step_cluster(cluster)],
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        columns,
        np.tile(np.array(_OWN), (count, 1)),
        texts,
    )


def _numbered(plans: Plans, name: str) -> tuple[list[str], Any]:
    """Return the texts of an axis, and the number of each plan's."""
    strategies = plans.strategies
    if name not in plans.filled:
        return list(map(str, strategies.values[name])), strategies.codes.get(name, 0)
    texts, numbers = np.unique(
        np.broadcast_to(plans.filled[name], len(strategies)).astype(str), return_inverse=True
    )
    return texts.tolist(), numbers.reshape(-1)


def _certainty(model: ModelSpec, plans: Plans, cluster: Cluster) -> tuple[Any, ...]:
    """Return low and high factors, notes, and the number of each plan's: once for each combination."""
    names = _NOTED if model.experts is None else _NOTED_WITH_EXPERTS
    firsts, kinds = plans.strategies.kinds(names)
    notes: dict[tuple[str, ...], int] = {}
    factors, numbers = [], []
    for plan in plans.take(firsts).each():
        case = Case(model, plan, cluster)
        interval = interval_of(kind_of(*case))
        factors.append((np.nan, np.nan) if interval is None else (interval.low, interval.high))
        numbers.append(notes.setdefault(notes_of(case, interval), len(notes)))
    low, high = np.array(factors).reshape(-1, 2)[kinds].T
    return low, high, list(notes), np.array(numbers, np.intp)[kinds]
