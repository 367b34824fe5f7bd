"""Published limits of the runtimes that load MSCCL XML and MSCCL++ plans."""

from __future__ import annotations

from typing import NamedTuple

MOST_CHUNKS = 1 << 20
"""Of a buffer, and the most that a semaphore begins with: interpreters hold each by itself."""


class Limits(NamedTuple):
    """The most that a runtime takes: steps of a block, blocks of a GPU, and what all parsers share."""

    name: str
    steps: int
    blocks: int
    nodes: int = 4096
    children: int = 1024
    channels: int = 32
    blocks_of_channel: int = 32
    chunks_of_step: int = 71
    awaited_block: int = 127


MSCCL_LIMITS = {
    limits.name: limits
    for limits in (Limits("msccl-executor", 64, 1024), Limits("rccl", 64, 64), Limits("msccl", 256, 216))
}
"""By name of runtime; a runtime without a name is the first one, which is the strictest in steps."""


class PlanLimits(NamedTuple):
    """The most that the executor of MSCCL++ takes; all blocks of a GPU are resident at once."""

    operations: int = 64
    channels_of_block: int = 16
    buffers_of_block: int = 16
    channels_of_operation: int = 8
    semaphores_of_operation: int = 16
    barriers: int = 16
    threads: int = 1024
    blocks: int = 132  # the processors of an H100
    buffers_of_side: int = 10


PLAN_LIMITS = PlanLimits()
