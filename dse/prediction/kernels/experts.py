"""Experts of a rank as grouped kernels run them: one launch a product, whatever the number of experts."""

from __future__ import annotations

import numpy as np

from dse.inputs.accelerators.kernel_constants import ExpertConstants
from dse.prediction.kernels.machine import US, Array, Sizes, floats
from dse.prediction.kernels.products import OPERAND_BYTES

_RESULT_BYTES = 2.0


def grouped_product_s(
    rows: Sizes,
    experts: Sizes,
    n: Sizes,
    k: Sizes,
    *,
    precision: str,
    peak_tflops: float,
    memory_gbps: float,
    share: float,
    constants: ExpertConstants,
) -> Array:
    """Return the seconds of one product of all local experts: `rows` in total, spread evenly, without launch.

    `share` is that of products in the same precision. Each expert's weights are read once.
    """
    r, e, n, k = floats(rows), floats(experts), floats(n), floats(k)
    used = np.minimum(e, r)  # an expert without rows is not read
    waste = 1 + constants.half_rows * used / r
    computing = 2 * r * n * k * waste / (peak_tflops * 1e12 * share)
    moved = OPERAND_BYTES[precision] * (r * k + used * n * k) + _RESULT_BYTES * r * n
    return np.maximum(computing, moved / (memory_gbps * 1e9 * constants.memory_share))


def experts_s(
    rows: Sizes,
    experts: Sizes,
    hidden: Sizes,
    inner: Sizes,
    *,
    gated: Sizes,
    precision: str,
    peak_tflops: float,
    memory_gbps: float,
    share: float,
    constants: ExpertConstants,
) -> Array:
    """Return the seconds of an expert layer, forward, on a rank with `experts` local ones, in a burst.

    Counts both products, the activation function, and routing: top-k, sort, gather and weighted sum. `inner`
    is the width of an expert on the rank. `gated` is 1 where the first product is twice as wide.
    """
    r, h, i, doubled = floats(rows), floats(hidden), floats(inner), 1 + floats(gated)

    def grouped(n: Array, k: Array) -> Array:
        return grouped_product_s(
            r,
            experts,
            n,
            k,
            precision=precision,
            peak_tflops=peak_tflops,
            memory_gbps=memory_gbps,
            share=share,
            constants=constants,
        )

    moved = 2 * (doubled + 1) * r * i + 2 * constants.accesses * r * h
    elementwise = moved / (memory_gbps * 1e9 * constants.memory_share)
    return grouped(doubled * i, h) + grouped(h, i) + elementwise + constants.launch_us * US
