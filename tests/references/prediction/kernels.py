"""Kernels of a pass: what a GPU executes one after the other, as operations and bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Unit = Literal["products", "attention", "memory", "meeting"]

HALF_SIZE = 96.0
"""A product is half as efficient along m, n or k of this size: partly filled tiles of 128, their prologue
and epilogue."""

GROUPED_HALF_SIZE = 140.0
"""The same along the rows of each of the products that one kernel runs: measured for experts, 70 to 180."""


class Kernel(NamedTuple):
    """`repeats` equal kernels of `operations` (a multiply-add is two) that move `bytes_` bytes each.

    `slowdown` times longer than at the rate of its unit take its operations, because of its shape. Products
    have operands of `bits` bits. A meeting is a collective over tp; it has no bytes here, since all of a pass
    take the same time. `part` says which figure counts its time: matrix_products, attention, memory_bound or
    tp. It belongs to `modules`, the names under which it can be recomputed.
    """

    unit: Unit
    repeats: int
    operations: float
    bytes_: float
    slowdown: float = 1.0
    bits: int = 16
    part: str = "memory_bound"
    modules: tuple[str, ...] = ()


@dataclass
class Pass:
    """The forward and backward kernels of a block for one micro-batch.

    An eager pass launches `host_launches` kernels besides, each too short to count on the device.
    """

    forward: list[Kernel] = field(default_factory=list)
    backward: list[Kernel] = field(default_factory=list)
    host_launches: float = 0.0
    _modules: tuple[str, ...] = ()

    @contextmanager
    def module(self, *names: str) -> Iterator[None]:
        """Name the modules of the kernels that are added inside, besides those around."""
        before = self._modules
        self._modules = (*before, *names)
        yield
        self._modules = before

    def repeated(self, modules: frozenset[str]) -> list[Kernel]:
        """Return the forward kernels that belong to one of some modules: recomputation runs them again."""
        return [kernel for kernel in self.forward if not modules.isdisjoint(kernel.modules)]

    def add(self, forward: Kernel, *backward: Kernel) -> None:
        """Add a kernel of the forward pass, and what the backward pass runs for it."""
        self.forward.append(forward._replace(modules=self._modules))
        self.backward += backward

    def memory(
        self, forward_bytes: float, backward_bytes: float, kernels: int = 1, part: str = "memory_bound"
    ) -> None:
        """Add elementwise kernels that together move so many bytes in each direction."""
        self.add(
            Kernel("memory", kernels, 0, forward_bytes / kernels, part=part),
            Kernel("memory", kernels, 0, backward_bytes / kernels, part=part),
        )

    def meet(self, forward: int, backward: int) -> None:
        """Add meetings of the ranks of tensor parallelism to each direction."""
        for direction, count in ((self.forward, forward), (self.backward, backward)):
            if count:
                direction.append(Kernel("meeting", count, 0, 0, part="tp"))

    def product(
        self,
        m: float,
        n: float,
        k: float,
        *,
        bits: int = 16,
        groups: int = 1,
        sums_bytes: int = 2,
        is_frozen: bool = False,
    ) -> None:
        """Add y = x w with m tokens, k inputs and n outputs, and its two gradients; frozen weights have none.

        One kernel runs `groups` of them, m tokens each. Low precisions read inputs of `bits` and write 16
        bit. The kernel before casts the input as it writes it, and a transpose is written besides; on the way
        back the gradient is cast and transposed.
        `sums_bytes` are moved per weight where gradients of micro-batches are summed.
        """
        size = bits / 8
        if bits < 16:
            self.memory(size * groups * m * k, 2 * size * groups * m * n)
        slowdown = 1 + (HALF_SIZE if groups == 1 else GROUPED_HALF_SIZE) / m + HALF_SIZE / n + HALF_SIZE / k

        def one(read: float, written_bytes: float) -> Kernel:
            moved = groups * (size * read + written_bytes)
            return Kernel("products", 1, 2.0 * groups * m * n * k, moved, slowdown, bits, "matrix_products")

        weight_gradient = () if is_frozen else (one(m * k + m * n, sums_bytes * n * k),)
        self.add(one(m * k + n * k, 2 * m * n), one(m * n + n * k, 2 * m * k), *weight_gradient)
