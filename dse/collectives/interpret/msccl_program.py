"""A program of MSCCL: blocks of steps per GPU, and the rules and limits that it must keep before it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dse.base.errors import InputError
from dse.collectives.interpret.limits import MOST_CHUNKS, Limits
from dse.collectives.interpret.msccl_text import Node
from dse.collectives.interpret.values import COLLECTIVES, Place, chunks_of

RECEIVES, SENDS = ("r", "rcs", "rrc", "rrs", "rrcs"), ("s", "rcs", "rrs", "rrcs")
_READS, _WRITES = ("s", "cpy", "re", "rrc", "rrs", "rrcs"), ("r", "rcs", "rrc", "rrcs", "cpy", "re")


class Step(NamedTuple):
    """A step; `after` is the block and the step that it waits for."""

    kind: str
    source: Place
    target: Place
    chunks: int
    after: tuple[int, int] | None
    is_awaited: bool

    def read(self) -> list[Place]:
        """Return the places that it reads."""
        places = _range(self.source, self.chunks) if self.kind in _READS else []
        return places + (_range(self.target, self.chunks) if self.kind == "re" else [])

    def written(self) -> list[Place]:
        """Return the places that it writes."""
        return _range(self.target, self.chunks) if self.kind in _WRITES else []


def _range(place: Place, count: int) -> list[Place]:
    return [(place[0], place[1] + i) for i in range(count)]


class Block(NamedTuple):
    """A thread block: its GPU and number, its peers (-1: none), its channel, and its steps."""

    gpu: int
    number: int
    send: int
    receive: int
    channel: int
    steps: list[Step]

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"GPU {self.gpu}, block {self.number}"


@dataclass(frozen=True)
class Program:
    """All blocks; `chunks` are those of a GPU, `buffers` per GPU the chunks of `i`, `o` and `s`."""

    coll: str
    gpus: int
    root: int
    chunks: int
    per_loop: int
    channels: int
    modes: tuple[bool, ...]
    buffers: list[dict[str, int]]
    blocks: list[Block]


def program_of(algo: Node, name: str, root: int) -> Program:
    """Return the program of a file.

    Raises:
        InputError: its collective is unknown, or its GPUs are not numbered from 0 on.
    """
    coll, gpus = algo.words["coll"], algo.numbers["ngpus"]
    if coll not in COLLECTIVES:
        raise InputError(f"{name}: coll is '{coll}'; known are {', '.join(COLLECTIVES)}")
    if sorted(gpu.numbers["id"] for gpu in algo.inside) != list(range(gpus)):
        raise InputError(f"{name}: ngpus is {gpus}, but the numbers of its nodes gpu are not 0 to {gpus - 1}")
    if not 0 <= root < gpus:
        raise InputError(f"{name}: its root is {root}; it must be 0 to {gpus - 1}")
    nodes = sorted(algo.inside, key=lambda gpu: gpu.numbers["id"])
    blocks = [
        Block(
            gpu,
            node.numbers["id"],
            node.numbers["send"],
            node.numbers["recv"],
            node.numbers["chan"],
            _steps(node),
        )
        for gpu, outer in enumerate(nodes)
        for node in outer.inside
    ]
    per_loop = algo.numbers["nchunksperloop"]
    spread = coll in ("allgather", "reducescatter", "alltoall")
    return Program(
        coll=coll,
        gpus=gpus,
        root=root,
        chunks=per_loop // gpus if spread else per_loop,
        per_loop=per_loop,
        channels=algo.numbers["nchannels"],
        modes=tuple(mode for key, mode in (("outofplace", False), ("inplace", True)) if algo.numbers[key]),
        buffers=[{key: node.numbers[f"{key}_chunks"] for key in "ios"} for node in nodes],
        blocks=blocks,
    )


def _steps(block: Node) -> list[Step]:
    return [
        Step(
            node.words["type"],
            (node.words["srcbuf"], node.numbers["srcoff"]),
            (node.words["dstbuf"], node.numbers["dstoff"]),
            node.numbers["cnt"],
            None if after == (-1, -1) else after,
            node.numbers["hasdep"] == 1,
        )
        for node in block.inside
        for after in [(node.numbers["depid"], node.numbers["deps"])]
    ]


def broken_rules(algo: Node, program: Program, limits: Limits) -> Iterator[str]:
    """Yield the rules and limits of a runtime that a file breaks before it runs."""
    yield from _file_rules(algo, program, limits)
    sizes: dict[tuple[int, str, int, int], list[int]] = {}
    in_channel: Counter[tuple[int, str, int]] = Counter()
    of_gpu: Counter[int] = Counter()
    steps = {(block.gpu, block.number): block.steps for block in program.blocks}
    for block in program.blocks:
        if block.number != of_gpu[block.gpu]:
            yield f"{block.name} is number {of_gpu[block.gpu]} in its GPU; numbers must count from 0"
        of_gpu[block.gpu] += 1
        if not 0 <= block.channel < program.channels:
            yield f"{block.name} has channel {block.channel}; there are {program.channels}"
        for way, peer, kinds in (("send", block.send, SENDS), ("recv", block.receive, RECEIVES)):
            if peer >= 0:
                key = (block.gpu, way, peer, block.channel)
                in_channel[block.gpu, way, block.channel] += 1
                if key in sizes:
                    yield f"{block.name}: another block has {way} {peer} in channel {block.channel} too"
                sizes[key] = [step.chunks for step in block.steps if step.kind in kinds]
            if peer == block.gpu or not -1 <= peer < program.gpus:
                yield f"{block.name} has {way} {peer}; it must be another GPU, or -1"
        if len(block.steps) > limits.steps:
            yield f"{block.name} has {len(block.steps)} steps; {limits.name} takes {limits.steps}"
        yield from _step_rules(block, program, steps, limits)
    for (gpu, way, peer, channel), counts in sizes.items():
        other = (peer, "recv" if way == "send" else "send", gpu, channel)
        if sizes.get(other) != counts:
            yield f"GPU {gpu}: messages of {way} {peer} in channel {channel} differ from those of its peer"
    for (gpu, way, channel), count in in_channel.items():
        if count > limits.blocks_of_channel:
            yield f"GPU {gpu} has {count} blocks that {way} in channel {channel}; at most 32 are taken"
    for gpu, count in of_gpu.items():
        if count > limits.blocks:
            yield f"GPU {gpu} has {count} blocks; {limits.name} takes {limits.blocks}"


def _file_rules(algo: Node, program: Program, limits: Limits) -> Iterator[str]:
    used = max((block.channel for block in program.blocks), default=0) + 1
    if not used == program.channels <= limits.channels:
        yield f"nchannels is {program.channels}; its blocks use {used}, and {limits.channels} are taken"
    if program.coll in ("allgather", "reducescatter", "alltoall") and program.per_loop % program.gpus:
        yield f"nchunksperloop is {program.per_loop}, no multiple of ngpus"
    if not program.modes:
        yield "inplace and outofplace are 0; one of them must be 1"
    least, most = algo.numbers["minBytes"], algo.numbers["maxBytes"]
    if least < 0 or (most and most < least) or most < 0:
        yield f"minBytes is {least} and maxBytes {most}; they are no range"
    if len(algo.inside) > limits.children or any(
        len(node.inside) > limits.children for gpu in algo.inside for node in (gpu, *gpu.inside)
    ):
        yield f"a node has more than {limits.children} nodes inside"
    for gpu in algo.inside:
        nodes = 1 + program.gpus + len(gpu.inside) + sum(len(block.inside) for block in gpu.inside)
        if nodes > limits.nodes:
            yield f"GPU {gpu.numbers['id']} has {nodes} nodes; {limits.nodes} are kept"
        for block in gpu.inside:
            if [step.numbers["s"] for step in block.inside] != list(range(len(block.inside))):
                yield f"GPU {gpu.numbers['id']}, block {block.numbers['id']}: steps must count from 0"
    if program.per_loop > MOST_CHUNKS:
        yield f"nchunksperloop is {program.per_loop}; at most {MOST_CHUNKS} are interpreted"
    for number, own in enumerate(program.buffers):
        wants = chunks_of(program.coll, program.gpus, number, program.chunks, program.root)
        if program.coll == "allreduce":
            wants = (program.per_loop, program.per_loop)
        if (own["i"], own["o"]) != wants or own["s"] < 0:
            yield (
                f"GPU {number} has i_chunks {own['i']}, o_chunks {own['o']}; "
                f"nchunksperloop {program.per_loop} of {program.coll} makes {wants[0]} and {wants[1]}"
            )


def _step_rules(
    block: Block, program: Program, steps: dict[tuple[int, int], list[Step]], limits: Limits
) -> Iterator[str]:
    before = None
    for number, step in enumerate(block.steps):
        name = f"{block.name}, step {number}"
        if (step.kind in SENDS and block.send < 0) or (step.kind in RECEIVES and block.receive < 0):
            yield f"{name} is {step.kind}, but its block has no peer for it"
        least = 0 if step.kind == "nop" else 1
        if not least <= step.chunks <= limits.chunks_of_step:
            yield f"{name} has cnt {step.chunks}; it must be {least} to {limits.chunks_of_step}"
            continue
        for buffer, offset in (*step.read(), *step.written()):
            if not 0 <= offset < program.buffers[block.gpu][buffer]:
                yield f"{name} takes {buffer}{offset}, which GPU {block.gpu} does not have"
                break
        if step.after is not None:
            other, awaited = step.after
            found = steps.get((block.gpu, other), [])
            if not 0 <= awaited < len(found) or not found[awaited].is_awaited:
                yield f"{name} waits for step {awaited} of block {other}, which is not there or lacks hasdep"
            if other > limits.awaited_block:
                yield f"{name} waits for block {other}; numbers above {limits.awaited_block} do not fit"
        elif before is not None and before.kind == "nop" and step.kind != "nop":
            yield f"{name} comes after a nop, but waits for nothing"
        before = step
