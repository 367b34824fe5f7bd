"""An interpreter of MSCCL XML: the result of all interleavings, deadlocks, data races, in place or not."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from dse.collectives.interpret.clocks import Accesses, Clock, Clocks
from dse.collectives.interpret.limits import MSCCL_LIMITS, Limits
from dse.collectives.interpret.msccl_program import (
    RECEIVES,
    SENDS,
    Block,
    Program,
    Step,
    broken_rules,
    program_of,
)
from dse.collectives.interpret.msccl_text import read_nodes
from dse.collectives.interpret.values import NOTHING, Place, Value, aliased, own, spelled, wanted

_MOST = 20
_ADDS = ("rrc", "rrs", "rrcs")


class Findings(NamedTuple):
    """The collective of a file, and all that is wrong with it; nothing is wrong if `problems` is empty.

    `needs_a_slot` says that the program ends only where a send need not wait for its receiver. `switch_steps`
    are operations in which a switch adds or copies.
    """

    coll: str
    gpus: int
    steps: int
    problems: tuple[str, ...]
    needs_a_slot: bool = False
    switch_steps: int = 0


def interpret_msccl(
    text: str, name: str = "MSCCL", limits: str = "msccl-executor", root: int | None = None
) -> Findings:
    """Run a file for every case that it says it is for.

    `root` is that of broadcast, reduce, gather and scatter, which the format does not have: without it the
    name of the program says it as `root-3`, else it is 0.

    Raises:
        InputError: the text is no such file.
    """
    algo = read_nodes(text, name)
    said = re.search(r"root-(\d{1,9})", algo.words.get("name", ""))
    if root is None:
        root = int(said[1]) if said else 0
    program = program_of(algo, name, root)
    found: Limits = MSCCL_LIMITS[limits]
    problems = list(broken_rules(algo, program, found))
    needs_a_slot = False
    for in_place in () if problems else program.modes:
        run = _Run(program, in_place=in_place)
        problems += run.problems()
        needs_a_slot = needs_a_slot or (not problems and not _Run(program, in_place=in_place, slots=0).ends())
    steps = sum(len(block.steps) for block in program.blocks)
    return Findings(program.coll, program.gpus, steps, tuple(problems[:_MOST]), needs_a_slot)


class _Run:
    """One run of all blocks; with waits and messages in fixed order, each run ends in the same state."""

    def __init__(self, program: Program, *, in_place: bool, slots: int = 1, is_global: bool = False) -> None:
        self._program, self._in_place, self._slots = program, in_place, slots
        self._is_global = is_global  # order through messages counts as well
        self._buffers: list[dict[Place, Value]] = [{} for _ in range(program.gpus)]
        for gpu, buffers in enumerate(program.buffers):
            for offset in range(buffers["i"]):
                self._buffers[gpu][self._place(gpu, ("i", offset))] = own(gpu, offset)
        self._queues: dict[tuple[int, int, int], deque[tuple[list[Value], Clock | None]]] = {}
        # A step that passes a message on holds it: the second of the two that a queue has room for.
        self._taken: dict[int, tuple[list[Value], Clock | None]] = {}
        self._done = [0] * len(program.blocks)
        self._number = {(block.gpu, block.number): i for i, block in enumerate(program.blocks)}
        self._receivers = {
            (block.gpu, block.receive, block.channel): i for i, block in enumerate(program.blocks)
        }
        self._thread, sizes = self._threads()
        self._clocks = [Clocks(size) for size in sizes]
        self._accesses = [Accesses(clocks) for clocks in self._clocks]
        self._published: dict[tuple[int, int], Clock] = {}
        self._found: list[str] = []

    def _threads(self) -> tuple[list[tuple[int, int]], list[int]]:
        """Per block its set of clocks and its number there, and the sizes of the sets."""
        if self._is_global:
            return [(0, i) for i in range(len(self._program.blocks))], [len(self._program.blocks)]
        sizes = [0] * self._program.gpus
        threads = []
        for block in self._program.blocks:
            threads.append((block.gpu, sizes[block.gpu]))
            sizes[block.gpu] += 1
        return threads, sizes

    def _place(self, gpu: int, place: Place) -> Place:
        if not self._in_place:
            return place
        return aliased(self._program.coll, gpu, self._program.chunks, self._program.root, place)

    def ends(self) -> bool:
        """Whether all blocks come to their end."""
        waiting = deque(range(len(self._done)))
        asleep: list[int] = []
        moved = True
        while moved:
            moved = False
            while waiting:
                number = waiting.popleft()
                while self._go(number):
                    moved = True
                if self._done[number] < len(self._program.blocks[number].steps):
                    asleep.append(number)
            waiting.extend(asleep)
            asleep.clear()
        return not waiting

    def problems(self) -> list[str]:
        """Run, and return what is wrong."""
        how = " in place" if self._in_place else ""
        if not self.ends():
            return [f"deadlock{how}: {self._stuck()}"]
        if self._found:
            return self._found[:_MOST]
        races = list(self._races())
        if races and not self._is_global:  # other GPUs may order what no wait does
            again = _Run(self._program, in_place=self._in_place, is_global=True)
            again.ends()
            races = list(again._races())
        left = [key for key, queue in self._queues.items() if queue]
        lost = [f"GPU {key[1]} never takes a message of GPU {key[0]} in channel {key[2]}" for key in left]
        return [*races, *lost, *self._differences()][:_MOST]

    def _stuck(self) -> str:
        stuck = [
            (block, done)
            for block, done in zip(self._program.blocks, self._done, strict=True)
            if done < len(block.steps)
        ]
        return f"{len(stuck)} blocks, such as {stuck[0][0].name} at step {stuck[0][1]}"

    def _races(self) -> Iterator[str]:
        for gpu, accesses in enumerate(self._accesses):
            for place, one, other in accesses.races[:_MOST]:
                names = f"{self._name(gpu, one)} and {self._name(gpu, other)}"
                yield f"data race at {place}: {names}"

    def _name(self, gpu: int, thread: int) -> str:
        blocks = self._program.blocks
        own_blocks = blocks if self._is_global else [block for block in blocks if block.gpu == gpu]
        return own_blocks[thread].name

    def _go(self, number: int) -> bool:
        """Do the next step of a block if it can go on."""
        block = self._program.blocks[number]
        done = self._done[number]
        if done == len(block.steps):
            return False
        step = block.steps[done]
        if step.after is not None and self._done[self._number[block.gpu, step.after[0]]] <= step.after[1]:
            return False
        if step.kind in RECEIVES and number not in self._taken:
            incoming = self._queues.get((block.receive, block.gpu, block.channel))
            if not incoming:
                return False
            self._taken[number] = incoming.popleft()
            return True
        if step.kind in SENDS and not self._has_room(block):
            return False
        self._do(number, block, step)
        self._done[number] += 1
        return True

    def _has_room(self, block: Block) -> bool:
        queue = self._queues.get((block.gpu, block.send, block.channel))
        if self._slots:
            return not queue or len(queue) < self._slots
        return not queue and self._takes(block)  # a rendezvous

    def _takes(self, block: Block) -> bool:
        """Whether the receiver of a block is at a step that receives, and free to go."""
        number = self._receivers[block.send, block.gpu, block.channel]
        other, done = self._program.blocks[number], self._done[number]
        if done == len(other.steps) or other.steps[done].kind not in RECEIVES:
            return False
        after = other.steps[done].after
        return after is None or self._done[self._number[other.gpu, after[0]]] > after[1]

    def _do(self, number: int, block: Block, step: Step) -> None:
        group, thread = self._thread[number]
        clocks = self._clocks[group]
        message: tuple[list[Value], Clock | None] = ([], None)
        if step.after is not None:
            other = self._number[block.gpu, step.after[0]]
            clocks.learn(thread, self._published[other, step.after[1]])
        if step.kind in RECEIVES:
            message = self._taken.pop(number)
            if message[1] is not None:
                clocks.learn(thread, message[1])
        clocks.tick(thread)
        read = [self._place(block.gpu, place) for place in step.read()]
        written = [self._place(block.gpu, place) for place in step.written()]
        if step.kind != "cpy" or read != written:  # a copy onto itself changes nothing
            self._touch(group, thread, block.gpu, read, written)
        values = self._values(block, step, number, message[0])
        for place, value in zip(written, values, strict=False):
            self._buffers[block.gpu][place] = value
        if not self._in_place and any(buffer == "i" for buffer, _ in written):
            self._say(block, number, "writes the input, which must stay as it is out of place")
        now = clocks.snapshot(thread) if step.is_awaited or (step.kind in SENDS and self._is_global) else None
        if step.is_awaited and now is not None:
            self._published[number, self._done[number]] = now
        if step.kind in SENDS:
            queue = self._queues.setdefault((block.gpu, block.send, block.channel), deque())
            queue.append((values, now if self._is_global else None))

    def _touch(self, group: int, thread: int, gpu: int, read: list[Place], written: list[Place]) -> None:
        self._accesses[0 if self._is_global else group].step(
            thread, [_named(gpu, place) for place in read], [_named(gpu, place) for place in written]
        )

    def _values(self, block: Block, step: Step, number: int, message: list[Value]) -> list[Value]:
        """Return the values that a step writes or sends."""
        if step.kind == "nop":
            return []
        if step.kind in ("r", "rcs"):
            return message
        source = self._read(block, number, step.source, step.chunks)
        if step.kind in _ADDS:
            return self._added(block, number, message, source)
        if step.kind == "re":
            return self._added(block, number, source, self._read(block, number, step.target, step.chunks))
        return source

    def _read(self, block: Block, number: int, first: Place, count: int) -> list[Value]:
        values = []
        for offset in range(first[1], first[1] + count):
            value = self._buffers[block.gpu].get(self._place(block.gpu, (first[0], offset)), NOTHING)
            if not value:
                self._say(block, number, f"reads {first[0]}{offset}, where nothing has been written")
            values.append(value)
        return values

    def _added(self, block: Block, number: int, one: list[Value], other: list[Value]) -> list[Value]:
        for a, b in zip(one, other, strict=True):
            if a & b:
                self._say(block, number, f"adds {spelled(a & b)} twice")
        return [a | b for a, b in zip(one, other, strict=True)]

    def _say(self, block: Block, number: int, text: str) -> None:
        self._found.append(f"{block.name}, step {self._done[number]} {text}")

    def _differences(self) -> Iterator[str]:
        """Where a GPU does not end with what its collective says."""
        program = self._program
        for gpu in range(program.gpus):
            for offset, value in wanted(program.coll, program.gpus, gpu, program.chunks, program.root):
                got = self._buffers[gpu].get(self._place(gpu, ("o", offset)), NOTHING)
                if got != value:
                    yield f"GPU {gpu} ends with {spelled(got)} at o{offset}; it must be {spelled(value)}"


def _named(gpu: int, place: Place) -> str:
    return f"{place[0]}{place[1]} of GPU {gpu}"
