"""Constants of one accelerator type fitted to tables of its kernels, or to the output of nccl-tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dse.base.errors import InputError
from dse.base.files import conf_file, read_text
from dse.base.tables import table as aligned_table
from dse.base.texts import excerpt, printable
from dse.inputs.accelerators.kernel_constants import PARTS, KernelConstants
from dse.inputs.accelerators.registry import found_file
from dse.inputs.machines.facts import PRODUCT_TYPES
from dse.inputs.machines.nccl_tests import read_collective_times
from dse.prediction.kernels.constants_file import constants_text
from dse.prediction.kernels.fits import LEAST_ROWS, PART_OF, KernelFit, fitted
from dse.prediction.kernels.laws import cases
from dse.prediction.kernels.machine import KernelMachine, type_of_system
from dse.prediction.kernels.nccl_tests import table_of_times
from dse.prediction.kernels.step_shares import accelerator_text, own_efficiency
from dse.prediction.kernels.tables import KernelTable, joined, read_table


@dataclass(frozen=True)
class KernelCalibration:
    """A type, its constants with those that tables tell, the fits, and the files of the tables."""

    machine: KernelMachine
    constants: KernelConstants
    fits: tuple[KernelFit, ...]
    paths: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    def file_text(self, source: Path | None) -> str:
        """Return the file `source`, by default that of conf/kernels, with these constants."""
        text = read_text(conf_file("kernels", self.constants.name) if source is None else source)
        names = ", ".join(path.name for path in self.paths)
        parts = {PART_OF[each.law] for each in self.fits}
        return constants_text(text, self.constants, parts, f"fitted to {names} with dse calibrate")

    def accelerator_text(self) -> str:
        """Return the file of the accelerator type with the shares of steps that these kernels tell.

        Raises:
            InputError: the fitted laws tell none of them.
        """
        present = self.machine.accelerator
        efficiency, changed = own_efficiency(present.efficiency, self.machine.constants, self.constants)
        if not changed:
            laws = ", ".join(dict.fromkeys(each.law for each in self.fits))
            raise InputError(
                f"steps=…: {laws} change no share of training steps; measure products, attention in bf16, or "
                "collectives"
            )
        names = ", ".join(path.name for path in self.paths)
        text = read_text(found_file(present.name, "accelerator")[1])
        return accelerator_text(text, present, efficiency, changed, names)

    def plain(self) -> dict[str, Any]:
        """Return the constants and the fits as plain data, for JSON."""
        return {"accelerator": self.constants.name, "fits": [asdict(each) for each in self.fits]} | {
            part: asdict(self.constants)[part] for part in PARTS
        }

    def text(self) -> str:
        """Return the fits as a table of text."""
        header = ("law", "precision", "rows", "mean |%|")
        rows = [
            (each.law, each.precision or "-", str(each.rows), f"{each.mean_error_pct:.1f}")
            for each in self.fits
        ]
        names = printable(", ".join(path.name for path in self.paths))
        return "\n".join([f"{self.constants.name}: kernels of {names}", *aligned_table(header, rows)])


def calibrate_kernels(
    machine: KernelMachine, kernels: Sequence[Path], nccl: Sequence[Path]
) -> KernelCalibration:
    """Fit the laws that tables of kernels and outputs of nccl-tests tell; others keep their constants.

    Rows of a table with a `system` of another type are passed over; rows without are of this type.

    Raises:
        InputError: a file cannot be read, or too few rows are of this type for any law.
    """
    tables = [_of_type(read_table(path), machine.name) for path in kernels]
    outputs = [read_collective_times(path) for path in nccl]
    collectives = [table_of_times(times) for times in outputs]
    merged = joined([table for table in (*tables, *collectives) if len(table)])
    found = [case for table in merged for case in cases(table)]
    constants, fits = fitted(machine, found)
    paths = (*kernels, *nccl)
    if not fits:
        said = {
            str(text) for table in merged for key in ("dtype", "op") for text in table.columns.get(key, ())
        }
        texts = f" (dtype and op there: {excerpt(', '.join(sorted(said)), 100)})" if said else ""
        raise InputError(
            f"{', '.join(map(str, paths))}: no law has {LEAST_ROWS} rows of {machine.name} or more{texts}; "
            "measure more shapes, or name the accelerator type of these rows"
        )
    notes = [
        f"{times.path}: {len(hosts)} hosts; the law of collectives is that of one NVLink domain"
        for times in outputs
        if len(hosts := set(times.hosts)) > 1
    ]
    notes += [
        f"{times.path}: its GPUs are of type {times.accelerator}; the constants are written as those of "
        f"{machine.name}"
        for times in outputs
        if times.accelerator and machine.name in PRODUCT_TYPES and times.accelerator != machine.name
    ]
    notes += [
        f"{each.law} {each.precision}".strip() + f": the rows hardly tell {', '.join(each.at_bound)}"
        for each in fits
        if each.at_bound
    ]
    return KernelCalibration(machine, constants, tuple(fits), paths, tuple(notes))


def _of_type(table: KernelTable, name: str) -> KernelTable:
    systems = sorted(set(table["system"].tolist()))
    mine = [system for system in systems if not system or type_of_system(system) == name]
    return table.where(np.isin(table["system"], mine))
