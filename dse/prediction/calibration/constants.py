"""The constants of accelerators as something to fit: bounds, starts, steps predicted with other values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from dse.inputs.accelerators.accelerator import Accelerator, accelerator
from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.accelerators.efficiency import Efficiency
from dse.inputs.models import ModelSpec
from dse.native._engine import StepCluster
from dse.prediction.calibration.fitting import PULL, Constant, Problem
from dse.prediction.measured.cases import predicted_cases
from dse.prediction.measured.rows import MeasuredRow
from dse.prediction.steps.batch import OWN, Batch, Case
from dse.prediction.steps.native_inputs import step_cluster
from dse.prediction.steps.plan import Plan

CONSTANTS = tuple(field.name for field in fields(Efficiency) if field.name != "memory")
"""Of an accelerator: kernels alone tell its share of memory bandwidth, as steps cannot tell it from the
number of their kernels."""

FRAMEWORK_CONSTANTS = ("launch_us", "elementwise")
BALANCE = 0.5
KERNELS_PULL = 0.02  # two points for a factor of 2.7
_MOST_ATTENTION = 0.75
_SHARE_BOUNDS, _LAUNCH_BOUNDS_US = (0.05, 0.92), (1.0, 10.0)
_FRAMEWORK_BOUNDS = {"launch_us": (1.0, 200.0), "elementwise": (0.5, 8.0)}
# The best benchmarks of memories and links reach .92 of their data sheets; products reach less.
# Fused attention: FlashAttention-2 reaches .55 of an A100 with a causal mask, both passes (Dao 2023, figure
# 4), FlashAttention-3 .75 of an H100 at most (Shah et al. 2024).
_STARTS: Mapping[str, float] = {"attention": 0.55, "links": 0.75, "launch_us": 5.0}
_START_SHARE = 0.6
_FRAMEWORK_STARTS = {"launch_us": 15.0, "elementwise": 1.5}
# NVIDIA's frameworks run the fused kernels of Megatron and Transformer Engine, so that one tells of another.
# Runs of LLM Foundry are too large to tell a launch.
_HELD = ("llm-foundry", "megatron-bridge", "megatron-core", "megatron-lm", "nemo")
# These frameworks run each operation of PyTorch by itself: a norm in fp32 takes six that move nine times the
# bytes of a fused one, rotary positions take four for one, a gate two. A layer moves three times the bytes.
_PLAIN = ("llm-foundry", "nanotron", "torchtitan")
_PLAIN_ELEMENTWISE = 3.0


@dataclass(frozen=True)
class Owner:
    """The owner of constants: an accelerator type, or a framework."""

    name: str
    is_framework: bool = False

    @property
    def constants(self) -> tuple[str, ...]:
        """Their names."""
        return FRAMEWORK_CONSTANTS if self.is_framework else CONSTANTS

    def bounds(self, name: str) -> tuple[float, float]:
        """Return what a constant can be: a share, or a time in µs."""
        if self.is_framework:
            return _FRAMEWORK_BOUNDS[name]
        if name == "attention":
            return _SHARE_BOUNDS[0], _MOST_ATTENTION
        return _LAUNCH_BOUNDS_US if name.endswith("_us") else _SHARE_BOUNDS

    def pull(self, name: str) -> float:
        """Return how strongly a fit holds a constant where it starts: at the share of kernels, if known.

        Collectives of a step meet stragglers and other kernels, which those measured alone do not.
        Frameworks with the same kernels are held, too, and one whose runs tell no launch.
        """
        if self.is_framework:
            return KERNELS_PULL if self.name in _HELD else PULL
        is_known = accelerator(self.name).kernels is not None
        return KERNELS_PULL if is_known and name != "links" else PULL

    def typical(self, name: str) -> float:
        """Return from where a constant is searched: the share of kernels alone, or that of most types."""
        if self.is_framework:
            is_plain = name == "elementwise" and self.name in _PLAIN
            return _PLAIN_ELEMENTWISE if is_plain else _FRAMEWORK_STARTS[name]
        kernels = accelerator(self.name).kernels
        start = _STARTS.get(name, _START_SHARE) if kernels is None else share_of(kernels, name)
        low, high = self.bounds(name)
        return min(max(start, low), high)


def share_of(efficiency: Efficiency, name: str) -> float:
    """Return a constant; products in 4 bit have that of 8 bit unless they have their own."""
    return efficiency.four_bit if name == "matrix_4bit" else float(getattr(efficiency, name))


@dataclass(frozen=True)
class Sample:
    """A measured step, and whose constants its prediction depends on: an accelerator's and a framework's."""

    row: MeasuredRow
    model: ModelSpec
    plan: Plan
    cluster: Cluster
    owners: tuple[Owner, ...]

    @property
    def group(self) -> tuple[object, ...]:
        """The group of rows with errors in common: where they are from, and the shape of the model."""
        row = self.row
        return row.publisher, row.gpu, row.layers, row.hidden, row.seq, row.experts


def samples(
    rows: Iterable[MeasuredRow],
) -> tuple[list[Sample], dict[str, str]]:
    """Return the rows that can be expressed, and why the others cannot, by id."""
    found, reasons = [], {}
    for row, case, figures in predicted_cases(rows):
        if case is None:
            reasons[row.id] = str(figures)
            continue
        owners = (Owner(case.cluster.accelerator.name), Owner(case.plan.framework, is_framework=True))
        found.append(Sample(row, *case.step, owners))
    return found, reasons


Values = Mapping[Owner, Mapping[str, float]]


def problem(steps: Sequence[Sample], starts: Values, balance: float = BALANCE) -> Problem:
    """Return the fit of the constants that `starts` has to samples; other constants stay as they are.

    A source of n rows weighs n^(1 - balance): with 0 each row counts alike, with 1 each source.
    """
    keys = [(owner, name) for owner, named in starts.items() for name in named]
    rows_of = {owner: tuple(i for i, step in enumerate(steps) if owner in step.owners) for owner in starts}
    constants = [
        Constant(
            f"{owner.name}.{name}",
            *owner.bounds(name),
            starts[owner][name],
            rows_of[owner],
            owner.pull(name),
        )
        for owner, name in keys
    ]
    counts: dict[str, int] = {}
    for step in steps:
        counts[step.row.publisher] = counts.get(step.row.publisher, 0) + 1
    weights = np.array([counts[step.row.publisher] ** -balance for step in steps])
    changed = _Changed(steps)

    def log_ratios(values: Sequence[float], rows: Sequence[int]) -> NDArray[np.float64]:
        named: dict[Owner, dict[str, float]] = {}
        for (owner, name), value in zip(keys, values, strict=True):
            named.setdefault(owner, {})[name] = value
        return changed.log_ratios(named, np.asarray(rows, np.int64))

    return Problem(constants, weights, log_ratios)


def with_constants(accelerator: Accelerator, values: Mapping[str, float]) -> Accelerator:
    """Return an accelerator with other values of some constants."""
    return replace(accelerator, efficiency=replace(accelerator.efficiency, **values))


def _cluster(cluster: Cluster, values: Mapping[str, float]) -> StepCluster:
    if values:
        cluster = replace(cluster, accelerator=with_constants(cluster.accelerator, values))
    return step_cluster(cluster)


class _Changed:
    """Steps in a batch of the engine, predicted again and again with other constants."""

    def __init__(self, steps: Sequence[Sample]) -> None:
        self._batch = Batch.of([Case(step.model, step.plan, step.cluster) for step in steps])
        self._measured_s = np.array([step.row.iter_s for step in steps])
        self._frameworks = list(dict.fromkeys(step.owners[1] for step in steps))
        self._framework_of = np.array([self._frameworks.index(step.owners[1]) for step in steps])
        step_of = dict(zip(self._batch.cluster_of.tolist(), steps, strict=True))
        self._clusters = [(step_of[number].owners[0], step_of[number].cluster) for number in sorted(step_of)]

    def log_ratios(self, named: Values, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return log(predicted / measured) of some steps, with these values of constants."""
        batch, own = self._batch, self._batch.own[rows]
        for number, owner in enumerate(self._frameworks):
            of_owner = self._framework_of[rows] == number
            for name, value in named.get(owner, {}).items():
                own[of_owner, OWN.index(name)] = value
        used, cluster_of = np.unique(batch.cluster_of[rows], return_inverse=True)
        found = replace(
            batch,
            clusters=[
                _cluster(cluster, named.get(owner, {}))
                for owner, cluster in map(self._clusters.__getitem__, used)
            ],
            model_of=batch.model_of[rows],
            cluster_of=cluster_of.astype(np.int32),
            plans=batch.plans[rows],
            own=own,
        ).predict()
        step_s = np.add.accumulate(found.parts_s, axis=1)[:, -1]  # in the order of the parts
        return np.array(list(map(math.log, (step_s / self._measured_s[rows]).tolist())))
