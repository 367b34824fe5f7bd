"""Steps of MSCCL in thread blocks: a queue of messages in as many channels as its steps need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from dse.collectives.files.msccl_buffers import Slot
from dse.collectives.files.msccl_steps import Link, Step
from dse.collectives.interpret.limits import Limits

Role = tuple[int, Link | None, Link | None]
"""The work of a block: its GPU, the queue that it takes from, and the one that it sends into."""


@dataclass(eq=False)
class Block:
    """A thread block of a GPU; -1 means that it sends to none, or receives from none."""

    gpu: int
    send: int = -1
    receive: int = -1
    channel: int = 0
    steps: list[Step] = field(default_factory=list)

    @property
    def is_awaited(self) -> bool:
        """Whether another block waits for this one."""
        return any(step.is_awaited for step in self.steps)


def blocks_of(
    steps: Sequence[Step], queues: Sequence[Link], npus: int, limits: Limits, room: int
) -> list[list[Block]]:
    """Return the blocks of every GPU: steps in order, at most `room` in a block besides waits.

    Messages that are passed on stay in one channel on their whole way. Blocks that others wait for come
    first, since few numbers fit the key that names them.
    """
    roles = _roles(steps, queues)
    segment_of = _segments(steps, roles, room)
    blocks: dict[tuple[Role, int], Block] = {}
    for step in steps:
        message = max(step.receives, step.sends)
        role = roles[step.gpu, step.receives, step.sends]
        key = (role, segment_of[message])
        if key not in blocks:
            blocks[key] = Block(step.gpu)
        block = blocks[key]
        if step.sends >= 0:
            block.send = queues[step.sends][1]
        if step.receives >= 0:
            block.receive = queues[step.receives][0]
        step.block = id(block)
        block.steps.append(step)
    _give_channels(blocks, limits)
    own: list[list[Block]] = [[] for _ in range(npus)]
    for block in blocks.values():
        own[block.gpu].append(block)
    keep_needed_waits(steps)
    for each in blocks.values():
        _add_waits(each)
    return [sorted(row, key=lambda block: not block.is_awaited) for row in own]


def _roles(steps: Sequence[Step], queues: Sequence[Link]) -> dict[tuple[int, int, int], Role]:
    """The role of every step: queues that pass on share a block with the one that they pass on to."""
    onward: dict[Link, Link] = {}
    for step in steps:
        if step.receives >= 0 and step.sends >= 0:
            onward[queues[step.receives]] = queues[step.sends]
    back = {outgoing: incoming for incoming, outgoing in onward.items()}
    roles: dict[tuple[int, int, int], Role] = {}
    for step in steps:
        taken = queues[step.receives] if step.receives >= 0 else None
        sent = queues[step.sends] if step.sends >= 0 else None
        taken = back.get(sent) if taken is None and sent is not None else taken
        sent = onward.get(taken) if sent is None and taken is not None else sent
        roles[step.gpu, step.receives, step.sends] = (step.gpu, taken, sent)
    return roles


def _segments(steps: Sequence[Step], roles: dict[tuple[int, int, int], Role], room: int) -> dict[int, int]:
    """The segment of every message: the first one in which all blocks on its way have room."""
    way_of: dict[int, int] = {}  # per message the first one of its way
    ways: defaultdict[int, list[Step]] = defaultdict(list)
    for step in steps:
        if step.receives >= 0 and step.sends >= 0:
            way_of[step.sends] = way_of.setdefault(step.receives, step.receives)
        way = way_of.setdefault(max(step.receives, step.sends), max(step.receives, step.sends))
        ways[way].append(step)
    used: defaultdict[tuple[Role, int], int] = defaultdict(int)
    full: defaultdict[Role, int] = defaultdict(int)  # all segments before have no room
    segment_of: dict[int, int] = {}
    for way, own in ways.items():
        touched = [roles[step.gpu, step.receives, step.sends] for step in own]
        segment = max(full[role] for role in touched)
        while any(used[role, segment] >= room for role in touched):
            segment += 1
        for role in touched:
            used[role, segment] += 1
            while used[role, full[role]] >= room:
                full[role] += 1
        segment_of[way] = segment
    return {message: segment_of[way] for message, way in way_of.items()}


def _give_channels(blocks: dict[tuple[Role, int], Block], limits: Limits) -> None:
    """Give all blocks along a way one channel, in which no two blocks of a GPU have one peer."""
    groups: dict[tuple[Link, int], list[Block]] = {}
    for ((_, taken, sent), segment), block in blocks.items():
        rows = [groups.setdefault((link, segment), []) for link in (taken, sent) if link is not None]
        merged = rows[0] if len(rows) == 1 or rows[0] is rows[1] else rows[0] + rows[1]
        merged.append(block)
        if len(rows) == 2 and rows[0] is not rows[1]:
            for key, row in list(groups.items()):
                if row is rows[0] or row is rows[1]:
                    groups[key] = merged
    peers: set[tuple[int, str, int, int]] = set()
    counts: defaultdict[tuple[int, str, int], int] = defaultdict(int)
    done: set[int] = set()
    for row in groups.values():
        if id(row) in done:
            continue
        done.add(id(row))
        ends = [
            (block.gpu, way, peer)
            for block in row
            for way, peer in (("s", block.send), ("r", block.receive))
            if peer >= 0
        ]
        channel = 0
        while any(
            (*end, channel) in peers or counts[end[0], end[1], channel] >= limits.blocks_of_channel
            for end in ends
        ):
            channel += 1
        for end in ends:
            peers.add((*end, channel))
            counts[end[0], end[1], channel] += 1
        for block in row:
            block.channel = channel


def keep_needed_waits(steps: Sequence[Step]) -> None:
    """Drop waits that the order of a block, or another wait, implies; `steps` are in an order that runs."""
    position: dict[int, int] = {}
    known: dict[int, dict[int, int]] = {}  # per block how many steps of others are over
    at: dict[int, tuple[int, dict[int, int]]] = {}  # the same when a step is over
    for step in steps:
        clock = known.setdefault(step.block, {})
        wanted: list[Step] = []
        for other in sorted(set(step.after), key=lambda each: -at[id(each)][0]):
            if other.block == step.block or clock.get(other.block, 0) >= at[id(other)][0]:
                continue
            wanted.append(other)
            for block, count in at[id(other)][1].items():
                clock[block] = max(count, clock.get(block, 0))
        position[step.block] = clock[step.block] = position.get(step.block, 0) + 1
        at[id(step)] = (position[step.block], dict(clock))
        step.after = wanted
    for step in steps:
        for other in step.after:
            other.waiters.append(step.block)


def _add_waits(block: Block) -> None:
    """Number steps; one that waits for several others gets steps `nop` before it, which wait for the rest."""
    numbered: list[Step] = []
    nowhere = Slot("i", -1)
    for step in block.steps:
        for waited in step.after[:-1]:
            numbered.append(Step("nop", block.gpu, nowhere, nowhere, 0, block=step.block, after=[waited]))
        step.after = step.after[-1:]
        numbered.append(step)
    for number, step in enumerate(numbered):
        step.number = number
    block.steps = numbered
