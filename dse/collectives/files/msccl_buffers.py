"""Where a chunk is in the buffers of MSCCL: input, output, scratch; and how its collectives are called."""

from __future__ import annotations

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
    "gather": "gather",
    "scatter": "scatter",
}
ROOTED = ("broadcast", "reduce", "gather", "scatter")
# In place the input is part of the output; an all-to-all would overwrite what it has yet to send.
IN_PLACE = tuple(name for name in COLLECTIVES if name != "all_to_all")


class Slot(NamedTuple):
    """A place for one chunk in a buffer: `i`, `o` or `s`."""

    buffer: str
    offset: int


def require_known(collective: Collective, form: str) -> str:
    """Return the name of a collective in MSCCL.

    Raises:
        InputError: it has none.
    """
    if collective.parts:
        raise InputError(f"{form} has collectives of all NPUs, not of groups: leave {form} or the group out")
    if collective.name not in COLLECTIVES:
        raise InputError(
            f"{form} has no collective like {collective.name}; it has {', '.join(COLLECTIVES)}: "
            f"leave {form} out, or take one of these"
        )
    return COLLECTIVES[collective.name]


def sizes(collective: Collective, npu: int) -> tuple[int, int]:
    """Chunks of the input and of the output buffer of an NPU."""
    n, k = collective.npus, collective.chunks_per_npu
    at_root = n * k if npu == collective.root else 0
    per_name = {
        "all_gather": (k, n * k),
        "reduce_scatter": (n * k, k),
        "all_reduce": (n * k, n * k),
        "all_to_all": (n * k, n * k),
        "gather": (k, at_root),
        "scatter": (at_root, k),
    }
    return per_name.get(collective.name, (k, k))


def input_slot(collective: Collective, npu: int, chunk: int) -> Slot | None:
    """Where an NPU has a chunk, or its contribution to it, at first; None if it does not have it."""
    n, k = collective.npus, collective.chunks_per_npu
    if collective.name in ("all_gather", "gather"):
        return Slot("i", chunk // n) if chunk % n == npu else None
    if collective.name == "all_to_all":
        turn, source, to = chunk // n**2, chunk // n % n, chunk % n
        return Slot("i", to * k + turn) if source == npu else None
    if collective.name in ("broadcast", "scatter") and npu != collective.root:
        return None
    if collective.name in ("broadcast", "reduce"):
        return Slot("i", chunk)
    return Slot("i", chunk % n * k + chunk // n)


def output_slot(collective: Collective, npu: int, chunk: int) -> Slot | None:
    """Where an NPU is to have a chunk at the end; None if it need not."""
    n, k = collective.npus, collective.chunks_per_npu
    if collective.name in ("all_gather", "all_reduce"):
        return Slot("o", chunk % n * k + chunk // n)
    if collective.name == "all_to_all":
        turn, source, to = chunk // n**2, chunk // n % n, chunk % n
        return Slot("o", source * k + turn) if to == npu else None
    if collective.name in ("reduce_scatter", "scatter"):
        return Slot("o", chunk // n) if chunk % n == npu else None
    if collective.name in ("gather", "reduce") and npu != collective.root:
        return None
    return Slot("o", chunk % n * k + chunk // n if collective.name == "gather" else chunk)


def in_place(collective: Collective, npu: int, slot: Slot) -> Slot:
    """Return the name of a slot where the input is part of the output: all of one byte have one name."""
    k, own = collective.chunks_per_npu, npu * collective.chunks_per_npu
    if collective.name not in IN_PLACE or slot.buffer == "s":
        return slot
    if collective.name in ("all_gather", "gather"):
        is_part = slot.buffer == "i" and (collective.name == "all_gather" or npu == collective.root)
        return Slot("o", own + slot.offset) if is_part else slot
    if collective.name in ("reduce_scatter", "scatter"):
        is_part = slot.buffer == "o" and (collective.name == "reduce_scatter" or npu == collective.root)
        return Slot("i", own + slot.offset) if is_part and slot.offset < k else slot
    return Slot("i", slot.offset)


class Slots:
    """Where chunks are while a schedule runs: inputs stay as they are, scratch is given out when needed."""

    def __init__(self, collective: Collective) -> None:
        self.collective = collective
        self.scratch: list[dict[object, int]] = [{} for _ in range(collective.npus)]
        self._written: set[tuple[int, int]] = set()

    def unwritten(self) -> Slots:
        """Return the same places before anything has been written."""
        fresh = Slots(self.collective)
        fresh.scratch = [dict(own) for own in self.scratch]
        return fresh

    def read(self, npu: int, chunk: int) -> Slot:
        """Where a chunk is: in the input until something has been written."""
        if (npu, chunk) not in self._written:
            held = input_slot(self.collective, npu, chunk)
            if held is not None:
                return held
        return self.target(npu, chunk)

    def target(self, npu: int, chunk: int) -> Slot:
        """Where what comes of a chunk goes: into the output, or into scratch."""
        return output_slot(self.collective, npu, chunk) or self.scratch_slot(npu, chunk)

    def scratch_slot(self, npu: int, key: object) -> Slot:
        """A place in scratch that nothing else has."""
        own = self.scratch[npu]
        return Slot("s", own.setdefault(key, len(own)))

    def write(self, npu: int, chunk: int) -> Slot:
        """Return the target of a chunk; from now on it is read from there."""
        self._written.add((npu, chunk))
        return self.target(npu, chunk)

    def first(self, npu: int, chunk: int) -> Slot:
        """Where a chunk is that is no sum."""
        return input_slot(self.collective, npu, chunk) or self.target(npu, chunk)


def copies(collective: Collective, npu: int, most: int) -> list[tuple[Slot, Slot, int]]:
    """Return what an NPU has at first and is to have: from the input, into the output, so many chunks."""
    n, k = collective.npus, collective.chunks_per_npu
    if collective.name == "all_to_all":
        first = (npu * n + npu, n * n)
    elif collective.name == "all_gather" or (
        collective.name in ("gather", "scatter") and npu == collective.root
    ):
        first = (npu, n)
    elif collective.name == "broadcast" and npu == collective.root:
        first = (0, 1)
    else:
        return []
    found = []
    for turn in range(0, k, most):
        chunk = first[0] + turn * first[1]
        source, target = input_slot(collective, npu, chunk), output_slot(collective, npu, chunk)
        if source is not None and target is not None:
            found.append((source, target, min(most, k - turn)))
    return found
