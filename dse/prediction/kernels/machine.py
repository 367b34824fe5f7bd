"""An accelerator as the laws of kernels see it: figures of its data sheet and constants of its kernels.

Burst and sustained rates: a kernel measured alone runs at a clock that a training step does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse.base.errors import InputError
from dse.inputs.accelerators.accelerator import Accelerator, accelerator
from dse.inputs.accelerators.kernel_constants import KernelConstants, kernel_constants, kernel_names
from dse.inputs.accelerators.registry import found_file


@dataclass(frozen=True)
class KernelMachine:
    """The peaks of an accelerator type and the constants of its kernels."""

    accelerator: Accelerator
    constants: KernelConstants

    @property
    def name(self) -> str:
        """The name of the accelerator type."""
        return self.accelerator.name

    def with_constants(self, constants: KernelConstants) -> KernelMachine:
        """Return the same machine with other constants."""
        return replace(self, constants=constants)

    @classmethod
    def named(cls, name: str, key: str = "accelerator") -> KernelMachine:
        """Return a type of conf/accelerator with its constants of conf/kernels, or those of such a file.

        Raises:
            InputError: no such type or file, or none of its kernels were measured.
        """
        if name.endswith((".yaml", ".yml")):
            constants = kernel_constants(name, key)
            return cls(accelerator(constants.name, f"{name}: kernels.name"), constants)
        found = accelerator(name, key)
        return cls(found, kernel_constants(found.name, key))


def machine_of_system(system: str, own: KernelMachine | None) -> KernelMachine | None:
    """Return the machine of a `system` of a table, such as h100_sxm, gb200 or an alias; None if unknown.

    `own` is that of its type, and of rows without a system.
    """
    name = type_of_system(system)
    if own is not None and (not system or name == own.name):
        return own
    return KernelMachine.named(name) if name in kernel_names() else None


def type_of_system(system: str) -> str | None:
    """Return the name of the accelerator type that a `system` of a table means; None if unknown."""
    for name in (system, system.removesuffix("_sxm"), system.removesuffix("_server")):
        if name.endswith((".yaml", ".yml")) or "/" in name:  # a table opens no files
            return None
        try:
            return found_file(name, "system")[0].name
        except InputError:
            continue
    return None


Array: TypeAlias = NDArray[np.float64]
Sizes: TypeAlias = ArrayLike

US = 1e-6
"""Seconds of a microsecond."""


def floats(values: Sizes) -> Array:
    """Return sizes as floats, which cannot overflow as whole numbers do."""
    return np.asarray(values, dtype=np.float64)


SUSTAINED_16_BIT = 1.15
"""By how much products of 0.1 to 2 ms in 16 bit slow down at the power limit, where a type has no figure.

Median of H200, B200 and GB200 in NVIDIA AIConfigurator (commit 095f58a51): tables taken with power sampling
run each shape for a second or more, at 98 % of the limit. The same library without it runs bursts.
"""

SUSTAINED_8_BIT = 1.07
"""The same of products in 8 and 4 bit and of fused attention."""

THROTTLED_S = 2e-3
"""A kernel of this length, timed in a few replays, shows half of the slowdown.

Of 1, 2, 5, 10 and 20 ms this one gives slowdowns of products next to those of power sampling.
"""


def timed_alone_s(burst_s: Array, sustained: float | None) -> Array:
    """Return the seconds that a few replays of a kernel show: long ones reach the power limit meanwhile."""
    slowdown = (sustained or 1.0) - 1
    return burst_s * (1 + slowdown * burst_s / (burst_s + THROTTLED_S))


def sustained_share(burst_share: float, kernel: str, precision: str, sustained: float | None = None) -> float:
    """Return the share of peak that a kernel reaches in a training step, from that in a burst.

    `kernel` is product, attention or memory. Kernels that wait for memory do not slow down. `sustained` is
    the slowdown of the type, if it was measured.
    """
    if kernel == "memory":
        return burst_share
    is_16_bit = kernel == "product" and precision == "bf16"
    return burst_share / (sustained or (SUSTAINED_16_BIT if is_16_bit else SUSTAINED_8_BIT))
