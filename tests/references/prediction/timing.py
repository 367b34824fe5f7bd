"""How long kernels take on an accelerator: roofline with efficiencies, launches, and the CPU's floor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dse.inputs.accelerators.accelerator import Accelerator
from dse.prediction.steps.predict import PARTS
from tests.references.prediction.kernels import Kernel


@dataclass(frozen=True)
class Rates:
    """The rates that kernels reach, in operations and bytes per second.

    `launch_s` is what a kernel takes on the device at least, `floor_s` what its launch takes the CPU.
    Kernels of unit memory move `elementwise` times the bytes that they have to.
    """

    products: dict[int, float]
    attention: float
    memory: float
    launch_s: float
    floor_s: float
    elementwise: float = 1.0

    @classmethod
    def of(
        cls,
        accelerator: Accelerator,
        *,
        launch_us: float,
        attention_factor: float = 1.0,
        elementwise: float = 1.0,
    ) -> Rates:
        """Return the rates of an accelerator under a framework."""
        reached, peak = accelerator.efficiency, accelerator.peak_tflops
        half = peak.get("bf16") or peak["fp16"]
        products = {16: half * 1e12 * reached.matrix}
        for bits, name, share in ((8, "fp8", reached.matrix_8bit), (4, "fp4", reached.four_bit)):
            if name in peak:
                products[bits] = peak[name] * 1e12 * share
        return cls(
            products=products,
            attention=half * 1e12 * reached.attention * attention_factor,
            memory=accelerator.memory_bandwidth_gbps * 1e9 * reached.memory,
            launch_s=reached.launch_us * 1e-6,
            floor_s=launch_us * 1e-6,
            elementwise=elementwise,
        )


class Parts(dict[str, float]):
    """Seconds by part of a step; parts that are missing are 0."""

    @property
    def total_s(self) -> float:
        """Their sum."""
        return sum(self.values())

    def add(self, part: str, seconds: float) -> None:
        """Add to a part."""
        self[part] = self.get(part, 0.0) + seconds

    def plus(self, other: Parts, times: float = 1.0) -> Parts:
        """Return the sum with another, `times` over."""
        total = Parts(self)
        for part, seconds in other.items():
            total.add(part, seconds * times)
        return total

    def complete(self) -> dict[str, float]:
        """Return all parts in their order."""
        return {part: self.get(part, 0.0) for part in PARTS}


def kernels_s(kernels: Iterable[Kernel], rates: Rates, meeting_s: float = 0.0) -> Parts:
    """Return the time of kernels that run one after the other.

    A kernel takes what its operations or its bytes take, whichever is longer, and a launch on the device. It
    begins when the one before it has ended and the CPU has launched it. The CPU launches one after the other,
    with no lead when the pass begins, and the next pass waits until it has launched all of this one. A
    meeting is launched as the kernels around it, and takes `meeting_s` and one launch more: collectives run
    in a stream of their own, and streams wait for each other.
    """
    found = Parts()
    count = 0
    launched = ended = 0.0  # the next kernel's launch, and the last one's end, from the start of the pass
    for kernel in kernels:
        meets = kernel.unit == "meeting"
        seconds = meeting_s if meets else _seconds(kernel, rates)
        found.add(kernel.part, seconds * kernel.repeats)
        start_s = rates.floor_s if meets else rates.launch_s
        count += 0 if meets else kernel.repeats
        # Of operations that are no kernels of their own here, each is launched by itself.
        is_elementwise = not kernel.operations and kernel.part == "memory_bound"
        launches = max(kernel.repeats, rates.elementwise) if is_elementwise else kernel.repeats
        # Of equal kernels in a row, all wait for the first launch, or each for its own.
        ended = max(ended, launched) + (seconds + start_s) * kernel.repeats
        launched += (launches - 1) * rates.floor_s
        ended = max(ended, launched + seconds * kernel.repeats / launches + start_s)
        launched += rates.floor_s
    found.add("launches", count * rates.launch_s)
    waiting = max(ended, launched) - found.total_s
    if waiting > 0:
        found.add("launches", waiting)
    return found


def _seconds(kernel: Kernel, rates: Rates) -> float:
    """The time that operations or bytes take, whichever is longer."""
    moved_s = kernel.bytes_ / rates.memory
    if not kernel.operations:
        return moved_s * rates.elementwise
    rate = rates.attention if kernel.unit == "attention" else rates.products[kernel.bits]
    return max(moved_s, kernel.operations * kernel.slowdown / rate)
