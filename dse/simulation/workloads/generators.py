"""Generating the workload of one training step, and exporting it as the files that ASTRA-sim reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from dse.base.cancellation import current_cancellation
from dse.base.errors import InputError
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import (
    Divisibility,
    InfeasibleStrategy,
    Strategy,
    indivisible,
    require_divisible,
)
from dse.inputs.strategies.native import native_model, native_strategy
from dse.native import _engine
from dse.simulation.workloads.cache import ByteCache
from dse.simulation.workloads.traces import Workload

KEPT_BYTES = 256 * 2**20  # the lab's models take a few MB each, deep pipelines with micro-batches some 100 MB


@dataclass(frozen=True)
class GeneratedWorkload(Workload):
    """A workload that knows how it was made, so that it can be written as execution traces."""

    transformer: _engine.Transformer

    def trace_bytes(self, rank: int) -> bytes:
        """The bytes of the rank's .et file."""
        return self.transformer.encode_trace(rank, current_cancellation())

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
            InputError: the generator is set up wrongly, or cannot show such models at all.
        """

    def identity(self) -> Mapping[str, str]:
        """Settings that a workload depends on besides model and strategy, for the keys of design points."""
        return {"name": type(self).__name__}

    def stop(self) -> None:  # noqa: B027 (most have nothing to do)
        """End the programs that run; the calls that wait for them raise."""


def make(_: object) -> WorkloadGenerator:
    """Return the generator that `workload=native` names; it needs no settings."""
    return NativeGenerator()


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
    """Generate one training step of `model` under `strategy` (docs/workload.md).

    Under `strict`, sizes that do not divide are refused, under `whole` those that no program can split; what
    is not refused has fractional shards, which are cut when they are written, as STAGE does.

    Raises:
        InfeasibleStrategy: no workload exists; says which rule, and the nearest sizes that divide.
        InputError: the model has what traces cannot show.
    """
    is_fractional = fractional(model, strategy, divisibility)
    # Workloads are immutable, and shared between points: a sweep over systems generates nothing twice.
    key = model, strategy, is_fractional
    return _generated.get(key, lambda: made_workload(*key))


def fractional(model: ModelSpec, strategy: Strategy, divisibility: Divisibility) -> bool:
    """Return whether some size does not divide.

    Raises:
        InfeasibleStrategy: `divisibility` excludes that; or no workload exists.
    """
    require_divisible(model, strategy, divisibility)
    return bool(indivisible(model, strategy))


def made_workload(model: ModelSpec, strategy: Strategy, is_fractional: bool) -> GeneratedWorkload:
    """Generate a workload that no other call shares.

    Raises:
        InfeasibleStrategy, InputError: as `generate`.
    """
    native = native_model(model, strategy)
    try:
        transformer = _engine.transformer(native, native_strategy(strategy), current_cancellation())
    except InputError as error:
        raise InfeasibleStrategy(str(error)) from None
    return GeneratedWorkload(
        _engine.generate(transformer, current_cancellation()),
        transformer,
        is_fractional=is_fractional,
        issue_order="safe" if model.fidelity == "realistic" else "reference",
    )


_generated: ByteCache[tuple[ModelSpec, Strategy, bool], GeneratedWorkload] = ByteCache(
    KEPT_BYTES, lambda workload: workload.native.memory_bytes
)
