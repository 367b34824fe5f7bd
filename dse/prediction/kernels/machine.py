"""An accelerator as the laws of kernels see it: figures of its data sheet and constants of its kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
