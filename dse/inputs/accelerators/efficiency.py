"""How much of its data-sheet figures an accelerator reaches with real kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Efficiency:
    """Shares of the data-sheet figures that kernels reach, see docs/reality.md.

    `matrix` is reached by large matrix products in 16 bit, `matrix_8bit` in 8 bit, `matrix_4bit` in 4 bit
    (None: as in 8 bit), `attention` by fused attention (causal half counted), `links` by collectives with
    large messages. `launch_us` is the least time of a kernel on the device. These six are fitted to steps;
    `memory` is the share that elementwise kernels reach when they are measured alone.
    """

    matrix: float
    matrix_8bit: float
    attention: float
    memory: float
    links: float
    launch_us: float
    matrix_4bit: float | None = None

    @property
    def four_bit(self) -> float:
        """The share of products in 4 bit."""
        return self.matrix_8bit if self.matrix_4bit is None else self.matrix_4bit
