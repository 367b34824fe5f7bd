"""Values of a place as sets of contributions, and the ones that a collective ends with."""

from __future__ import annotations

from collections.abc import Iterator

Value = frozenset[int]
"""Contributions, each a GPU's number times a base plus the offset in its input."""
Place = tuple[str, int]
NOTHING: Value = frozenset()
BASE = 1 << 32
COLLECTIVES = (
    "allgather", "allreduce", "alltoall", "broadcast", "gather", "reduce", "reducescatter", "scatter",
)  # fmt: skip


def own(gpu: int, offset: int) -> Value:
    """Return what a GPU has at an offset of its input at first."""
    return frozenset([gpu * BASE + offset])


def spelled(value: Value) -> str:
    """Return a value for people: its first contributions."""
    shown = ", ".join(f"input {each % BASE} of GPU {each // BASE}" for each in sorted(value)[:3])
    return (shown + (f" and {len(value) - 3} more" if len(value) > 3 else "")) or "nothing"


def chunks_of(coll: str, gpus: int, gpu: int, chunks: int, root: int) -> tuple[int, int]:
    """Return the chunks of the input and the output of a GPU, where each has `chunks` of its own."""
    whole = gpus * chunks
    sizes = {
        "allgather": (chunks, whole),
        "reducescatter": (whole, chunks),
        "allreduce": (whole, whole),
        "alltoall": (whole, whole),
        "gather": (chunks, whole if gpu == root else 0),
        "scatter": (whole if gpu == root else 0, chunks),
    }
    return sizes.get(coll, (chunks, chunks))


def wanted(coll: str, gpus: int, gpu: int, chunks: int, root: int) -> Iterator[tuple[int, Value]]:
    """Yield offsets of a GPU's output and what must be there at the end; `chunks` are those of a GPU.

    An all-reduce and a broadcast count the chunks of the whole buffer; an all-to-all those of a pair.
    """

    def summed(offset: int) -> Value:
        return frozenset(other * BASE + offset for other in range(gpus))

    if coll == "allgather" or (coll == "gather" and gpu == root):
        yield from ((offset, own(offset // chunks, offset % chunks)) for offset in range(gpus * chunks))
    elif coll == "alltoall":
        for offset in range(gpus * chunks):
            yield offset, own(offset // chunks, gpu * chunks + offset % chunks)
    elif coll == "reducescatter":
        yield from ((offset, summed(gpu * chunks + offset)) for offset in range(chunks))
    elif coll == "allreduce" or (coll == "reduce" and gpu == root):
        yield from ((offset, summed(offset)) for offset in range(chunks))
    elif coll == "broadcast":
        yield from ((offset, own(root, offset)) for offset in range(chunks))
    elif coll == "scatter":
        yield from ((offset, own(root, gpu * chunks + offset)) for offset in range(chunks))


def aliased(coll: str, gpu: int, chunks: int, root: int, place: Place) -> Place:
    """Return where a place is in place: the input is a part of the output, or the other way round.

    Both are then named as places of the larger one.
    """
    buffer, offset = place
    if coll == "allgather" and buffer == "i":
        return "o", gpu * chunks + offset
    if coll == "reducescatter" and buffer == "o":
        return "i", gpu * chunks + offset
    if coll == "gather" and buffer == "i" and gpu == root:
        return "o", root * chunks + offset
    if coll == "scatter" and buffer == "o" and gpu == root:
        return "i", root * chunks + offset
    if coll in ("allreduce", "broadcast", "reduce", "alltoall") and buffer == "o":
        return "i", offset
    return place
