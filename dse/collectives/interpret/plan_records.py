"""Records of an MSCCL++ plan, with every indirection resolved, and the names of its operations."""

from __future__ import annotations

from typing import NamedTuple

MEMORY, PORT, SWITCH = "memory", "port", "switch"
ADDS_PACKETS = ("repkt", "respkt", "recpkt", "recspkt")
SENDS_PACKETS = ("ppkt", "rppkt", "respkt", "recspkt")
PACKETS = (*ADDS_PACKETS, "ppkt", "rppkt", "cpkt", "upkt", "gstorepkt")
ON_SWITCHES = ("glres", "gstore", "gstorepkt")
IN_ORDER = ("put", "pws", "pwsf", "get", "ppkt", "rppkt")  # span i goes over channel i
IN_MEMORY = ("get", "res", "rre", "rres", *SENDS_PACKETS)
ON_CHANNELS = (
    *dict.fromkeys((*IN_ORDER, *IN_MEMORY)), "signal", "wait", "rlxsignal", "rlxwait", "flush",
)  # fmt: skip
KNOWN = (
    *ON_CHANNELS, "nop", "copy", "re", "cpkt", "upkt", "repkt", "recpkt", *ON_SWITCHES, "sem_acquire",
    "sem_release", "barrier",
)  # fmt: skip


class Group(NamedTuple):
    """A switch channel: GPUs whose buffers it reads and writes at once, and how many chunks of them."""

    gpus: tuple[int, ...]
    buffer: str
    size: int


class Span(NamedTuple):
    """Consecutive chunks of a buffer of some GPUs: one, or a group behind a switch."""

    gpus: tuple[int, ...]
    buffer: str
    first: int
    size: int


class Operation(NamedTuple):
    """An operation with channels as keys of both ends, and semaphores or barrier by number."""

    name: str
    sources: list[Span]
    targets: list[Span]
    channels: list[tuple[str, int, int, int]]  # type, GPU, peer, and which of several
    semaphores: list[int]
    barrier: tuple[int, int]


class PlanBlock(NamedTuple):
    """A thread block of a GPU."""

    gpu: int
    number: int
    operations: list[Operation]

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"GPU {self.gpu}, block {self.number}"


class Plan(NamedTuple):
    """A plan; `chunks` are those of a GPU, `semaphores` and `buffers` per GPU."""

    collective: str
    chunks: int
    in_place: bool
    doubles_scratch: bool
    buffers: list[dict[str, int]]
    semaphores: list[list[int]]
    blocks: list[PlanBlock]
    problems: list[str]
