"""A reference case: a workload, a system, and the figures that the reference printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from dse.inputs.systems import SystemSpec
from dse.simulation.workloads import DEFAULT_REFERENCE, Reference, Workload

Value = int | float | str
"""A figure as expected: an exact integer, a percentage with three decimals, or a printed text."""


@dataclass(frozen=True)
class Expected:
    """The figures that the reference produced.

    `ranks` maps the ranks that finished to their figures; None if nothing is known about ranks. Under the
    status `unsupported` the reference crashes, and we must answer with an error. Under the status `crashed`
    its run ended by force before every rank had reported: nothing can be compared, and `crash` says how that
    is known.
    """

    status: str
    ranks: Mapping[int, Mapping[str, Value]] | None = None
    trace_counts: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    communicator_groups: int | None = None
    crash: str = ""


class Load(Protocol):
    """Makes the workload and the system of a case, its traces read as a reference reads them."""

    def __call__(self, reference: Reference = DEFAULT_REFERENCE, /) -> tuple[Workload, SystemSpec]:
        """Raises InputError for files that are wrong."""
        ...


@dataclass(frozen=True)
class Case:
    """A case that is not loaded yet: `load` makes the workload and the system.

    `folder` holds the case as files, if it comes from such; `taken` says which were found by their content.
    """

    name: str
    network_model: str
    load: Load
    expected: Expected
    folder: Path | None = None
    taken: str = ""


CRASHED = "crashed"


class Mismatch(NamedTuple):
    """One difference between expected and got; `rank` is None if it concerns the whole case.

    The metric `crashed` means that there is nothing to compare with; `got` says why.
    """

    case: str
    rank: int | None
    metric: str
    expected: object
    got: object

    def describe(self) -> str:
        """One line for people."""
        if self.metric == CRASHED:
            return f"CRASHED {self.case}: the reference crashed: not comparable ({self.got})"
        rank = "" if self.rank is None else f" rank {self.rank}"
        return f"MISMATCH {self.case}:{rank} {self.metric}: expected {self.expected}, got {self.got}"
