"""Systems of NPUs of several types: which NPU has which, and what follows for the system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dse.inputs.systems.fields import NpuType, SystemFields

FOLLOWING = ("peak_tflops", "memory_bandwidth_gbps")
"""Fields of a system that follow from its types."""


def figures_of(types: Sequence[NpuType]) -> tuple[float, float]:
    """Return the mean peak performance in TFLOPS and the least memory bandwidth in GB/s of NPUs of types."""
    count = sum(each.npus for each in types)
    peak = sum(each.peak_tflops * each.npus for each in types) / count
    return peak, min(each.memory_bandwidth_gbps for each in types)


def npu_speeds(system: SystemFields) -> Iterator[tuple[float, float]]:
    """Yield operations and bytes per second of NPUs, each speed at least once."""
    # The last derating of an NPU counts.
    slow = {each.npu: (each.compute_factor, each.memory_factor) for each in system.deratings}
    first = 0
    groups = [(each.npus, each.peak_tflops, each.memory_bandwidth_gbps) for each in system.npu_types]
    for npus, peak, bandwidth in groups or [(system.npus, system.peak_tflops, system.memory_bandwidth_gbps)]:
        factors = [slow[npu] for npu in slow if first <= npu < first + npus]
        if len(factors) < npus:
            yield peak * 1e12, bandwidth * 1e9
        for compute, memory in factors:
            yield peak * 1e12 * compute, bandwidth * 1e9 * memory
        first += npus
