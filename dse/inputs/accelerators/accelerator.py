"""Accelerators: data-sheet figures, and how much of them real kernels reach."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dse.base.errors import InputError, excerpt
from dse.inputs.accelerators.efficiency import Efficiency
from dse.inputs.accelerators.registry import (
    FRAMEWORK,
    HOST_BANDWIDTH_GBPS,
    AcceleratorFile,
    found_file,
    shipped_name,
)

CALIBRATED_BY_USER = "calibrated on your cluster"
"""The first words of the calibration of a type whose shares a user measured; every answer repeats them."""


@dataclass(frozen=True)
class Accelerator:
    """An accelerator type.

    `peak_tflops` maps precisions (bf16, fp8, fp4; tf32 and fp32 where known) to dense 10^12 operations per
    second, a multiply-add counted as two; a precision that it lacks is absent. `memory_bytes` is what its
    driver shows (nvidia-smi); of these, driver and communicators take `memory_reserve_bytes`.
    `memory_bandwidth_gbps` is in 10^9 bytes per second, and so is `host_bandwidth_gbps`, that of the link to
    the host in one direction. `sources` gives for each figure where it is from;
    `calibration` says what the efficiencies were fitted on, or that they are carried over from another type;
    `uncertainty` has the standard error of fitted ones by name. `fitted_kinds` are the frameworks of the
    steps that they were fitted to, and experts and cp where some step had these; empty: not known. `kernels`
    are the shares of kernels that were measured alone, None where none were. `board_power_w` is the limit of
    the board by its data sheet, None where it is unknown. `framework` runs sweeps that name none.

    Raises:
        InputError: the reserve leaves no memory.
    """

    name: str
    peak_tflops: Mapping[str, float] = field(hash=False)  # a mapping has none; equality counts
    memory_bytes: int
    memory_bandwidth_gbps: float
    efficiency: Efficiency
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)
    calibration: str = ""
    uncertainty: Mapping[str, float] = field(default_factory=dict, hash=False)
    memory_reserve_bytes: int = 0
    fitted_kinds: tuple[str, ...] = ()
    kernels: Efficiency | None = None
    host_bandwidth_gbps: float = HOST_BANDWIDTH_GBPS
    board_power_w: float | None = field(default=None, compare=False)
    framework: str = field(default=FRAMEWORK, compare=False)

    def __post_init__(self) -> None:
        """Refuse a reserve that leaves no memory."""
        if not 0 <= self.memory_reserve_bytes < self.memory_bytes:
            raise InputError(
                f"accelerator.memory_reserve_bytes is {self.memory_reserve_bytes}; it must be at least 0 and "
                f"below accelerator.memory_bytes, {self.memory_bytes}"
            )

    @property
    def usable_memory_bytes(self) -> int:
        """The memory that a training program can use: the default memory cap of predictions."""
        return self.memory_bytes - self.memory_reserve_bytes

    @property
    def format_16bit(self) -> str:
        """The precision of 16 bit that it has: bf16, or fp16 where there is no bf16."""
        return "bf16" if "bf16" in self.peak_tflops else "fp16"

    def __str__(self) -> str:
        """The name, as messages show a type."""
        return self.name

    @classmethod
    def named(cls, name: str, key: str = "accelerator") -> Accelerator:
        """Return a type of conf/accelerator by its name or an alias, or that of a file.

        Raises:
            InputError: as `accelerator`.
        """
        return accelerator(name, key)


def accelerator(name: str, key: str = "accelerator") -> Accelerator:
    """Return an accelerator type; `key` is how messages call the choice.

    `name` is that of a file of conf/accelerator or an alias in one (in any case), or the path of a YAML file.
    A type without efficiencies of its own has those of the type that `efficiency_of` names, but for the few
    that its file has, and says so.

    Raises:
        InputError: no such type (names all, and the nearest), or a file with an unknown, missing or
            impossible key (names file and key).
    """
    shipped = shipped_name(name)
    return _resolved(*found_file(name, key)) if shipped is None else _shipped(shipped)


@functools.cache
def _shipped(name: str) -> Accelerator:
    return _resolved(*found_file(name, "accelerator"))


def _resolved(file: AcceleratorFile, path: Path, borrowers: tuple[str, ...] = ()) -> Accelerator:
    own, calibration, uncertainty = (
        dict(file.efficiency or {}),
        file.calibration,
        dict(file.uncertainty or {}),
    )
    kinds = file.fitted_kinds
    if file.efficiency_of is not None:
        found = found_file(file.efficiency_of, f"{path}: accelerator.efficiency_of")
        is_circle = found[0].name in (*borrowers, file.name)
        if is_circle or (found[0].efficiency is None and found[0].kernels is None):
            raise InputError(
                f"{path}: accelerator.efficiency_of is {excerpt(file.efficiency_of)}, which has none of "
                "its own either"
            )
        other = _resolved(*found, (*borrowers, file.name))
        efficiency = replace(other.efficiency, **own)
        borrowed = {name: value for name, value in other.uncertainty.items() if name not in own}
        uncertainty = {**borrowed, **uncertainty}
        if not calibration:
            kinds, calibration = other.fitted_kinds, _carried_over(file, other, own)
    elif own:
        efficiency = Efficiency(**own)
    else:
        assert file.kernels is not None
        efficiency, calibration = file.kernels, "shares of kernels that were measured alone: no measured step"
    return Accelerator(
        name=file.name,
        peak_tflops={name: float(value) for name, value in file.peak_tflops.items()},
        memory_bytes=file.memory_bytes,
        memory_reserve_bytes=file.memory_reserve_bytes,
        memory_bandwidth_gbps=file.memory_bandwidth_gbps,
        efficiency=efficiency,
        sources=file.sources,
        calibration=calibration,
        uncertainty={name: float(value) for name, value in uncertainty.items()},
        fitted_kinds=kinds,
        kernels=file.kernels,
        host_bandwidth_gbps=file.host_bandwidth_gbps,
        board_power_w=file.board_power_w,
        framework=file.framework,
    )


def _carried_over(file: AcceleratorFile, other: Accelerator, own: Mapping[str, float]) -> str:
    """Whose shares a type has, and which of them are its own."""
    is_in_fit = file.name in other.calibration.replace(",", " ").split()
    known = "fitted to steps of this type too" if is_in_fit else "no measurements of this type"
    except_own = f" but for {', '.join(own)}" if own else ""
    return f"carried over from {other.name}{except_own}: {known}"
