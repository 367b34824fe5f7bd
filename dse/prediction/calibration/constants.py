"""The constants of accelerators as something to fit: bounds, starts, steps predicted with other values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from dse.base.errors import DseError
from dse.inputs.accelerators.accelerator import Accelerator, accelerator
from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.accelerators.efficiency import Efficiency
from dse.prediction.calibration.fitting import PULL, Constant, Problem
from dse.prediction.measured.rows import MeasuredRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dse.prediction.steps.prediction import Prediction

CONSTANTS = tuple(field.name for field in fields(Efficiency) if field.name != "memory")
"""Of an accelerator: kernels alone tell its share of memory bandwidth, as steps cannot tell it from the
number of their kernels."""

FRAMEWORK_CONSTANTS = ("launch_us", "elementwise")
BALANCE = 0.5
KERNELS_PULL = 0.02  # two points for a factor of 2.7
_MOST_ATTENTION = 0.75
_SHARE_BOUNDS, _LAUNCH_BOUNDS_US = (0.05, 0.92), (1.0, 10.0)
_FRAMEWORK_BOUNDS = {"launch_us": (1.0, 200.0), "elementwise": (0.5, 8.0)}
# What the best benchmarks of memories and links reach is .92 of their data sheets; a product's less.
# Fused attention: FlashAttention-2 reaches .55 of an A100 with a causal mask, both passes (Dao 2023, figure
# 4), FlashAttention-3 .75 of an H100 at most (Shah et al. 2024).
_STARTS: Mapping[str, float] = {"attention": 0.55, "links": 0.75, "launch_us": 5.0}
_START_SHARE = 0.6
_FRAMEWORK_STARTS = {"launch_us": 15.0, "elementwise": 1.5}

Predict = Callable[[Any, Any, Cluster], "Prediction"]


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
        """
        is_known = not self.is_framework and accelerator(self.name).kernels is not None
        return KERNELS_PULL if is_known and name != "links" else PULL

    def typical(self, name: str) -> float:
        """Return from where a constant is searched: the share of kernels alone, or that of most types."""
        if self.is_framework:
            return _FRAMEWORK_STARTS[name]
        kernels = accelerator(self.name).kernels
        start = _STARTS.get(name, _START_SHARE) if kernels is None else share_of(kernels, name)
        low, high = self.bounds(name)
        return min(max(start, low), high)


def share_of(efficiency: Efficiency, name: str) -> float:
    """Return a constant; products in 4 bit have that of 8 bit unless they have their own."""
    return efficiency.four_bit if name == "matrix_4bit" else float(getattr(efficiency, name))


@dataclass(frozen=True)
class Sample:
    """A measured step as the predictor takes it, and whose constants its prediction depends on."""

    row: MeasuredRow
    model: Any
    plan: Any
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
    from dse.prediction.measured.cases import case_of
    from dse.prediction.steps.predict import predict

    found, reasons = [], {}
    for row in rows:
        try:
            case = case_of(row)
            predict(case.model, case.plan, case.cluster)
        except DseError as error:
            reasons[row.id] = str(error)
            continue
        owners = (Owner(case.cluster.accelerator.name), Owner(case.plan.framework, is_framework=True))
        found.append(Sample(row, case.model, case.plan, case.cluster, owners))
    return found, reasons


Values = Mapping[Owner, Mapping[str, float]]


def problem(
    steps: Sequence[Sample], starts: Values, predict: Predict | None = None, balance: float = BALANCE
) -> Problem:
    """Return the fit of the constants that `starts` has to samples; other constants stay as they are.

    A source of n rows weighs n^(1 - balance): with 0 each row counts alike, with 1 each source.
    """
    import numpy as np

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
    evaluate = predict or _predict()

    def log_ratios(values: Sequence[float], rows: Sequence[int]) -> NDArray[np.float64]:
        named: dict[Owner, dict[str, float]] = {}
        for (owner, name), value in zip(keys, values, strict=True):
            named.setdefault(owner, {})[name] = value
        made: dict[int, Cluster] = {}
        logarithms = []
        for place in rows:
            step = steps[place]
            prediction = evaluate(step.model, _plan(step, named), _cluster(step, named, made))
            logarithms.append(math.log(prediction.step_s / step.row.iter_s))
        return np.array(logarithms)

    return Problem(constants, weights, log_ratios)


def with_constants(accelerator: Accelerator, values: Mapping[str, float]) -> Accelerator:
    """Return an accelerator with other values of some constants."""
    return replace(accelerator, efficiency=replace(accelerator.efficiency, **values))


def _predict() -> Predict:
    from dse.prediction.steps.predict import predict

    return predict


def _cluster(step: Sample, named: Mapping[Owner, Mapping[str, float]], made: dict[int, Cluster]) -> Cluster:
    """The cluster of a sample with other constants; one object for one object, which caches may rely on."""
    values = named.get(step.owners[0])
    if not values:
        return step.cluster
    if id(step.cluster) not in made:
        accelerator = with_constants(step.cluster.accelerator, values)
        made[id(step.cluster)] = replace(step.cluster, accelerator=accelerator)
    return made[id(step.cluster)]


def _plan(step: Sample, named: Mapping[Owner, Mapping[str, float]]) -> Any:
    values = named.get(step.owners[1])
    return replace(step.plan, **values) if values else step.plan
