"""Constants of the laws of kernels, fitted to measured tables: one small search a law and precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dse.inputs.accelerators.kernel_constants import (
    AttentionConstants,
    CastConstants,
    CollectiveConstants,
    ExchangeConstants,
    ExpertConstants,
    KernelConstants,
    ProductConstants,
)
from dse.prediction.calibration.fitting import Constant, Problem, fit
from dse.prediction.kernels.laws import DOMAIN, Case, predicted_s
from dse.prediction.kernels.machine import THROTTLED_S, Array, KernelMachine

LEAST_ROWS = 8
"""Fewer rows hardly tell two to four constants."""

_ORDER = ("quantize", "gemm", "attention", "nccl", "moe", "dispatch", "combine")  # casts before products
_SLOWDOWN = (1.0, 1.5, 1.1)
_BOUNDS: Mapping[str, Mapping[str, tuple[float, float, float]]] = {
    # low, high, and the start for a type without constants: the mean of NVIDIA GPUs of three generations
    "gemm": {
        "share": (0.1, 1.0, 0.75),
        "memory_share": (0.1, 1.0, 0.65),
        "launch_us": (0.5, 40.0, 3.0),
        "sustained": _SLOWDOWN,
    },
    "cast": {"memory_share": (0.1, 3.0, 0.8), "launch_us": (0.5, 40.0, 1.6)},
    "amax_scale": {"amax_memory_share": (0.1, 3.0, 0.45), "amax_launch_us": (0.5, 40.0, 8.0)},
    "attention": {
        "share": (0.1, 1.0, 0.65),
        "half_sequence": (50.0, 3000.0, 600.0),
        "head_exponent": (0.05, 2.0, 0.5),
        "wide_exponent": (0.01, 1.0, 0.1),
        "tile_share": (0.01, 1.0, 0.5),
        "memory_share": (0.1, 1.0, 0.85),
        "launch_us": (1.0, 40.0, 8.0),
        "sustained": _SLOWDOWN,
    },
    "nccl": {
        "launch_us": (0.5, 100.0, 8.0),
        "step_us": (0.1, 20.0, 1.0),
        "share": (0.1, 1.0, 0.9),
        "own_share": (0.05, 3.0, 0.65),
    },
    "moe": {
        "half_rows": (10.0, 1000.0, 140.0),
        "accesses": (2.0, 30.0, 8.0),
        "memory_share": (0.3, 1.0, 0.9),
        "launch_us": (2.0, 200.0, 38.0),
    },
    "1": {"launch_us": (2.0, 300.0, 35.0), "share": (0.05, 1.0, 0.7), "own_share": (0.1, 5.0, 1.0)},
    "nodes": {"launch_us": (2.0, 500.0, 80.0), "share": (0.05, 1.0, 0.8)},
}
_STARTS = {
    "gemm": ProductConstants(0.75, 0.65, 3.0),
    "attention": AttentionConstants(0.65, 600.0, 0.5, 0.5, 0.85, 8.0),
    "moe": ExpertConstants(140.0, 8.0, 0.9, 38.0),
    "exchange": ExchangeConstants(35.0, 0.7),
}
PART_OF = {
    "quantize": "casts",
    "gemm": "products",
    "attention": "attention",
    "nccl": "collectives",
    "moe": "experts",
    "dispatch": "dispatch",
    "combine": "combine",
}
"""The part of `KernelConstants` that each law has its constants in."""


@dataclass(frozen=True)
class KernelFit:
    """The fit of one law: its rows, their mean |%|, and the constants that lie at a bound of the search."""

    law: str
    precision: str
    rows: int
    mean_error_pct: float
    at_bound: tuple[str, ...] = ()


def fitted(machine: KernelMachine, found: Sequence[Case]) -> tuple[KernelConstants, list[KernelFit]]:
    """Return the constants of a machine with those of each law fitted to the rows of its cases.

    Laws that no case has keep their constants. Cases with fewer than `LEAST_ROWS` rows are passed over.
    """
    fits = []
    for case in sorted(found, key=lambda each: _ORDER.index(each.law)):
        if len(case.table) < LEAST_ROWS:
            continue
        constants = _fit_case(machine, case)
        if constants is None:
            continue
        machine = machine.with_constants(constants)
        predicted = predicted_s(case, machine)
        assert predicted is not None
        error = float(np.mean(np.abs(predicted / case.measured_s - 1))) * 100
        fits.append(KernelFit(case.law, case.precision, len(case.table), error, _at_bound(constants, case)))
    return machine.constants, fits


def _fit_case(machine: KernelMachine, case: Case) -> KernelConstants | None:
    bounds = _bounds(case)
    rows = tuple(range(len(case.table)))
    general = {name: start for name, (_, _, start) in bounds.items()}
    if predicted_s(case, machine.with_constants(_with(machine.constants, case, general))) is None:
        return None  # the type lacks the precision
    present = _present(machine.constants, case)
    constants = [
        Constant(name, low, high, min(max(present.get(name, start), low), high), rows)
        for name, (low, high, start) in bounds.items()
    ]
    measured = case.measured_s

    def log_ratios(values: Sequence[float], chosen: Sequence[int]) -> Array:
        tried = _with(machine.constants, case, dict(zip(bounds, values, strict=True)))
        part = replace(case, table=case.table.where(_mask(chosen, len(measured))))
        predicted = predicted_s(part, machine.with_constants(tried))
        assert predicted is not None
        return np.log(predicted / part.measured_s)

    found = fit(Problem(constants, np.ones(len(measured)), log_ratios))
    return _with(machine.constants, case, dict(zip(bounds, found.values, strict=True)))


def _mask(chosen: Sequence[int], rows: int) -> Any:
    mask = np.zeros(rows, dtype=np.bool_)
    mask[list(chosen)] = True
    return mask


def _bounds(case: Case) -> Mapping[str, tuple[float, float, float]]:
    if case.law in ("dispatch", "combine"):
        return _BOUNDS["1" if case.precision in ("1", DOMAIN) else "nodes"]
    bounds = _BOUNDS[case.precision if case.law == "quantize" else case.law]
    is_long = (case.measured_s > THROTTLED_S).sum() >= LEAST_ROWS
    told = {"sustained": is_long and case.precision == "bf16"}  # in 8 and 4 bit few kernels are so long
    if case.law == "attention":
        widths = case.table["head_dim"]
        told |= {"head_exponent": (widths < 128).any(), "wide_exponent": (widths > 128).any()}
    return {name: bound for name, bound in bounds.items() if told.get(name, True)}


def _at_bound(constants: KernelConstants, case: Case) -> tuple[str, ...]:
    present = _present(constants, case)
    bounds = {name: present[name] / np.array([low, high]) for name, (low, high, _) in _bounds(case).items()}
    near = [name for name, ratios in bounds.items() if (np.abs(ratios - 1) < 1e-3).any()]
    return tuple(name for name in near if name != "sustained")  # 1 is that of a type with power to spare


def _present(constants: KernelConstants, case: Case) -> Mapping[str, float]:
    """The constants that the law of a case has now, to which a fit to few rows is pulled."""
    part = getattr(constants, PART_OF[case.law])
    record = part.get(case.precision) if isinstance(part, dict) else part
    values = {} if record is None else asdict(record)
    return {name: value for name, value in values.items() if value is not None}


def _with(constants: KernelConstants, case: Case, values: Mapping[str, float]) -> KernelConstants:
    """Return the constants with those of the law of a case changed."""
    if case.law == "quantize":
        casts = constants.casts or CastConstants(1.6, 0.8, 8.0, 0.45)
        return replace(constants, casts=replace(casts, **values))
    if case.law == "nccl":
        return replace(constants, collectives=CollectiveConstants(**values))
    start = _STARTS.get(case.law, _STARTS["exchange"])
    name = PART_OF[case.law]
    known = getattr(constants, name)
    changed: Any = replace(known.get(case.precision, start), **values)
    fields: dict[str, Any] = {name: {**known, case.precision: changed}}
    return replace(constants, **fields)
