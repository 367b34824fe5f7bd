"""Errors of the laws of kernels on measured tables, by law, accelerator type and precision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dse.base.errors import InputError, excerpt
from dse.base.texts import printable
from dse.base.texts import table as aligned_table
from dse.prediction.kernels.laws import Case, cases, parts, predicted_s
from dse.prediction.kernels.machine import Array, KernelMachine, machine_of_system
from dse.prediction.kernels.tables import KernelTable


@dataclass(frozen=True)
class KernelError:
    """Mean |%| and mean % of predicted over measured times, of some rows of a law."""

    law: str
    accelerator: str
    precision: str
    part: str
    rows: int
    mean_error_pct: float
    bias_pct: float


def kernel_errors(
    tables: Sequence[KernelTable], own: KernelMachine | None = None
) -> tuple[list[KernelError], list[str]]:
    """Return how far the laws are off, and notes on the rows that no law or no constant covers.

    Constants are those of conf/kernels; `own` are others, for the rows of its type and those without a
    `system`.

    Raises:
        InputError: no row has a law and constants.
    """
    groups: dict[tuple[str, str, str], list[Case]] = defaultdict(list)
    machines: dict[str, KernelMachine] = {}
    notes = []
    for table in tables:
        left = 0
        for system in sorted(set(table["system"].tolist())):
            machine = machine_of_system(system, own)
            if machine is None:
                shown = f"of the system '{excerpt(system)}'" if system else "without a system"
                notes.append(f"{table.path}: no constants for its rows {shown}")
                continue
            machines[machine.name] = machine
            rows = table.where(table["system"] == system)
            predicted = [case for case in cases(rows) if predicted_s(case, machine) is not None]
            for case in predicted:
                groups[case.law, machine.name, case.precision].append(case)
            covered = sum(len(case.table) for case in predicted if case.law != "combine")
            left += len(rows) - covered
        if left:
            notes.append(f"{table.path}: {left} of {len(table)} rows are of shapes or programs without a law")
    if not groups:
        raise InputError("; ".join(notes) + "; no row has a law and constants, see docs/kernels.md")
    errors = (_errors(key, found, machines[key[1]]) for key, found in sorted(groups.items()))
    return [error for group in errors for error in group], notes


def _errors(key: tuple[str, str, str], found: Sequence[Case], machine: KernelMachine) -> list[KernelError]:
    ratios: dict[str, list[Array]] = defaultdict(list)
    for case in found:
        predicted = predicted_s(case, machine)
        assert predicted is not None
        ratio = predicted / case.measured_s - 1
        for name, mask in parts(case).items():
            ratios[name].append(ratio[mask])
    joined = {name: np.concatenate(group) * 100 for name, group in ratios.items()}
    return [
        KernelError(*key, name, len(each), float(np.abs(each).mean()), float(each.mean()))
        for name, each in joined.items()
        if len(each)
    ]


def errors_text(errors: Iterable[KernelError]) -> str:
    """Return the errors as a table of text."""
    header = ("law", "accelerator", "precision", "rows of", "rows", "mean |%|", "bias")
    rows = [
        (
            each.law,
            printable(each.accelerator),
            _shown(each.precision),
            each.part,
            str(each.rows),
            f"{each.mean_error_pct:.1f}",
            f"{each.bias_pct:+.1f}",
        )
        for each in errors
    ]
    return "\n".join(aligned_table(header, rows))


def _shown(precision: str) -> str:
    """A precision, or the number of nodes that an exchange of tokens crosses."""
    if not precision.isdecimal():
        return precision or "-"
    return f"{precision} node" if precision == "1" else f"{precision} nodes"


def errors_plain(errors: Iterable[KernelError]) -> list[dict[str, Any]]:
    """Return the errors as plain data, for JSON."""
    return [asdict(each) for each in errors]
