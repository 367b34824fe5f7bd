"""An interpreter of MSCCL++ plans: blocks run, signals and semaphores order them, numbers move."""

from __future__ import annotations

from collections.abc import Iterator

from dse.collectives.interpret.msccl import Findings
from dse.collectives.interpret.plan_order import Signal
from dse.collectives.interpret.plan_packets import Packets
from dse.collectives.interpret.plan_records import ON_SWITCHES, Operation, Plan, PlanBlock, Span
from dse.collectives.interpret.plan_text import read_plan
from dse.collectives.interpret.values import NOTHING, Value, aliased, own, spelled, wanted

_MOST = 20
_Place = tuple[int, str, int]


def interpret_plan(text: str, name: str = "MSCCL++", root: int = 0, npus_per_node: int = 0) -> Findings:
    """Run a plan; within a block only `nop` orders accesses, between blocks only what synchronises does.

    Memory and switch channels must stay in a node of so many GPUs; 0 means that all are in one.

    Raises:
        InputError: the text is no plan, or has what the interpreter does not know.
    """
    plan = read_plan(text, name, npus_per_node)
    operations = [op.name for block in plan.blocks for op in block.operations]
    problems = list(plan.problems)
    if not problems:
        problems = _Run(plan, root).problems()
    on_switches = sum(name in ON_SWITCHES for name in operations)
    return Findings(
        plan.collective,
        len(plan.buffers),
        len(operations),
        tuple(problems[:_MOST]),
        switch_steps=on_switches,
    )


