"""A schedule as MSCCL XML: thread blocks of steps for each GPU, and what each step waits for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dse.base.errors import InputError
from dse.collectives.files.messages import Message, joined, messages_of
from dse.collectives.files.msccl_blocks import Block, blocks_of
from dse.collectives.files.msccl_buffers import (
    IN_PLACE,
    ROOTED,
    Slot,
    Slots,
    copies,
    require_known,
    sizes,
)
from dse.collectives.files.msccl_steps import Step, fused, queues_of, steps_of
from dse.collectives.interpret.limits import MSCCL_LIMITS, Limits
from dse.collectives.interpret.msccl import Findings, interpret_msccl
from dse.collectives.problem.collective import Collective
from dse.collectives.problem.schedule import Schedule

_SPARE = (1 / 4, 1 / 2, 3 / 4, 7 / 8)  # shares of the steps of a block that are left for waits
MOST_STEPS_IN_ALL = 300_000  # more take minutes to check


@dataclass(frozen=True)
class MscclOptions:
    """The runtime that loads a file, copies of the program, and the bytes of an operation that it is for."""

    limits: str = "msccl-executor"
    instances: int = 1
    least_bytes: int = 0
    most_bytes: int = 0
    protocol: str = "Simple"


def schedule_msccl(schedule: Schedule, name: str, options: MscclOptions = MscclOptions()) -> str:
    """Return the XML, which its interpreter has run: it ends, has no race, and does what it says.

    A message that leaves as it arrives is one step, and chunks side by side are one message. If that cannot
    end with one message in a queue, both are done one after the other. At last each message that is under
    way has a queue of its own.

    Raises:
        InputError: MSCCL has no such collective, or the runtime cannot take the program; says why.
    """
    collective = schedule.problem.collective
    require_known(collective, "MSCCL")
    if collective.npus != schedule.problem.graph.npus:
        raise InputError(
            f"MSCCL needs all NPUs of the network: the collective has {collective.npus} of "
            f"{schedule.problem.graph.npus}; leave msccl out"
        )
    limits = MSCCL_LIMITS[options.limits]
    messages = messages_of(schedule)
    if 2 * len(messages) * options.instances > MOST_STEPS_IN_ALL:
        raise InputError(
            f"MSCCL: {len(messages)} sends are too many to check all their orders; at most "
            f"{MOST_STEPS_IN_ALL // 2 // options.instances} are exported: leave msccl out"
        )
    slots = Slots(collective)
    if options.instances == 1:
        messages = joined(messages, slots.first, limits.chunks_of_step)
    findings: list[str] = []
    for passes in ("late", "at once", "", "apart"):
        for spare in _SPARE:
            text = _text(messages, slots.unwritten(), name, options, limits, passes=passes, spare=spare)
            found: Findings = interpret_msccl(text, name, options.limits)
            if not found.problems:
                return text
            findings = findings or list(found.problems)
            if not any("steps; " in problem for problem in found.problems):
                break
    raise InputError(f"MSCCL: {findings[0]}: take fewer chunks_per_npu, another limits, or leave msccl out")


def _text(
    messages: list[Message],
    slots: Slots,
    name: str,
    options: MscclOptions,
    limits: Limits,
    *,
    passes: str,
    spare: float,
) -> str:
    collective = slots.collective
    queues = queues_of(messages, apart=passes == "apart")
    passes_on = passes in ("late", "at once")
    onward = fused(messages, queues, may_wait=passes == "late") if passes_on else {}
    steps = steps_of(messages, onward, collective, slots)
    room = max(1, int(limits.steps * (1 - spare)))
    blocks = blocks_of(steps, queues, collective.npus, limits, room)
    for npu, own in enumerate(blocks):
        own += _copy_blocks(collective, npu, limits, 1 if options.instances > 1 else limits.chunks_of_step)
    writer = _Writer(collective, blocks, slots, options)
    return "".join(f"{line}\n" for line in writer.lines(name))


def _copy_blocks(collective: Collective, npu: int, limits: Limits, most: int) -> list[Block]:
    """Blocks that copy what an NPU has at first and is to have from its input to its output."""
    found = copies(collective, npu, most)
    blocks = []
    for first in range(0, len(found), limits.steps):
        steps = [
            Step("cpy", npu, source, target, count, number=number)
            for number, (source, target, count) in enumerate(found[first : first + limits.steps])
        ]
        blocks.append(Block(npu, steps=steps))
    return blocks


class _Writer:
    """The lines of a file, with every block `instances` times on parts of all chunks."""

    def __init__(
        self, collective: Collective, blocks: list[list[Block]], slots: Slots, options: MscclOptions
    ) -> None:
        self._collective, self._blocks, self._slots, self._options = collective, blocks, slots, options
        self._channels = 1 + max((block.channel for own in blocks for block in own), default=0)

    def lines(self, name: str) -> Iterator[str]:
        collective, options = self._collective, self._options
        k, copies_of_all = collective.chunks_per_npu, options.instances
        is_spread = collective.name in ("all_gather", "reduce_scatter", "all_to_all", "all_reduce")
        root = f" root-{collective.root}" if collective.name in ROOTED else ""
        safe = "".join(c if c.isascii() and c.isprintable() and c not in '"<>' else "_" for c in name)[:40]
        yield _open(
            "algo",
            name=safe + root,
            proto=options.protocol,
            nchannels=self._channels * copies_of_all,
            nchunksperloop=(collective.npus * k if is_spread else k) * copies_of_all,
            ngpus=collective.npus,
            coll=require_known(collective, "MSCCL"),
            inplace=int(collective.name in IN_PLACE),
            outofplace=1,
            minBytes=options.least_bytes,
            maxBytes=options.most_bytes,
        )
        for gpu, own in enumerate(self._blocks):
            inputs, outputs = (size * copies_of_all for size in sizes(collective, gpu))
            scratch = len(self._slots.scratch[gpu]) * copies_of_all
            yield "  " + _open("gpu", id=gpu, i_chunks=inputs, o_chunks=outputs, s_chunks=scratch)
            yield from self._block_lines(own)
            yield "  </gpu>"
        yield "</algo>"

    def _block_lines(self, own: list[Block]) -> Iterator[str]:
        """Blocks that others wait for come first in every instance."""
        order = [(block, part) for part in range(self._options.instances) for block in own]
        order.sort(key=lambda item: not item[0].is_awaited)
        number_of = {(id(step), part): n for n, (block, part) in enumerate(order) for step in block.steps}
        for number, (block, part) in enumerate(order):
            channel = block.channel + part * self._channels
            yield "    " + _open("tb", id=number, send=block.send, recv=block.receive, chan=channel)
            for step in block.steps:
                yield "      " + self._step(step, part, number_of)
            yield "    </tb>"

    def _step(self, step: Step, part: int, number_of: dict[tuple[int, int], int]) -> str:
        waited = step.after[0] if step.after else None
        line = _open(
            "step",
            s=step.number,
            type=step.kind,
            srcbuf=step.source.buffer,
            srcoff=self._offset(step.source, part),
            dstbuf=step.target.buffer,
            dstoff=self._offset(step.target, part),
            cnt=step.count,
            depid=-1 if waited is None else number_of[id(waited), part],
            deps=-1 if waited is None else waited.number,
            hasdep=int(step.is_awaited),
        )
        return line[:-1] + "/>"

    def _offset(self, slot: Slot, part: int) -> int:
        return slot.offset if slot.offset < 0 else slot.offset * self._options.instances + part


def _open(tag: str, **attributes: Any) -> str:
    return f"<{tag} " + " ".join(f'{key}="{value}"' for key, value in attributes.items()) + ">"
