"""Matrix products in 16, 8 and 4 bit, and the casts that those of 8 and 4 bit take."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from dse.inputs.accelerators.kernel_constants import CastConstants, ProductConstants
from dse.prediction.kernels.machine import US, Array, Sizes, floats

OPERAND_BYTES = MappingProxyType(
    {
        "bf16": 2.0,
        "fp8": 1.0,
        "fp8_block": 1 + 4 / 128,  # a scale of 4 bytes for 128 elements
        "nvfp4": 0.5 + 1 / 16,  # a scale of 1 byte for 16 elements
    }
)
"""Bytes of an element of an operand with its scales; results are bf16."""

PEAK_OF = MappingProxyType({"bf16": "bf16", "fp8": "fp8", "fp8_block": "fp8", "nvfp4": "fp4"})
"""The precision of `Accelerator.peak_tflops` in which a product computes."""

_RESULT_BYTES = 2.0


def product_s(
    m: Sizes,
    n: Sizes,
    k: Sizes,
    *,
    precision: str,
    peak_tflops: float,
    memory_gbps: float,
    constants: ProductConstants,
) -> Array:
    """Return the seconds of y[m, n] = x[m, k] w[n, k], the product alone, in a burst.

    Sizes are broadcast. A small side wastes part of each tile: c elements of a side halve the rate.
    """
    m, n, k = floats(m), floats(n), floats(k)
    waste = 1 + constants.half_size * (1 / m + 1 / n + 1 / k)
    computing = 2 * m * n * k * waste / (peak_tflops * 1e12 * constants.share)
    moved = OPERAND_BYTES[precision] * (m * k + n * k) + _RESULT_BYTES * m * n
    moving = moved / (memory_gbps * 1e9 * constants.memory_share)
    return np.maximum(computing, moving) + constants.launch_us * US


def cast_s(
    rows: Sizes, width: Sizes, *, precision: str, memory_gbps: float, constants: CastConstants
) -> Array:
    """Return the seconds of the cast of bf16 [rows, width], with scales that are known or found in it."""
    elements = floats(rows) * floats(width)
    moved = (2 + OPERAND_BYTES[precision]) * elements
    return moved / (memory_gbps * 1e9 * constants.memory_share) + constants.launch_us * US


def amax_s(rows: Sizes, width: Sizes, *, memory_gbps: float, constants: CastConstants) -> Array:
    """Return the seconds in which the largest value of bf16 [rows, width] becomes the scale of a cast."""
    elements = floats(rows) * floats(width)
    return 2 * elements / (memory_gbps * 1e9 * constants.amax_memory_share) + constants.amax_launch_us * US


def linear_s(
    m: Sizes,
    n: Sizes,
    k: Sizes,
    *,
    precision: str,
    peak_tflops: float,
    memory_gbps: float,
    constants: ProductConstants,
    casts: CastConstants | None,
) -> Array:
    """Return the seconds of a product with the cast of its bf16 input.

    fp8 has one scale a tensor, whose amax is found first. Block scales (fp8_block, nvfp4) are found in the
    cast itself. bf16 takes no cast; `casts` may be None for it only.
    """
    product = product_s(
        m, n, k, precision=precision, peak_tflops=peak_tflops, memory_gbps=memory_gbps, constants=constants
    )
    if precision == "bf16":
        return product
    assert casts is not None
    cast = cast_s(m, k, precision=precision, memory_gbps=memory_gbps, constants=casts)
    if precision != "fp8":
        return product + cast
    return product + cast + amax_s(m, k, memory_gbps=memory_gbps, constants=casts)
