"""Where a chunk is in the buffers of MSCCL: input, output, scratch; and how its collectives are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from dse.base.errors import InputError
from dse.collectives.problem.collective import Collective

COLLECTIVES = {
    "all_gather": "allgather",
    "reduce_scatter": "reducescatter",
    "all_reduce": "allreduce",
    "all_to_all": "alltoall",
    "broadcast": "broadcast",
    "reduce": "reduce",
}


class Slot(NamedTuple):
    """A place for one chunk in a buffer: `i`, `o` or `s`."""

    buffer: str
    offset: int


def require_known(collective: Collective) -> str:
    """Return the name of a collective in MSCCL.

    Raises:
        InputError: it has none.
    """
    if collective.name not in COLLECTIVES:
        raise InputError(
            f"MSCCL has no collective like {collective.name}; it has {', '.join(COLLECTIVES)}: "
            "leave msccl out, or take one of these"
        )
    return COLLECTIVES[collective.name]


def sizes(collective: Collective) -> tuple[int, int]:
    """Chunks of the input and of the output buffer of a GPU."""
    n, k = collective.npus, collective.chunks_per_npu
    per_name = {
        "all_gather": (k, n * k),
        "reduce_scatter": (n * k, k),
        "all_reduce": (n * k, n * k),
        "all_to_all": (n * k, n * k),
    }
    return per_name.get(collective.name, (k, k))


def input_slot(collective: Collective, npu: int, chunk: int) -> Slot | None:
    """Where an NPU has a chunk, or its contribution to it, at first; None if it does not have it."""
    n, k = collective.npus, collective.chunks_per_npu
    if collective.name == "all_gather":
        return Slot("i", chunk // n) if chunk % n == npu else None
    if collective.name == "all_to_all":
        turn, source, to = chunk // n**2, chunk // n % n, chunk % n
        return Slot("i", to * k + turn) if source == npu else None
    if collective.name == "broadcast":
        return Slot("i", chunk) if npu == collective.root else None
    if collective.name == "reduce":
        return Slot("i", chunk)
    return Slot("i", chunk % n * k + chunk // n)


def output_slot(collective: Collective, npu: int, chunk: int) -> Slot | None:
    """Where an NPU is to have a chunk at the end; None if it need not."""
    n, k = collective.npus, collective.chunks_per_npu
    if collective.name == "all_gather":
        return Slot("o", chunk % n * k + chunk // n)
    if collective.name == "all_reduce":  # in place
        return input_slot(collective, npu, chunk)
    if collective.name == "all_to_all":
        turn, source, to = chunk // n**2, chunk // n % n, chunk % n
        return Slot("o", source * k + turn) if to == npu else None
    if collective.name == "reduce_scatter":
        return Slot("o", chunk // n) if chunk % n == npu else None
    if collective.name == "reduce":
        return Slot("o", chunk) if npu == collective.root else None
    return Slot("o", chunk)


@dataclass
class Slots:
    """Where chunks are while a schedule runs: scratch is given out as it is asked for."""

    collective: Collective
    scratch: list[dict[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """No GPU has scratch yet."""
        self.scratch = [{} for _ in range(self.collective.npus)]

    def of(self, npu: int, chunk: int) -> Slot:
        """A chunk that is there at first stays there; others come into the output, or into scratch."""
        known = input_slot(self.collective, npu, chunk) or output_slot(self.collective, npu, chunk)
        if known is not None:
            return known
        own = self.scratch[npu]
        return Slot("s", own.setdefault(chunk, len(own)))
