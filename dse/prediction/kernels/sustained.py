"""Burst and sustained rates: a kernel measured alone runs at a clock that a training step does not hold."""

from __future__ import annotations

from dse.prediction.kernels.arrays import Array

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
