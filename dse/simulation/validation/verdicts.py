"""The references that a case equals: of all, or of those that are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from dse.base.errors import InputError
from dse.simulation.simulators import NativeSimulator
from dse.simulation.validation.cli_cases import check_standalone
from dse.simulation.validation.compare import CRASHED, Case, Mismatch, check
from dse.simulation.workloads import Reference

REFERENCES: tuple[Reference, ...] = get_args(Reference)
"""In the order in which they are tried."""


@dataclass(frozen=True)
class Verdict:
    """A case and its differences from each reference that it was compared with.

    `refusals` say why references cannot read or run the case, which they then differ from.
    """

    case: Case
    differences: Mapping[Reference, Sequence[Mismatch]]
    refusals: Sequence[InputError] = ()

    @property
    def equals(self) -> list[Reference]:
        """The references without a difference."""
        return [reference for reference, found in self.differences.items() if not found]

    @property
    def mismatches(self) -> Sequence[Mismatch]:
        """None if the case equals a reference, else those of the first."""
        return [] if self.equals else next(iter(self.differences.values()))

    def require_read(self) -> None:
        """Refuse a case that no reference can read or run.

        Raises:
            InputError: names the case.
        """
        if len(self.refusals) == len(self.differences):
            raise self.refusals[0]


def verdict(case: Case, references: Sequence[Reference], binary_folder: Path | None = None) -> Verdict:
    """Compare a case with references, in process or with the stand-alone simulators in a folder."""
    differences: dict[Reference, Sequence[Mismatch]] = {}
    refusals: list[InputError] = []
    for reference in references:
        simulator = NativeSimulator(reference=reference)
        try:
            if binary_folder is None:
                differences[reference] = check(case, simulator)
            else:
                differences[reference] = check_standalone(case, binary_folder, simulator)
        except InputError as error:
            refusals.append(error)
            differences[reference] = [Mismatch(case.name, None, "status", case.expected.status, str(error))]
        if case.expected.status == CRASHED:
            break
    return Verdict(case, differences, refusals)
