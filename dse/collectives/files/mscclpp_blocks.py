"""Operations of an MSCCL++ plan: what senders, receivers and groups behind switches do, and wait for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from dse.collectives.files.msccl_blocks import keep_needed_waits
from dse.collectives.files.msccl_buffers import Slot, Slots, in_place
from dse.collectives.files.msccl_steps import Step, queues_of, steps_of
from dse.collectives.files.mscclpp_workers import Json, PlanOptions, Worker, Workers
from dse.collectives.files.switch_groups import Moves
from dse.collectives.interpret.limits import PLAN_LIMITS

_PACKET = "packet"  # the buffer of places for packets, the first ones of scratch
NOP: Json = {"name": "nop"}


class Blocks:
    """The blocks of all GPUs, with their operations."""

    def __init__(
        self, moves: Moves, slots: Slots, options: PlanOptions, room: int, *, is_in_place: bool
    ) -> None:
        self.options, self.in_place, self.collective = options, is_in_place, slots.collective
        self.is_packets = options.protocol == "LL"
        self.semaphores: list[dict[tuple[int, int], int]] = [{} for _ in range(self.collective.npus)]
        self._moves, self._slots = moves, slots
        self._landing: dict[Any, Slot] = {}  # per message or group where it arrives
        self._packets = [0] * self.collective.npus  # places for packets
        groups = moves.groups
        steps = steps_of(moves.messages, {}, self.collective, slots, groups, stores=not self.is_packets)
        # A part that nothing has changed is ready when its GPU is.
        self._silent = {id(step) for step in steps if step.kind == "a" and not step.after}
        self._workers = Workers(steps, queues_of(moves.messages), groups, self.collective.npus, room)
        self.of_gpu = self._workers.of_gpu
        for step in steps:
            if step.kind in ("r", "gr") and not self.is_packets:
                step.after = []  # the message itself says that its place is free
        self._ready = self._unheard(steps) if self.is_packets else set()
        self._connect(steps)
        keep_needed_waits(steps)
        self._land(steps)
        for own in self.of_gpu:
            for worker in own:
                _Writer(self, worker).write()

    def _connect(self, steps: Sequence[Step]) -> None:
        """Give groups channels for signals; packets need them only where a GPU hears nothing."""
        for step in steps:
            if step.kind == "gr":
                leader, follower = self._workers.leader(step), self._workers.follower(step, step.gpu)
                if not self.is_packets or (leader.npu, follower.npu) in self._ready:
                    leader.connect(follower)

    def _unheard(self, steps: Sequence[Step]) -> set[tuple[int, int]]:
        """Pairs of a GPU and one that it sends packets to, but may not have heard of when it ends.

        Scratch has two halves for launches in turn. A GPU that runs ahead would fill one that is not read.
        """
        known: dict[int, frozenset[int]] = {}  # at the end of a step: GPUs that have begun
        sent: dict[Any, frozenset[int]] = {}
        at: dict[int, frozenset[int]] = {}
        heard: defaultdict[int, frozenset[int]] = defaultdict(frozenset)
        pairs = set()
        for step in steps:
            source = step.receives if step.kind != "gr" else ("g", step.group)
            begun = known.get(step.block, frozenset([step.gpu])).union(
                sent.get(source, ()), *(at[id(other)] for other in step.after)
            )
            known[step.block] = at[id(step)] = begun
            heard[step.gpu] |= begun
            if step.sends >= 0 or step.kind == "g":
                sent[step.sends if step.kind != "g" else ("g", step.group)] = begun
            if step.receives >= 0:
                pairs.add((self._moves.messages[step.receives].source, step.gpu))
            elif step.kind == "gr":
                pairs.add((self._moves.groups[step.group].owner, step.gpu))
        return {(source, gpu) for source, gpu in pairs if gpu not in heard[source]}

    def _land(self, steps: Sequence[Step]) -> None:
        """Sums and packets land in scratch, each in a place of its own."""
        if self.is_packets:
            self._land_groups()
        for step in steps:
            if step.receives < 0:
                continue
            slot = step.target
            if self.is_packets:
                slot = Slot(_PACKET, self._packets[step.gpu])
                self._packets[step.gpu] += step.count
            elif step.kind == "rrc":
                slot = self._slots.scratch_slot(step.gpu, ("landing", step.receives))
            self._landing[step.receives] = slot

    def _land_groups(self) -> None:
        """Packets of a group land at the same place of all its members."""
        for number, group in enumerate(self._moves.groups):
            first = max(self._packets[npu] for npu in group.members)
            self._landing["g", number] = Slot(_PACKET, first)
            for npu in group.members:
                self._packets[npu] = first + len(group.chunks)

    def scratch(self, npu: int) -> int:
        """Chunks of scratch; packets take twice the room, and other data come after them."""
        others, packets = len(self._slots.scratch[npu]), self._packets[npu]
        return 2 * packets + others if others else packets

    def there(self, npu: int, slot: Slot) -> Slot:
        """Return a place as the plan names it."""
        if slot.buffer == _PACKET:
            return Slot("s", slot.offset)
        if slot.buffer == "s":
            return Slot("s", 2 * self._packets[npu] + slot.offset)
        return in_place(self.collective, npu, slot) if self.in_place else slot

    def chunk(self, npu: int, slot: Slot, count: int) -> Json:
        """Return a local place."""
        named = self.there(npu, slot)
        return {"type": named.buffer, "index": named.offset, "size": count}

    def landing(self, step: Step) -> Slot:
        """Where the message or the packets of a step arrive."""
        return (
            self._landing["g", step.group]
            if step.group >= 0
            else self._landing[max(step.sends, step.receives)]
        )

    def is_ready_asked(self, one: Worker, other: Worker) -> bool:
        """Whether the leader of a channel waits at its end until its follower has begun."""
        return (one.npu, other.npu) in self._ready

    def kind(self, worker: Worker) -> str:
        """Return the type of a block's channels."""
        per_node = self.options.npus_per_node
        is_far = per_node and not worker.group and worker.npu // per_node != worker.peer // per_node
        return "port" if is_far else "memory"

    def spoken(self, step: Step) -> list[int]:
        """Other members of a group that say when their part is ready."""
        group = self._moves.groups[step.group]
        found = []
        for npu in group.leaves:
            steps = self._workers.follower(step, npu).steps
            part = next(each for each in steps if each.group == step.group and each.kind == "a")
            found += [] if id(part) in self._silent else [npu]
        return found

    def is_silent(self, step: Step) -> bool:
        """Whether the part of a member needs no signal."""
        return id(step) in self._silent

    def adds(self, step: Step) -> bool:
        """Whether the operation of a group is a sum."""
        return self._moves.groups[step.group].adds

    def leader(self, step: Step) -> Worker:
        """The block that does the operation of a group."""
        return self._workers.leader(step)


