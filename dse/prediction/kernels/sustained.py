"""Burst and sustained rates: a kernel measured alone runs at a clock that a training step does not hold."""

from __future__ import annotations

SUSTAINED_16_BIT = 1.15
"""By how much products of 0.1 to 2 ms in 16 bit slow down at the power limit.

Median of H200, B200 and GB200 in NVIDIA AIConfigurator (commit 095f58a51): tables taken with power sampling
run each shape for a second or more, at 98 % of the limit. The same library without it runs bursts.
"""

SUSTAINED_8_BIT = 1.07
"""The same of products in 8 and 4 bit and of fused attention."""


def sustained_share(burst_share: float, kernel: str, precision: str) -> float:
    """Return the share of peak that a kernel reaches in a training step, from that in a burst.

    `kernel` is product, attention or memory. Kernels that wait for memory do not slow down.
    """
    if kernel == "memory":
        return burst_share
    is_16_bit = kernel == "product" and precision == "bf16"
    return burst_share / (SUSTAINED_16_BIT if is_16_bit else SUSTAINED_8_BIT)
