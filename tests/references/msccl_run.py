"""An interpreter of MSCCL XML: runs all thread blocks, and says whether everyone ends with what it wants."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from dse.base.errors import InputError

Value = frozenset[tuple[int, int]]  # contributions: (GPU, offset in its input)
_RECEIVES = ("r", "rcs", "rrc", "rrs", "rrcs")
_SENDS = ("s", "rcs", "rrs", "rrcs")
_TYPES = (*_RECEIVES, "s", "re", "cpy", "nop")


@dataclass(frozen=True)
class _Step:
    kind: str
    source: tuple[str, int]
    target: tuple[str, int]
    count: int
    waits_for: tuple[int, int] | None
    is_awaited: bool


@dataclass(eq=False)
class _Block:
    gpu: int
    number: int
    send: int
    receive: int
    channel: int
    steps: list[_Step]
    done: int = 0


@dataclass(eq=False)
class _Machine:
    coll: str
    gpus: int
    blocks: list[_Block]
    inputs: int
    buffers: list[dict[tuple[str, int], Value]]
    queues: dict[tuple[int, int, int], deque[list[Value]]] = field(default_factory=dict)


def run_msccl(text: str, root: int = 0) -> list[str]:
    """Run a program; return what is wrong with it, nothing if it does what its collective says.

    A connection holds one message: a send waits until the one before has been received. `root` is that of
    broadcast and reduce, which the format does not say.

    Raises:
        InputError: the text is no such program.
    """
    machine = _parsed(text)
    problems = [*_structure(machine)]
    if problems:
        return problems
    problems = [*_run(machine)]
    return problems or [*_differences(machine, root)]


def _parsed(text: str) -> _Machine:
    try:
        algo = ET.fromstring(text)
        gpus = int(algo.attrib["ngpus"])
        inputs = {int(gpu.attrib["i_chunks"]) for gpu in algo}
        if len(inputs) != 1 or sorted(int(gpu.attrib["id"]) for gpu in algo) != list(range(gpus)):
            raise InputError("MSCCL: the GPUs must be 0 … ngpus-1, all with the same i_chunks")
        (size,) = inputs
        blocks = [
            _block(int(gpu.attrib["id"]), block.attrib, [_step(step.attrib) for step in block])
            for gpu in algo
            for block in gpu
        ]
    except (ET.ParseError, KeyError, ValueError) as error:
        raise InputError(f"MSCCL: cannot be read: {error!r}") from None
    buffers: list[dict[tuple[str, int], Value]] = [
        {("i", offset): frozenset([(gpu, offset)]) for offset in range(size)} for gpu in range(gpus)
    ]
    return _Machine(algo.attrib["coll"], gpus, blocks, size, buffers)


def _block(gpu: int, attributes: dict[str, str], steps: list[_Step]) -> _Block:
    number, send, receive, channel = (int(attributes[name]) for name in ("id", "send", "recv", "chan"))
    return _Block(gpu, number, send, receive, channel, steps)


def _step(attributes: dict[str, str]) -> _Step:
    if attributes["type"] not in _TYPES:
        raise ValueError(f"type {attributes['type']}")
    block = int(attributes["depid"])
    return _Step(
        attributes["type"],
        (attributes["srcbuf"], int(attributes["srcoff"])),
        (attributes["dstbuf"], int(attributes["dstoff"])),
        int(attributes["cnt"]),
        None if block < 0 else (block, int(attributes["deps"])),
        attributes["hasdep"] == "1",
    )


def _structure(machine: _Machine) -> Iterator[str]:
    """The limits of the format, and whether what steps wait for exists and says so."""
    connections: Counter[tuple[int, str, int, int]] = Counter()
    per_channel: Counter[tuple[int, int]] = Counter()
    steps = {(block.gpu, block.number): block.steps for block in machine.blocks}
    if len(steps) < len(machine.blocks):
        yield "two thread blocks of a GPU have one number"
    for block in machine.blocks:
        name = f"GPU {block.gpu}, block {block.number}"
        per_channel[block.gpu, block.channel] += 1
        for direction, peer in (("send", block.send), ("recv", block.receive)):
            if peer >= 0:
                connections[block.gpu, direction, peer, block.channel] += 1
        if len(block.steps) > 256:
            yield f"{name} has {len(block.steps)} steps; at most 256 are allowed"
        for step in block.steps:
            if (step.kind in _SENDS and block.send < 0) or (step.kind in _RECEIVES and block.receive < 0):
                yield f"{name} has a step {step.kind}, but no peer for it"
            if step.waits_for is not None:
                other, number = step.waits_for
                awaited = steps.get((block.gpu, other), [])
                if not 0 <= number < len(awaited) or not awaited[number].is_awaited:
                    yield f"{name} waits for step {number} of block {other}: it lacks hasdep, or is not there"
    for connection, count in connections.items():
        if count > 1:
            yield f"GPU {connection[0]} has {count} blocks for {connection[1:]}"
    for (gpu, channel), count in per_channel.items():
        if count > 32:
            yield f"GPU {gpu} has {count} blocks in channel {channel}; at most 32 are allowed"


def _run(machine: _Machine) -> Iterator[str]:
    """Let every block go on until none can."""
    by_number = {(block.gpu, block.number): block for block in machine.blocks}
    problems: list[str] = []
    moved = True
    while moved and not problems:
        moved = False
        for block in machine.blocks:
            while block.done < len(block.steps) and _can_go(machine, block, by_number):
                _do(machine, block, problems)
                block.done += 1
                moved = True
    stuck = [block for block in machine.blocks if block.done < len(block.steps)]
    if stuck and not problems:
        first = stuck[0]
        problems.append(
            f"deadlock: {len(stuck)} blocks, such as GPU {first.gpu}, block {first.number} "
            f"at step {first.done}"
        )
    yield from problems


def _can_go(machine: _Machine, block: _Block, by_number: dict[tuple[int, int], _Block]) -> bool:
    step = block.steps[block.done]
    if step.waits_for is not None and by_number[block.gpu, step.waits_for[0]].done <= step.waits_for[1]:
        return False
    incoming = machine.queues.get((block.receive, block.gpu, block.channel))
    outgoing = machine.queues.get((block.gpu, block.send, block.channel))
    return not (step.kind in _RECEIVES and not incoming) and not (step.kind in _SENDS and outgoing)


def _do(machine: _Machine, block: _Block, problems: list[str]) -> None:
    step, buffer = block.steps[block.done], machine.buffers[block.gpu]
    name = f"GPU {block.gpu}, block {block.number}, step {block.done}"
    if step.kind == "nop":
        return

    def read(place: tuple[str, int]) -> list[Value]:
        places = [(place[0], place[1] + i) for i in range(step.count)]
        problems.extend(f"{name} reads {p}, where nothing is" for p in places if p not in buffer)
        return [buffer.get(p, frozenset()) for p in places]

    def added(one: list[Value], other: list[Value]) -> list[Value]:
        for a, b in zip(one, other, strict=True):
            if a & b:
                problems.append(f"{name} adds the contribution of {min(a & b)} twice")
        return [a | b for a, b in zip(one, other, strict=True)]

    values: list[Value] = []
    if step.kind in _RECEIVES:
        values = machine.queues[block.receive, block.gpu, block.channel].popleft()
    if step.kind in ("rrc", "rrs", "rrcs"):
        values = added(values, read(step.source))
    if step.kind in ("s", "cpy"):
        values = read(step.source)
    if step.kind == "re":
        values = added(read(step.source), read(step.target))
    if step.kind not in ("s", "rrs"):
        for i, value in enumerate(values):
            buffer[step.target[0], step.target[1] + i] = value
    if step.kind in _SENDS:
        machine.queues.setdefault((block.gpu, block.send, block.channel), deque()).append(values)


def _differences(machine: _Machine, root: int) -> Iterator[str]:
    """Where a GPU does not end with what its collective says."""
    for gpu in range(machine.gpus):
        for place, value in _wanted(machine, gpu, root):
            got = machine.buffers[gpu].get(place, frozenset())
            if got != value:
                yield f"GPU {gpu} ends with {sorted(got)[:4]} at {place}; it must be {sorted(value)[:4]}"


def _wanted(machine: _Machine, gpu: int, root: int) -> Iterator[tuple[tuple[str, int], Value]]:
    n, size = machine.gpus, machine.inputs

    def whole(offset: int) -> Value:
        return frozenset((other, offset) for other in range(n))

    if machine.coll == "allgather":
        for offset in range(n * size):
            yield ("o", offset), frozenset([(offset // size, offset % size)])
    elif machine.coll == "alltoall":
        k = size // n
        for offset in range(size):
            yield ("o", offset), frozenset([(offset // k, gpu * k + offset % k)])
    elif machine.coll == "reducescatter":
        k = size // n
        yield from ((("o", offset), whole(gpu * k + offset)) for offset in range(k))
    elif machine.coll == "allreduce":
        yield from ((("i", offset), whole(offset)) for offset in range(size))
    elif machine.coll == "broadcast":
        yield from ((("o", offset), frozenset([(root, offset)])) for offset in range(size))
    elif machine.coll == "reduce":
        if gpu == root:
            yield from ((("o", offset), whole(offset)) for offset in range(size))
    else:
        raise InputError(f"MSCCL: coll is '{machine.coll}', which the interpreter does not know")