class _Writer:
    """Writes the operations of a block."""

    def __init__(self, blocks: Blocks, worker: Worker) -> None:
        self._blocks, self._worker = blocks, worker
        self._add = worker.operations.append

    def write(self) -> None:
        """Make the operations."""
        worker, blocks = self._worker, self._blocks
        waits_of = {id(step): self._acquired(step) for step in worker.steps}
        everyone = list(range(len(worker.ends)))
        asked = everyone
        if blocks.is_packets:
            asked = [
                i
                for i, end in enumerate(worker.ends)
                if blocks.is_ready_asked(*((worker, end) if worker.leads else (end, worker)))
            ]
        if not (blocks.is_packets and worker.leads):
            self._on("rlxwait" if worker.leads else "rlxsignal", asked)
            if not blocks.is_packets and not (worker.leads and waits_of[id(worker.steps[0])]):
                self._nop()
        for step in worker.steps:
            waits = waits_of[id(step)]
            if step.group >= 0:
                self._of_group(step, waits)
            elif worker.leads:
                self._send(step, waits)
            else:
                self._receive(step, waits)
            released = [
                blocks.semaphores[step.gpu].setdefault((step.block, other), len(blocks.semaphores[step.gpu]))
                for other in step.waiters
            ]
            if released:
                if worker.leads and blocks.kind(worker) == "port":
                    self._on("flush", [0])  # the port may still read what a waiter is to write
                self._nop()
                self._semaphores("sem_release", released)
            if step.kind == "g" and not blocks.is_packets:
                self._nop()
                self._on("signal", everyone)
        if worker.leads and blocks.kind(worker) == "port":
            self._on("flush", [0])
        if blocks.is_packets and worker.leads:
            self._on("rlxwait", asked)

    def _acquired(self, step: Step) -> list[int]:
        known = self._blocks.semaphores[step.gpu]
        return [known.setdefault((other.block, step.block), len(known)) for other in step.after]

    def _released(self, step: Step) -> list[int]:
        known = self._blocks.semaphores[step.gpu]
        return [known.setdefault((step.block, other), len(known)) for other in step.waiters]

    def _of_group(self, step: Step, waits: list[int]) -> None:
        blocks, worker = self._blocks, self._worker
        if step.kind == "g":
            self._on("wait", [self._end(npu) for npu in blocks.spoken(step)])
            self._acquire(waits)
            if worker.operations:
                self._nop()
            self._store(step)
        elif step.kind == "a" and not blocks.is_silent(step):
            self._acquire(waits)
            self._nop()
            self._on("signal", [worker.ends.index(blocks.leader(step))])
        elif step.kind == "gr" and blocks.is_packets:
            if waits:
                self._acquire(waits)
                self._nop()
            landed = blocks.chunk(step.gpu, blocks.landing(step), step.count)
            self._add(
                {
                    "name": "upkt",
                    "src_buff": [landed],
                    "dst_buff": [blocks.chunk(step.gpu, step.target, step.count)],
                }
            )
        elif step.kind == "gr":
            self._on("wait", [worker.ends.index(blocks.leader(step))])

    def _end(self, npu: int) -> int:
        return next(i for i, end in enumerate(self._worker.ends) if end.npu == npu)

    def _store(self, step: Step) -> None:
        """Let the switch copy, or add and copy."""
        blocks, npu = self._blocks, step.gpu
        source, target = blocks.there(npu, step.source), blocks.there(npu, step.target)
        if blocks.is_packets:
            target = blocks.there(npu, blocks.landing(step))
        stored = {"switch": target.buffer, "index": target.offset, "size": step.count}
        name = "glres" if blocks.adds(step) else "gstorepkt" if blocks.is_packets else "gstore"
        loaded: Json = {"switch": source.buffer, "index": source.offset, "size": step.count}
        operation: Json = {"name": name, "src_buff": [loaded], "dst_buff": [stored], "channel_type": "switch"}
        if name == "glres":
            operation["reduce_op"] = "sum"
        else:
            operation["src_buff"] = [blocks.chunk(npu, step.source, step.count)]
        self._add(operation)

    def _send(self, step: Step, waits: list[int]) -> None:
        blocks, worker = self._blocks, self._worker
        is_port = blocks.kind(worker) == "port"
        if waits:
            self._acquire(waits)
            self._nop()
        landing = blocks.there(worker.peer, blocks.landing(step))
        name = "ppkt" if blocks.is_packets else "pws" if is_port else "put"
        self._on(
            name,
            [0],
            src_buff=[blocks.chunk(step.gpu, step.source, step.count)],
            dst_buff=[{"buffer_id": landing.buffer, "index": landing.offset, "size": step.count}],
        )
        if not blocks.is_packets and not is_port:
            self._add(NOP)
            self._on("signal", [0])

    def _receive(self, step: Step, waits: list[int]) -> None:
        blocks = self._blocks
        if not blocks.is_packets:
            self._on("wait", [0])
        self._acquire(waits)
        if waits or not blocks.is_packets:
            self._nop()
        landed = blocks.chunk(step.gpu, blocks.landing(step), step.count)
        target = blocks.chunk(step.gpu, step.target, step.count)
        if step.kind == "rrc":
            name = "repkt" if blocks.is_packets else "re"
            own = blocks.chunk(step.gpu, step.source, step.count)
            self._add({"name": name, "reduce_op": "sum", "src_buff": [own, landed], "dst_buff": [target]})
        elif blocks.is_packets:
            self._add({"name": "upkt", "src_buff": [landed], "dst_buff": [target]})

    def _nop(self) -> None:
        if self._worker.operations and self._worker.operations[-1] != NOP:
            self._add(NOP)

    def _acquire(self, semaphores: list[int]) -> None:
        self._semaphores("sem_acquire", semaphores)

    def _semaphores(self, name: str, semaphores: list[int]) -> None:
        most = PLAN_LIMITS.semaphores_of_operation
        for first in range(0, len(semaphores), most):
            self._add({"name": name, "semaphore_ids": semaphores[first : first + most]})

    def _on(self, name: str, ends: list[int], **places: Any) -> None:
        """Do an operation on channels; waits one after the other are one operation."""
        most, kind = PLAN_LIMITS.channels_of_operation, self._blocks.kind(self._worker)
        operations = self._worker.operations
        if name == "wait" and ends and operations and operations[-1]["name"] == "wait":
            last = operations[-1]["channel_ids"]
            room = most - len(last)
            last += ends[:room]
            ends = ends[room:]
        for first in range(0, len(ends), most):
            self._add(
                {"name": name, "channel_ids": ends[first : first + most], "channel_type": kind, **places}
            )
