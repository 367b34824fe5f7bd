"""What is known of an accelerator: data-sheet figures, and how much of them real kernels reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dse.base.errors import InputError


@dataclass(frozen=True)
class Efficiency:
    """Shares of the data-sheet figures that kernels reach; at most six numbers, see docs/reality.md.

    `matrix` is reached by large matrix products in 16 bit, `matrix_8bit` in 8 bit and below, `attention` by
    fused attention (causal half counted), `memory` by elementwise kernels on large tensors, `links` by
    collectives with large messages. `launch_us` is the least time of a kernel on the device.
    """

    matrix: float
    matrix_8bit: float
    attention: float
    memory: float
    links: float
    launch_us: float


@dataclass(frozen=True)
class Accelerator:
    """An accelerator type.

    `peak_tflops` maps precisions (bf16, fp8, fp4; tf32 and fp32 where known) to dense 10^12 operations per
    second, a multiply-add counted as two; a precision that it lacks is absent. `memory_bytes` is what its
    driver shows (nvidia-smi); of these, driver and communicators take `memory_reserve_bytes`.
    `memory_bandwidth_gbps` is in 10^9 bytes per second. `sources` gives for each figure where it is from;
    `calibration` says what the efficiencies were fitted on, or that they are carried over from another type;
    `uncertainty` has the standard error of fitted ones by name. `fitted_kinds` are the frameworks of the
    steps that they were fitted to, and experts and cp where some step had these; empty: not known.

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

    def __post_init__(self) -> None:
        """Refuse a reserve that leaves no memory."""
        if not 0 <= self.memory_reserve_bytes < self.memory_bytes:
            raise InputError(
                f"accelerator.memory_reserve_bytes is {self.memory_reserve_bytes}; it must be at least 0 and "
                f"below accelerator.memory_bytes, {self.memory_bytes}"
            )

    @property
    def usable_memory_bytes(self) -> int:
        """What a training program can use: the default memory cap of predictions."""
        return self.memory_bytes - self.memory_reserve_bytes

    def __str__(self) -> str:
        """The name, as messages show a type."""
        return self.name

    @classmethod
    def named(cls, name: str, key: str = "accelerator") -> Accelerator:
        """Return a type of conf/accelerator by its name or an alias, or that of a file.

        Raises:
            InputError: as `dse.inputs.accelerators.registry.accelerator`.
        """
        from dse.inputs.accelerators.registry import accelerator

        return accelerator(name, key)