class _Run(Packets):
    """A run of all blocks. Threads of the clocks are the blocks, and the proxy of every port channel."""

    def __init__(self, plan: Plan, root: int) -> None:
        super().__init__(plan)
        self._root = root
        self._gpus = len(plan.buffers)
        self._values: dict[_Place, Value] = {}
        for gpu, buffers in enumerate(plan.buffers):
            for offset in range(buffers["i"]):
                self._values[self._place(gpu, "i", offset)] = own(gpu, offset)
        # per GPU and thread the last time it wrote there, and read there
        self._remote: dict[str, dict[tuple[int, int], int]] = {"written into": {}, "read from": {}}
        self._touched: list[dict[_Place, bool]] = [{} for _ in plan.blocks]  # since the last nop

    def _place(self, gpu: int, buffer: str, offset: int) -> _Place:
        if not self._plan.in_place:
            return gpu, buffer, offset
        chunks = self._plan.chunks
        return gpu, *aliased(self._plan.collective, gpu, chunks, self._root, (buffer, offset))

    def problems(self) -> list[str]:
        """Run, and return what is wrong."""
        moved = True
        while moved:
            moved = False
            for number, block in enumerate(self._plan.blocks):
                while self._done[number] < len(block.operations) and self._go(number, block):
                    moved = True
        stuck = [
            f"{block.name} at operation {done}"
            for block, done in zip(self._plan.blocks, self._done, strict=True)
            if done < len(block.operations)
        ]
        if self._found:
            return self._found[:_MOST]
        if stuck:
            return [f"deadlock: {len(stuck)} blocks, such as {stuck[0]}"]
        return [*self._races(), *self._left_over(), *self._differences()][:_MOST]

    def _races(self) -> Iterator[str]:
        for place, one, other in self._accesses.races[:_MOST]:
            yield f"data race at {place}: {self._name(one)} and {self._name(other)}"

    def _name(self, thread: int) -> str:
        blocks = self._plan.blocks
        if thread < len(blocks):
            return blocks[thread].name
        port = next(port for port, number in self._proxy.items() if number == thread)
        return f"the port of GPU {port[1]} to {port[2]}"

    def _left_over(self) -> Iterator[str]:
        for (kind, gpu, peer, which), queue in self._signals.items():
            if queue:
                yield f"{len(queue)} signals of GPU {gpu} to {peer} ({kind} channel {which}) have no wait"
        for gpu, semaphores in enumerate(self._semaphores):
            for number, queue_of in enumerate(semaphores):
                if len(queue_of) != self._plan.semaphores[gpu][number]:
                    yield f"semaphore {number} of GPU {gpu} ends with {len(queue_of)}, not as it began"
        yield from self._packet_problems()
        for done, remote in self._remote.items():
            for (gpu, thread), time in remote.items():
                own_threads = [i for i, block in enumerate(self._plan.blocks) if block.gpu == gpu]
                for number in own_threads:
                    self._sync(number)
                if not any(self._clocks.is_over(number, thread, time) for number in own_threads):
                    yield f"GPU {gpu} may end before {self._name(thread)} has {done} it"

    def _differences(self) -> Iterator[str]:
        plan = self._plan
        for gpu in range(self._gpus):
            for offset, value in wanted(plan.collective, self._gpus, gpu, plan.chunks, self._root):
                got = self._values.get(self._place(gpu, "o", offset), NOTHING)
                if got != value:
                    yield f"GPU {gpu} ends with {spelled(got)} at o{offset}; it must be {spelled(value)}"

    # ---- one operation

    def _go(self, number: int, block: PlanBlock) -> bool:
        """Do the next operation of a block if it can go on."""
        op = block.operations[self._done[number]]
        if not self._is_free(number, block, op):
            return False
        getattr(self, f"_{op.name}")(number, op)
        self._done[number] += 1
        return True

    def _is_free(self, number: int, block: PlanBlock, op: Operation) -> bool:
        if not self._has_packets(op):
            return False
        return self._is_reached(number, block, op)

    def _put(self, number: int, op: Operation) -> None:
        for channel, source, target in zip(op.channels, op.sources, op.targets, strict=False):
            thread = self._proxy.get(channel, number)
            if thread != number:
                self._clocks.learn(thread, self._over(number))
                self._clocks.tick(thread)
            self._move(number, thread, [source], [target])

    def _pws(self, number: int, op: Operation) -> None:
        self._put(number, op)
        for channel in op.channels:
            clock = self._clocks.snapshot(self._proxy[channel])
            self._send_signal(channel, Signal(clock, self._running[number]))
        if op.name == "pwsf":
            self._flush(number, op)

    _pwsf = _pws

    def _copy(self, number: int, op: Operation) -> None:
        self._move(number, number, op.sources[:1], op.targets[:1])

    def _re(self, number: int, op: Operation) -> None:
        self._move(number, number, op.sources, op.targets[:1])

    def _get(self, number: int, op: Operation) -> None:
        for source, target in zip(op.sources, op.targets, strict=False):
            if source.first != target.first:
                self._say(number, "gets from another offset than it writes to, which the executor swaps")
            self._move(number, number, [source], [target])

    def _res(self, number: int, op: Operation) -> None:
        self._move(number, number, op.sources, op.targets)

    _rre, _rres = _re, _res

    def _glres(self, number: int, op: Operation) -> None:
        (source,) = op.sources[:1]
        self._move(number, number, [source._replace(gpus=(gpu,)) for gpu in source.gpus], op.targets[:1])

    _gstore = _copy

    def _ppkt(self, number: int, op: Operation) -> None:
        for source, target in zip(op.sources, op.targets, strict=True):
            self._emit(number, [target], self._read(number, number, [source], writes=set()))

    _cpkt = _gstorepkt = _ppkt

    def _rppkt(self, number: int, op: Operation) -> None:
        for source, target in zip(op.sources, op.targets, strict=True):
            before = self._clocks.snapshot(number)
            self._emit(number, [target], self._take(number, source))
            self._clocks.reset(number, before)

    def _upkt(self, number: int, op: Operation) -> None:
        before = self._clocks.snapshot(number)
        values = self._take(number, op.sources[0])
        self._store(number, number, op.targets[:1], values, reads=set())
        self._clocks.reset(number, before)

    def _repkt(self, number: int, op: Operation) -> None:
        before = self._clocks.snapshot(number)
        own_places = set(self._places(op.targets[0]))
        values = self._read(number, number, op.sources[:1], writes=own_places)
        for span in op.sources[1:]:
            values = [self._sum(number, a, b) for a, b in zip(values, self._take(number, span), strict=True)]
        self._store(number, number, op.targets[:1], values, reads=set(self._places(op.sources[0])))
        self._emit(number, op.targets[1:], values)
        self._clocks.reset(number, before)

    _respkt = _recpkt = _recspkt = _repkt

    def _sync(self, number: int) -> None:
        super()._sync(number)
        self._touched[number].clear()

    def _places(self, span: Span) -> list[_Place]:
        return [self._place(gpu, span.buffer, span.first + i) for gpu in span.gpus for i in range(span.size)]

    def _move(self, number: int, thread: int, sources: list[Span], targets: list[Span]) -> None:
        """Write the sum of the sources into every GPU of the targets."""
        written = {place for span in targets for place in self._places(span)}
        values = self._read(number, thread, sources[:1], writes=written)
        for span in sources[1:]:
            more = self._read(number, thread, [span], writes=written)
            values = [self._sum(number, a, b) for a, b in zip(values, more, strict=True)]
        read = {place for span in sources for place in self._places(span)}
        self._store(number, thread, targets, values, reads=read)

    def _read(self, number: int, thread: int, spans: list[Span], writes: set[_Place]) -> list[Value]:
        places = [place for span in spans for place in self._places(span)]
        self._touch(number, thread, places, [], writes)
        values = []
        self._reach(number, thread, {place[0] for place in places}, "read from")
        for place in places:
            value = self._values.get(place, NOTHING)
            if not value:
                self._say(
                    number, f"reads {place[1]}{place[2]} of GPU {place[0]}, where nothing has been written"
                )
            values.append(value)
        return values

    def _store(
        self, number: int, thread: int, targets: list[Span], values: list[Value], reads: set[_Place]
    ) -> None:
        for span in targets:
            for other in span.gpus:
                places = self._places(span._replace(gpus=(other,)))
                if len(places) != len(values):
                    self._say(number, f"moves {len(values)} chunks into {len(places)}")
                self._touch(number, thread, [], places, reads)
                self._values.update(zip(places, values, strict=False))
                self._reach(number, thread, {other}, "written into")
                if span.buffer == "i" and not self._plan.in_place:
                    self._say(number, "writes an input, which must stay as it is out of place")

    def _reach(self, number: int, thread: int, gpus: set[int], done: str) -> None:
        """Take an access to GPUs; others must have begun, and must not end before it is over."""
        for gpu in sorted(gpus - {self._plan.blocks[number].gpu}):
            self._remote[done][gpu, thread] = self._clocks.time(thread)
            if gpu not in self._running[number]:
                verb = "reads from" if done == "read from" else "writes into"
                self._say(number, f"{verb} GPU {gpu}, which may not have begun")

    def _touch(
        self, number: int, thread: int, read: list[_Place], written: list[_Place], same: set[_Place]
    ) -> None:
        """Take accesses; `same` are places of the same operation, whose threads each keep to their bytes."""
        if thread == number:
            touched = self._touched[number]
            for place in (*read, *written):
                is_write = place in written
                if place in touched and place not in same and (is_write or touched[place]):
                    self._say(
                        number, f"touches {place[1]}{place[2]} of GPU {place[0]} twice without a nop between"
                    )
                touched[place] = touched.get(place, False) or is_write
        self._plain.update(place for place in (*read, *written) if place[1] == "s")
        self._accesses.step(thread, map(_named, read), map(_named, written))

    def _sum(self, number: int, one: Value, other: Value) -> Value:
        if one & other:
            self._say(number, f"adds {spelled(one & other)} twice")
        return one | other


def _named(place: _Place) -> str:
    return f"{place[1]}{place[2]} of GPU {place[0]}"
