"""Inputs of plans priced by the model of a step: GPUs of each type, and ways to run layers on them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.base.errors import InputError, excerpt
from dse.inputs.strategies import AXES, AXIS
from dse.native import _engine
from dse.prediction.steps.batch import plan_rows, step_predictor
from dse.prediction.steps.plan import Plan

if TYPE_CHECKING:
    from dse.base.solvers import StepQuestion

MixedPlan = tuple[int, int, list[tuple[int, int, int, int]]]
"""Rounds of micro-batches, sequences of a round, and of each stage its type, way (numbers), dp and layers."""


@dataclass(frozen=True)
class StepType:
    """GPUs of one type in equal nodes.

    `cluster` is the record of their links as JSON. A plan may take `memory_bytes` of a GPU. `ways` are the
    ways to run a layer (`way_words`); `uniform` are the plans of sweeps over these GPUs alone, all of which
    are predicted.
    """

    name: str
    cluster: str
    gpus: int
    node_gpus: int
    memory_bytes: float
    ways: tuple[str, ...]
    uniform: tuple[Plan, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class StepInputs:
    """A model and the GPUs of a cluster; `model` is its record as JSON.

    `between_gbps` has, for each pair of types, what a GPU sends to the other type, in 10^9 bytes per second
    (0: as much as out of its node). A micro-batch has at most `most_micro_batch` sequences. `is_uniform` asks
    for plans whose stages have the same degrees and way, and any layers.
    """

    model: str
    layers: int
    types: tuple[StepType, ...]
    between_gbps: tuple[float, ...]
    most_micro_batch: int
    is_uniform: bool = False

    @cached_property
    def plans(self) -> tuple[tuple[Plan, ...], ...]:
        """The ways of each type as plans."""
        return tuple(tuple(map(way_of, type_.ways)) for type_ in self.types)

    def question(self, *, is_bounded: bool = True) -> StepQuestion:
        """Return the engine's question; without `is_bounded`, plans may take any memory."""
        from dse.base.solvers import StepQuestion

        ways = [plan for plans in self.plans for plan in plans]
        rows, own, texts = plan_rows(ways)
        types = [
            (
                engine_cluster(type_.cluster),
                type_.gpus,
                type_.node_gpus,
                type_.memory_bytes if is_bounded else float("inf"),
            )
            for type_ in self.types
        ]
        numbers = [number for number, plans in enumerate(self.plans) for _ in plans]
        kinds: dict[Plan, int] = {}
        kinds_of = [kinds.setdefault(way, len(kinds)) for way in ways] if self.is_uniform else []
        return StepQuestion(
            step_predictor(),
            engine_model(self.model),
            types,
            numbers,
            rows,
            own,
            texts,
            list(self.between_gbps),
            self.most_micro_batch,
            kinds_of,
        )

    def predicted(
        self, type_: StepType, plans: Sequence[Plan], *, gpus: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return steps in seconds and bytes of the fullest stage on `gpus` of a type (None: as plans have).

        Seconds are infinite where a plan cannot run.
        """
        rows, own, texts = plan_rows(plans)
        counts = [gpus or plan.npus for plan in plans]
        sizes = sorted(set(counts))
        clusters = [engine_cluster(_joining(type_.cluster, size)) for size in sizes]
        parts_s, memory_bytes, _, reason_of, _ = step_predictor().predict(
            [engine_model(self.model)],
            clusters,
            np.zeros(len(plans), np.int32),
            np.searchsorted(sizes, counts).astype(np.int32),
            rows,
            own,
            texts,
            1,
        )
        steps_s = np.where(np.asarray(reason_of) < 0, np.asarray(parts_s).sum(axis=1), np.inf)
        return steps_s, np.asarray(memory_bytes).sum(axis=1)


def layer_way(plan: Plan) -> Plan:
    """Return how a plan runs a layer, without its pipeline and its replicas."""
    return replace(
        plan,
        dp=1,
        pp=1,
        micro_batch=1,
        schedule="1f1b",
        chunks=1,
        stages="even",
        overlap_ep=plan.overlap_ep and plan.pp == 1,
    )


def way_words(plan: Plan) -> str:
    """Return the axes of a plan that are not as by default: tp=4 sequence_parallel=true."""
    found = []
    for axis in AXES:
        value = getattr(plan, axis.name)
        if value != (1 if axis.name == "micro_batch" else AXIS[axis.name].default):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            found.append(f"{axis.name}={text}")
    return " ".join(found)


def way_text(words: str) -> str:
    """Return how a stage runs its layers, besides its tensor degree: cp 2, ZeRO-3, recompute full."""
    plan = way_of(words)
    found = [f"{name} {value}" for name, value in (("cp", plan.cp), ("ep", plan.ep)) if value > 1]
    found.append(f"ZeRO-{plan.zero_stage}")
    if plan.recompute != "none":
        found.append(f"recompute {plan.recompute}")
    if plan.micro_batch > 1:
        found.append(f"micro-batch {plan.micro_batch}")
    if plan.chunks > 1:
        found.append(f"{plan.chunks} chunks")
    return ", ".join(found)


@lru_cache(maxsize=4096)
def way_of(words: str) -> Plan:
    """Return the plan of words.

    Raises:
        InputError: a word is no axis with a value.
    """
    values: dict[str, Any] = {}
    for word in words.split():
        name, _, text = word.partition("=")
        if name not in AXIS:
            raise InputError(f"way '{excerpt(words)}': {excerpt(name)} is no axis of strategies")
        kind = type(AXIS[name].default)
        if kind is bool and text in ("true", "false"):
            values[name] = text == "true"
        elif kind is int and text.isdecimal() and len(text) < 10:
            values[name] = int(text)
        elif kind is str:
            values[name] = text
        else:
            raise InputError(
                f"way '{excerpt(words)}': {name} is '{excerpt(text)}'; it must be a {kind.__name__}"
            )
    return Plan(**values)


def _joining(cluster: str, gpus: int) -> str:
    """The record of so many GPUs of a cluster: the tiers that join fewer, and the next one."""
    record = json.loads(cluster)
    tiers = [tier for tier in record["tiers"][:-1] if tier["npus"] < gpus]
    record["tiers"] = [*tiers, {**record["tiers"][len(tiers)], "npus": gpus}]
    return json.dumps(record)


@lru_cache(maxsize=64)
def engine_model(text: str) -> _engine.StepModel:
    """Return the engine's record of a model."""
    return _engine.step_model(text)


@lru_cache(maxsize=256)
def engine_cluster(text: str) -> _engine.StepCluster:
    """Return the engine's record of a cluster."""
    return _engine.step_cluster(text)
