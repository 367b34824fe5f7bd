"""Generating the workload of one training step, and exporting it as the files that ASTRA-sim reads."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dse import _engine
from dse.errors import InputError
from dse.files import make_folder, write_atomically
from dse.models import MODEL_DIMENSIONS, ModelSpec
from dse.strategies import STRATEGY_FIELDS, InfeasibleStrategy, Strategy, check, indivisible
from dse.workloads.traces import Workload

Divisibility = Literal["stage", "strict"]
GROUPS_FILE = "comm_group.json"
_KEPT_WORKLOADS = 32  # a few MB each at the size of the lab's models


@dataclass(frozen=True)
class GeneratedWorkload(Workload):
    """A workload that knows how it was made, so that it can be written as execution traces.

    `is_fractional`: some size does not divide, and its shards are cut to whole numbers as STAGE does.
    """

    transformer: _engine.Transformer
    is_fractional: bool

    def trace_bytes(self, rank: int) -> bytes:
        """The bytes of the rank's .et file (workload specification, sections 9 to 12)."""
        return self.transformer.encode_trace(rank)

    def groups_json(self) -> str:
        """The text of the communicator-group file."""
        return self.transformer.groups_json()

    def export(self, folder: Path, name: str = "trace") -> list[Path]:
        """Write `<folder>/<name>.<rank>.et` for each rank and the groups file; return the paths.

        Raises:
            InputError: the folder cannot be written.
        """
        make_folder(folder)
        paths = [folder / f"{name}.{rank}.et" for rank in range(self.rank_count)]
        for rank, path in enumerate(paths):
            write_atomically(path, self.trace_bytes(rank))
        write_atomically(folder / GROUPS_FILE, self.groups_json().encode())
        return [*paths, folder / GROUPS_FILE]


def generate(
    model: ModelSpec, strategy: Strategy, *, divisibility: Divisibility = "stage"
) -> GeneratedWorkload:
    """Generate one training step of `model` under `strategy` (workload specification).

    Under `strict`, sizes that do not divide are refused; under `stage` their shards are fractional, and cut
    when they are written, as STAGE does.

    Raises:
        InfeasibleStrategy: no workload exists; says which rule, and the nearest sizes that divide.
    """
    check(model, strategy)
    broken = indivisible(model, strategy)
    if broken and divisibility == "strict":
        raise InfeasibleStrategy(
            f"workload.divisibility=strict: {'; '.join(broken)}; workload.divisibility=stage cuts the shards"
        )
    return _generated(model, strategy, bool(broken))


@functools.lru_cache(maxsize=_KEPT_WORKLOADS)
def _generated(model: ModelSpec, strategy: Strategy, is_fractional: bool) -> GeneratedWorkload:
    """Generate, or give what was generated before: workloads are immutable, and shared between points.

    A sweep over systems, such as a bandwidth sensitivity of one strategy, generates nothing twice.
    """
    native_model = _engine.ModelSpec()
    for key in MODEL_DIMENSIONS:
        setattr(native_model, key, getattr(model, key))
    native_strategy = _engine.StrategySpec()
    for key in STRATEGY_FIELDS:
        setattr(native_strategy, key, getattr(strategy, key))
    try:
        transformer = _engine.transformer(native_model, native_strategy)
    except InputError as error:
        raise InfeasibleStrategy(str(error)) from None
    return GeneratedWorkload(_engine.generate(transformer), transformer, is_fractional)
