"""A schedule as MSCCL XML: thread blocks of steps for each GPU, and what each step waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import quoteattr

from dse.base.errors import InputError
from dse.collectives.files.msccl_blocks import MOST_STEPS, Block, BlockStep, blocks_of
from dse.collectives.files.msccl_buffers import require_known, sizes
from dse.collectives.problem.schedule import Schedule


def schedule_msccl(schedule: Schedule, name: str) -> Iterator[str]:
    """Yield the lines of the XML: per link a block that sends and one that receives, more for many sends.

    The order in a block is that of the link. A step waits for the last write of what it reads, and for all
    reads of what it writes, so that every run of the blocks ends in the same state.

    Raises:
        InputError: MSCCL has no such collective, no switches, or not enough steps in a block.
    """
    collective, graph = schedule.problem.collective, schedule.problem.graph
    coll = require_known(collective)
    if graph.nodes > graph.npus:
        raise InputError(
            f"MSCCL knows no switches, but the network has {graph.nodes - graph.npus}; "
            "synthesise with switches=unrolled, or leave msccl out"
        )
    blocks, slots = blocks_of(schedule)
    longest = max((len(block.steps) for own in blocks for block in own), default=0)
    if longest > MOST_STEPS:
        raise InputError(
            f"a thread block of MSCCL would have {longest} steps; at most {MOST_STEPS} are allowed"
        )
    inputs, outputs = sizes(collective)
    is_in_place = int(collective.name == "all_reduce")
    yield _open(
        "algo",
        name=name,
        proto="Simple",
        nchannels=1 + max((block.channel for own in blocks for block in own), default=0),
        nchunksperloop=max(inputs, outputs),
        ngpus=graph.npus,
        coll=coll,
        inplace=is_in_place,
        outofplace=1 - is_in_place,
        minBytes=0,
        maxBytes=0,
    )
    for gpu, own in enumerate(blocks):
        scratch = len(slots.scratch[gpu])
        yield "  " + _open("gpu", id=gpu, i_chunks=inputs, o_chunks=outputs, s_chunks=scratch)
        for block in own:
            yield from _block_lines(block)
        yield "  </gpu>"
    yield "</algo>"


def _block_lines(block: Block) -> Iterator[str]:
    yield "    " + _open("tb", id=block.number, send=block.send, recv=block.receive, chan=block.channel)
    for step in block.steps:
        yield "      " + _step(step)
    yield "    </tb>"


def _step(step: BlockStep) -> str:
    waited = step.after[0] if step.after else None
    line = _open(
        "step",
        s=step.number,
        type=step.kind,
        srcbuf=step.source.buffer,
        srcoff=step.source.offset,
        dstbuf=step.target.buffer,
        dstoff=step.target.offset,
        cnt=0 if step.kind == "nop" else 1,
        depid=-1 if waited is None else waited.block.number,
        deps=-1 if waited is None else waited.number,
        hasdep=int(step.is_awaited),
    )
    return line[:-1] + "/>"


def _open(tag: str, **attributes: Any) -> str:
    return f"<{tag} " + " ".join(f"{key}={quoteattr(str(value))}" for key, value in attributes.items()) + ">"
