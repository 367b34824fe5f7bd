"""Kernels of a pass: what a GPU executes one after the other, as operations and bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Unit = Literal["products", "attention", "memory", "meeting"]
PRECISION_BITS = {"bf16": 16, "fp16": 16, "fp8": 8, "fp4": 4}


class Kernel(NamedTuple):
    """`repeats` equal kernels of `operations` (a multiply-add is two) that move `bytes_` bytes each.

    A matrix product has m x k times k x n elements of `bits` bits; other kernels have no shape. A meeting is
    a collective over tp; it has no bytes here, since all of a pass take the same time. `part` says which
    figure counts its time: matrix_products, attention, memory_bound or tp.
    """

    unit: Unit
    repeats: int
    operations: float
    bytes_: float
    shape: tuple[float, float, float] = (0, 0, 0)
    bits: int = 16
    part: str = "memory_bound"


@dataclass
class Pass:
    """The forward and backward kernels of a block for one micro-batch, and what recomputation repeats.

    `selective` are the kernels that selective recomputation runs again: the core of attention (Korthikanti et
    al. 2022, section 5).
    """

    forward: list[Kernel] = field(default_factory=list)
    backward: list[Kernel] = field(default_factory=list)
    selective: list[Kernel] = field(default_factory=list)

    def memory(self, forward_bytes: float, backward_bytes: float, kernels: int = 1) -> None:
        """Add elementwise kernels that together move so many bytes in each direction."""
        self.forward.append(Kernel("memory", kernels, 0, forward_bytes / kernels))
        self.backward.append(Kernel("memory", kernels, 0, backward_bytes / kernels))

    def meet(self, forward: int, backward: int) -> None:
        """Add meetings of the ranks of tensor parallelism to each direction."""
        for direction, count in ((self.forward, forward), (self.backward, backward)):
            if count:
                direction.append(Kernel("meeting", count, 0, 0, part="tp"))

    def product(
        self, m: float, n: float, k: float, *, bits: int, count: int = 1, sums_bytes: int = 2
    ) -> None:
        """Add y = x w with m tokens, k inputs and n outputs, and its two gradients.

        Low precisions read inputs of `bits` and write 16 bit. The kernel before casts the input as it
        writes it, and a transpose is written besides; on the way back the gradient is cast and transposed.
        `sums_bytes` are moved per weight where gradients of micro-batches are summed.
        """
        size = bits / 8
        if bits < 16:
            self.forward.append(Kernel("memory", count, 0, size * m * k))
            self.backward.append(Kernel("memory", count, 0, 2 * size * m * n))

        def one(m: float, n: float, k: float, written_bytes: float) -> Kernel:
            moved = size * (m * k + n * k) + written_bytes * m * n
            return Kernel("products", count, 2.0 * m * n * k, moved, (m, n, k), bits, "matrix_products")

        self.forward.append(one(m, n, k, 2))
        self.backward += [one(m, k, n, 2), one(k, n, m, sums_bytes)]
