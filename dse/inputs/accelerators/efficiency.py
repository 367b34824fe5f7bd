"""How much of its data-sheet figures an accelerator reaches with real kernels."""

from __future__ import annotations

from dataclasses import dataclass


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
