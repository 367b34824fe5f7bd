"""Steps of a schedule in MSCCL's thread blocks: a link's sends in order, in as many channels as they need."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from dse.collectives.files.msccl_buffers import Slot, Slots, input_slot, output_slot
from dse.collectives.files.steps import ordered_steps
from dse.collectives.problem.schedule import Schedule

MOST_STEPS, MOST_BLOCKS = 256, 32


@dataclass(eq=False)
class BlockStep:
    """A step, and the steps of other blocks of its GPU that it waits for."""

    kind: str
    source: Slot
    target: Slot
    block: Block
    after: list[BlockStep] = field(default_factory=list)
    number: int = -1
    is_awaited: bool = False


@dataclass(eq=False)
class Block:
    """A thread block of a GPU; -1 means that it sends to none, or receives from none."""

    gpu: int
    send: int = -1
    receive: int = -1
    channel: int = 0
    number: int = -1
    steps: list[BlockStep] = field(default_factory=list)

    def add(self, kind: str, source: Slot, target: Slot) -> BlockStep:
        """Append a step."""
        step = BlockStep(kind, source, target, self)
        self.steps.append(step)
        return step


def blocks_of(schedule: Schedule) -> tuple[list[list[Block]], Slots]:
    """The blocks of every GPU, numbered, with numbered steps; and where chunks are.

    Raises:
        ValueError: the collective is not among all NPUs of the network.
    """
    collective, graph = schedule.problem.collective, schedule.problem.graph
    if collective.npus != graph.npus:
        raise ValueError(f"the collective has {collective.npus} NPUs, the network {graph.npus}")
    slots = Slots(collective)
    blocks: list[list[Block]] = [[] for _ in range(graph.npus)]
    waits = {(step.send, step.arrives): step for step in ordered_steps(schedule)}
    steps = _link_steps(schedule, blocks, slots)
    last: dict[tuple[int, int], BlockStep] = {}  # per place the step that wrote it last
    for key, wait in waits.items():
        step = steps[key]
        if wait.written_by is not None:
            step.after.append(steps[wait.written_by, True])
        step.after += [steps[other, False] for other in wait.read_by]
        if wait.arrives:
            last[step.block.gpu, int(schedule.chunk[wait.send])] = step
    for npu in range(graph.npus):
        _add_copies(schedule, npu, blocks[npu], last)
    for own in blocks:
        for number, block in enumerate(own):
            block.number = number
    for own in blocks:
        for block in own:
            _number_steps(block)
    return blocks, slots


def _link_steps(
    schedule: Schedule, blocks: list[list[Block]], slots: Slots
) -> dict[tuple[int, bool], BlockStep]:
    """The two steps of every send, in blocks of its link: at most a quarter of the steps that one may have.

    The rest is for what steps wait for besides.
    """
    import numpy as np

    graph = schedule.problem.graph
    chunks, adds = schedule.chunk.tolist(), schedule.reduce.tolist()
    order = np.lexsort((schedule.start_ps, schedule.link))
    cuts = np.searchsorted(schedule.link[order], np.arange(len(graph) + 1)).tolist()
    used: defaultdict[tuple[int, int], int] = defaultdict(int)
    steps: dict[tuple[int, bool], BlockStep] = {}
    ends = zip(graph.sources.tolist(), graph.destinations.tolist(), strict=True)
    for link, (source, to) in enumerate(ends):
        channel, before = -1, None
        sends = order[cuts[link] : cuts[link + 1]].tolist()
        for first in range(0, len(sends), MOST_STEPS // 4):
            channel = _free_channel(used, source, to, channel + 1)
            pair = Block(source, send=to, channel=channel), Block(to, receive=source, channel=channel)
            for block in pair:
                blocks[block.gpu].append(block)
            for send in sends[first : first + MOST_STEPS // 4]:
                here, there = slots.of(source, chunks[send]), slots.of(to, chunks[send])
                steps[send, False] = pair[0].add("s", here, there)
                kind, origin = ("rrc", there) if adds[send] else ("r", here)
                steps[send, True] = pair[1].add(kind, origin, there)
            if before is not None:  # the link stays one queue
                for old, new in zip(before, pair, strict=True):
                    new.steps[0].after.append(old.steps[-1])
            before = pair
    return steps


def _free_channel(used: defaultdict[tuple[int, int], int], source: int, to: int, least: int) -> int:
    channel = least
    while max(used[source, channel], used[to, channel]) >= MOST_BLOCKS - 1:  # one is for copies
        channel += 1
    used[source, channel] += 1
    used[to, channel] += 1
    return channel


def _add_copies(
    schedule: Schedule, npu: int, blocks: list[Block], last: dict[tuple[int, int], BlockStep]
) -> None:
    """Copy chunks that an NPU has at first and is to have at the end from its input to its output."""
    collective = schedule.problem.collective
    copies = []
    for chunk in _kept(schedule, npu):
        source, target = input_slot(collective, npu, chunk), output_slot(collective, npu, chunk)
        if source is not None and target is not None and source != target:
            copies.append((source, target, last.get((npu, chunk)) if collective.is_reducing else None))
    for first in range(0, len(copies), MOST_STEPS // 2):
        block = Block(npu, channel=first // (MOST_STEPS // 2))
        blocks.append(block)
        for source, target, writer in copies[first : first + MOST_STEPS // 2]:
            step = block.add("cpy", source, target)
            if writer is not None:
                step.after.append(writer)


def _kept(schedule: Schedule, npu: int) -> list[int]:
    """Chunks of which an NPU has something at first, in its input, and that it is to have."""
    collective = schedule.problem.collective
    n, k = collective.npus, collective.chunks_per_npu
    if collective.name in ("all_gather", "reduce_scatter"):
        return [turn * n + npu for turn in range(k)]
    if collective.name == "all_to_all":
        return [turn * n * n + npu * n + npu for turn in range(k)]
    if collective.name == "all_reduce":
        return []
    return list(range(k)) if npu == collective.root else []


def _number_steps(block: Block) -> None:
    """Number steps; one that waits for several others gets steps `nop` before it, which wait for the rest."""
    numbered: list[BlockStep] = []
    for step in block.steps:
        latest: dict[int, BlockStep] = {}
        for other in step.after:
            if other.block is not block:
                old = latest.get(other.block.number)
                after = old is None or other.block.steps.index(other) > old.block.steps.index(old)
                if after:
                    latest[other.block.number] = other
        *others, step.after = [[other] for other in latest.values()] or [[]]
        for waited in others:
            numbered.append(BlockStep("nop", Slot("i", -1), Slot("i", -1), block, waited))
        numbered.append(step)
    for number, step in enumerate(numbered):
        step.number = number
        for other in step.after:
            other.is_awaited = True
    block.steps = numbered
