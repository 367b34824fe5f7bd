"""Generating the workload of one training step, and exporting it as the files that ASTRA-sim reads."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dse import _engine
from dse.errors import InputError
from dse.models import MODEL_DIMENSIONS, REPAIRS, ModelSpec
from dse.strategies import STRATEGY_FIELDS, InfeasibleStrategy, Strategy, check, indivisible
from dse.workloads.traces import Workload

Divisibility = Literal["stage", "strict"]
_KEPT_WORKLOADS = 32  # a few MB each at the size of the lab's models
_RECOMPUTES = {
    "stage": _engine.Recompute.STAGE,
    "selective": _engine.Recompute.SELECTIVE,
    "full": _engine.Recompute.FULL,
}


@dataclass(frozen=True)
class GeneratedWorkload(Workload):
    """A workload that knows how it was made, so that it can be written as execution traces."""

    transformer: _engine.Transformer

    def trace_bytes(self, rank: int) -> bytes:
        """The bytes of the rank's .et file (workload specification, sections 9 to 12)."""
        return self.transformer.encode_trace(rank)

    def groups_json(self) -> str:
        """The text of the communicator-group file."""
        return self.transformer.groups_json()


class WorkloadGenerator(ABC):
    """Makes workloads. Implementations are re-entrant."""

    is_external = False
    """Whether it runs programs of the user's own, which may take any time."""

    @abstractmethod
    def generate(self, model: ModelSpec, strategy: Strategy, divisibility: Divisibility) -> Workload:
        """Return the workload of one training step of `model` under `strategy`; see `generate`.

        Raises:
            InfeasibleStrategy: no workload exists; says which rule, and the nearest sizes that divide.
            SimulationError, SimulationTimeout: the program that generates it fails.
            InputError: the generator is set up wrongly.
        """

    def identity(self) -> Mapping[str, str]:
        """What a workload depends on besides model and strategy, for the keys of design points."""
        return {"name": type(self).__name__}

    def stop(self) -> None:  # noqa: B027 (most have nothing to do)
        """End the programs that run; the calls that wait for them raise."""


class NativeGenerator(WorkloadGenerator):
    """Our own, in this process."""

    def generate(self, model: ModelSpec, strategy: Strategy, divisibility: Divisibility) -> Workload:
        """See `WorkloadGenerator.generate`."""
        return generate(model, strategy, divisibility=divisibility)

    def identity(self) -> Mapping[str, str]:
        """See `WorkloadGenerator.identity`."""
        return {"name": "native"}


def generate(
    model: ModelSpec, strategy: Strategy, *, divisibility: Divisibility = "stage"
) -> GeneratedWorkload:
    """Generate one training step of `model` under `strategy` (workload specification).

    Under `strict`, sizes that do not divide are refused; under `stage` their shards are fractional, and cut
    when they are written, as STAGE does.

    Raises:
        InfeasibleStrategy: no workload exists; says which rule, and the nearest sizes that divide.
    """
    return _generated(model, strategy, fractional(model, strategy, divisibility))


def fractional(model: ModelSpec, strategy: Strategy, divisibility: Divisibility) -> bool:
    """Return whether some size does not divide.

    Raises:
        InfeasibleStrategy: that is so, under `strict`; or no workload exists.
    """
    check(model, strategy)
    broken = indivisible(model, strategy)
    if broken and divisibility == "strict":
        raise InfeasibleStrategy(
            f"workload.divisibility=strict: {'; '.join(broken)}; workload.divisibility=stage cuts the shards"
        )
    return bool(broken)


@functools.lru_cache(maxsize=_KEPT_WORKLOADS)
def _generated(model: ModelSpec, strategy: Strategy, is_fractional: bool) -> GeneratedWorkload:
    """Generate, or give what was generated before: workloads are immutable, and shared between points.

    A sweep over systems, such as a bandwidth sensitivity of one strategy, generates nothing twice.
    """
    native_strategy = _engine.StrategySpec()
    for key in STRATEGY_FIELDS:
        setattr(native_strategy, key, getattr(strategy, key))
    try:
        transformer = _engine.transformer(_native_model(model, strategy), native_strategy)
    except InputError as error:
        raise InfeasibleStrategy(str(error)) from None
    return GeneratedWorkload(_engine.generate(transformer), transformer, is_fractional=is_fractional)


def _native_model(model: ModelSpec, strategy: Strategy) -> _engine.ModelSpec:
    native = _engine.ModelSpec()
    for key in MODEL_DIMENSIONS:
        setattr(native, key, getattr(model, key))
    if model.is_reference:
        return native
    native.num_kv_heads = model.shown_kv_heads
    native.gated_mlp = model.gated_mlp
    fidelity = _engine.Fidelity()
    repairs = model.resolved_repairs
    for key in REPAIRS:
        value = getattr(repairs, key)
        setattr(fidelity, key, _RECOMPUTES[value] if key == "recompute" else value)
    fidelity.micro_batches = model.micro_batches_on(strategy.dp, strategy.pp)
    native.fidelity = fidelity
    return native
