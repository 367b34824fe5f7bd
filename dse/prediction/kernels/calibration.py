"""Constants of one accelerator type fitted to tables of its kernels, or to the output of nccl-tests.

Shares of training steps from constants of kernels, and an accelerator file for a user's cluster.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.base.errors import InputError, excerpt
from dse.base.files import conf_file, read_text
from dse.base.texts import printable
from dse.base.texts import table as aligned_table
from dse.inputs.accelerators.accelerator import CALIBRATED_BY_USER, Accelerator
from dse.inputs.accelerators.efficiency import Efficiency
from dse.inputs.accelerators.kernel_constants import PARTS, KernelConstants
from dse.inputs.accelerators.registry import found_file
from dse.inputs.machines.facts import PRODUCT_TYPES
from dse.inputs.machines.nccl_tests import CollectiveTimes, read_collective_times
from dse.prediction.calibration.constant_files import flow, quoted, with_keys
from dse.prediction.kernels.fits import LEAST_ROWS, PART_OF, KernelFit, fitted
from dse.prediction.kernels.laws import cases
from dse.prediction.kernels.machine import KernelMachine, sustained_share, type_of_system
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


def table_of_times(times: CollectiveTimes) -> KernelTable:
    """Return the rows of one output, of collectives in the domain of a GPU: their `system` is empty."""
    count = len(times.rows)
    return KernelTable(
        "nccl",
        times.path,
        {
            "op": np.array([times.operation] * count),
            "system": np.array([""] * count),
            "lib": np.array(["nccl"] * count),
            "gpus": np.full(count, float(times.ranks)),
            "bytes": np.array([size for size, _ in times.rows]),
            "us": np.array([time for _, time in times.rows]),
        },
    )


def constants_text(text: str, constants: KernelConstants, fitted: Iterable[str], source: str) -> str:
    """Return the text of a file with the parts of constants that it has or that were `fitted`.

    `source` says how the fitted parts are known; sources of others stay.
    """
    fitted = [part for part in PARTS if part in set(fitted)]
    own = [part for part in PARTS if getattr(constants, part) and (part in fitted or not constants.lent_by)]
    lines = {part: _block(asdict(constants)[part]) for part in own}
    sources = {**constants.sources, **dict.fromkeys(fitted, source)}
    lines["sources"] = "".join(f"\n  {name}: {quoted(words)}" for name, words in sources.items())
    written = with_keys(text, lines)
    return re.sub(r"^(\w+): +$", r"\1:", written, flags=re.MULTILINE)


def _block(values: Mapping[str, Any]) -> str:
    if any(isinstance(value, dict) for value in values.values()):
        return "".join(f"\n  {_key(name)}: {flow(value, 4)}" for name, value in values.items())
    return flow(values, 4)


def _key(name: str) -> str:
    return f'"{name}"' if name.isdecimal() else name


BACKWARD_ATTENTION = 1.25
"""By how much the backward pass of attention is slower an operation: Shah et al. 2024, arXiv:2407.08608."""


def step_shares(constants: KernelConstants) -> dict[str, float]:
    """Return the shares of `Efficiency` that constants of kernels tell, at the clock of training steps.

    `memory` is not among them: casts come from the cache too often to tell it.
    """
    products = {"bf16": "matrix", "fp8": "matrix_8bit", "nvfp4": "matrix_4bit"}
    shares = {
        name: sustained_share(found.share, "product", precision, found.sustained)
        for precision, name in products.items()
        if (found := constants.products.get(precision))
    }
    if attention := constants.attention.get("bf16"):
        burst, slowdown = attention.share, attention.sustained
        shares["attention"] = sustained_share(burst, "attention", "bf16", slowdown) / BACKWARD_ATTENTION
    if constants.collectives:
        shares["links"] = constants.collectives.share
    return shares


def own_efficiency(
    present: Efficiency, before: KernelConstants, after: KernelConstants
) -> tuple[Efficiency, list[str]]:
    """Return the shares of a user's accelerator, and the names of those that changed.

    A share of steps changes by the ratio of the kernels measured now to those behind the shipped constants:
    it was fitted to steps, which hold more than kernels. Without shipped ones it is that of the kernels.
    """
    old, new = step_shares(before), step_shares(after)
    changed = {name: share for name, share in new.items() if share != old.get(name)}
    values: Mapping[str, float | None] = asdict(present)
    scaled = {
        name: share if values[name] is None or name not in old else (values[name] or 0.0) * share / old[name]
        for name, share in changed.items()
    }
    return replace(present, **{name: min(share, 1.0) for name, share in scaled.items()}), list(changed)


def accelerator_text(
    text: str, present: Accelerator, efficiency: Efficiency, changed: Collection[str], files: str
) -> str:
    """Return the text of the file of an accelerator with its shares, and how they are known.

    `files` names the tables that told the `changed` ones; the others are as `present` says.
    """
    others = f"; others {present.calibration}" if present.calibration else ""
    calibration = f"{CALIBRATED_BY_USER}: {', '.join(changed)} by {files}{others}"
    lines = {"efficiency": flow(asdict(efficiency), 4), "calibration": quoted(calibration)}
    uncertainty = {name: value for name, value in present.uncertainty.items() if name not in changed}
    if uncertainty:
        lines["uncertainty"] = flow(uncertainty, 4)
    return with_keys(text, lines, without=["efficiency_of", "uncertainty"])
