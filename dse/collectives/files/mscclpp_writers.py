"""Operations of a block of an MSCCL++ plan: what it sends, receives and adds, and what it waits for."""

from __future__ import annotations

from typing import Any

from dse.collectives.files.msccl_steps import Step
from dse.collectives.files.mscclpp_blocks import Blocks
from dse.collectives.files.mscclpp_workers import Json, Worker
from dse.collectives.interpret.limits import PLAN_LIMITS

NOP: Json = {"name": "nop"}


def write(blocks: Blocks) -> int:
    """Make the operations of all blocks, or until one has too many; return how many the longest one has."""
    most = 0
    for own in blocks.of_gpu:
        for worker in own:
            Writer(blocks, worker).write()
            most = max(most, len(worker.operations))
            if most > PLAN_LIMITS.operations:
                return most
    return most


class Writer:
    """Writes the operations of a block."""

    def __init__(self, blocks: Blocks, worker: Worker) -> None:
        self._blocks, self._worker = blocks, worker
        self._touched: dict[tuple[str, int], bool] = {}  # places since the last nop, and whether they changed
        self._done: set[int] = set()  # sends that an operation before has done

    def write(self) -> None:
        """Make the operations."""
        worker, blocks = self._worker, self._blocks
        waits_of = {id(step): self._acquired(step) for step in worker.steps}
        if blocks.is_packets:
            self._on("rlxsignal", blocks.asked(worker, as_target=True))
        else:
            self._on("rlxwait" if worker.leads else "rlxsignal", self._everyone())
            if not (worker.leads and worker.steps and waits_of[id(worker.steps[0])]):
                self._nop()
        if worker.helped and not blocks.is_packets:
            for step in worker.helped.steps:
                self._help(step, worker.helped)
        for number, step in enumerate(worker.steps):
            if step.group >= 0:
                self._of_group(step, waits_of[id(step)])
            elif step.taken:
                self._receive(step, waits_of[id(step)], self._onward(number))
            elif id(step) not in self._done:
                self._send(step, waits_of[id(step)])
            self._release(step)
        if worker.leads and blocks.kind(worker) == "port":
            self._on("flush", [0])
        if blocks.is_packets:
            self._on("rlxwait", blocks.asked(worker, as_target=False))

    def _help(self, step: Step, leader: Worker) -> None:
        """Wait for members for a leader, and signal to them when its operation is over."""
        blocks, npu, own = self._blocks, step.gpu, id(self._worker)
        self._on("wait", self._ends(blocks.spoken(step)))
        self._nop()
        self._semaphores("sem_release", [blocks.semaphore(npu, own, id(leader))])
        self._acquire([blocks.semaphore(npu, id(leader), own)])
        self._nop()
        self._on("signal", self._everyone())

    def _helpers(self, step: Step) -> list[int]:
        """Blocks that wait and signal for the operation of a group."""
        is_signalled = step.kind == "g" and not self._blocks.is_packets
        return [id(helper) for helper in self._worker.helpers] if is_signalled else []

    def _release(self, step: Step) -> None:
        """Let the blocks go on that wait for a step, and members of a group."""
        blocks = (*step.waiters, *self._helpers(step))
        released = [self._blocks.semaphore(step.gpu, step.block, other) for other in blocks]
        if released:
            if self._worker.leads and self._blocks.kind(self._worker) == "port":
                self._on("flush", [0])  # the port may still read what a waiter is to write
            self._nop()
            self._semaphores("sem_release", released)
        if step.kind == "g" and not self._blocks.is_packets:
            self._nop()
            self._on("signal", self._everyone())

    def _everyone(self) -> list[int]:
        return list(range(len(self._worker.ends)))

    def _onward(self, number: int) -> list[Step]:
        """The sends right after a receive that pass on what it has brought."""
        steps, made_by = self._worker.steps, self._worker.made_by
        found: list[Step] = []
        for step in steps[number + 1 : number + 1 + PLAN_LIMITS.channels_of_operation]:
            if made_by.get(id(step)) is not steps[number]:
                break
            found.append(step)
        return found

    def _acquired(self, step: Step) -> list[int]:
        blocks = (*(other.block for other in step.after), *self._helpers(step))
        return [self._blocks.semaphore(step.gpu, other, step.block) for other in blocks]

    def _of_group(self, step: Step, waits: list[int]) -> None:
        blocks, worker = self._blocks, self._worker
        if step.kind == "g":
            self._on("wait", self._ends(blocks.spoken(step)))
            self._acquire(waits)
            if worker.operations:
                self._nop()
            self._store(step)
        elif step.kind == "a" and not blocks.is_silent(step):
            self._acquire(waits)
            self._nop()
            self._on("signal", self._ends([blocks.owner(step)]))
        elif step.kind == "gr" and blocks.is_packets:
            if waits:
                self._acquire(waits)
                self._nop()
            landed = blocks.chunk(step.gpu, blocks.landing_of_group(step), step.count)
            target = blocks.chunk(step.gpu, step.target, step.count)
            self._add({"name": "upkt", "src_buff": [landed], "dst_buff": [target]})
        elif step.kind == "gr":
            self._on("wait", self._ends([blocks.owner(step)]))

    def _ends(self, npus: list[int]) -> list[int]:
        """The channels of a block to some GPUs."""
        return [i for i, end in enumerate(self._worker.ends) if end.npu in npus]

    def _store(self, step: Step) -> None:
        """Let the switch copy, or add and copy."""
        blocks, npu = self._blocks, step.gpu
        source, target = blocks.there(npu, step.source), blocks.there(npu, step.target)
        if blocks.is_packets:
            target = blocks.there(npu, blocks.landing_of_group(step))
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
        maker = worker.made_by.get(id(step))
        if maker is not None and maker.kind == "r":
            self._pass_on(maker, step)
            return
        if waits:
            self._acquire(waits)
        if step.sends in blocks.credited:
            self._on("wait", [0])
        if waits or maker is not None or step.sends in blocks.credited:
            self._nop()
        name = "ppkt" if blocks.is_packets else "pws" if is_port else "put"
        source = [blocks.chunk(step.gpu, step.source, step.count)]
        self._on(name, [self._channel(step)], src_buff=source, dst_buff=[self._remote(step)])
        if not blocks.is_packets and not is_port:
            self._add(NOP)
            self._on("signal", [0])

    def _pass_on(self, maker: Step, step: Step) -> None:
        """Send packets on as they are, from where they have arrived."""
        landed = self._blocks.landing(maker.receives)
        first = landed._replace(offset=landed.offset + step.source.offset - maker.target.offset)
        source = [self._blocks.chunk(step.gpu, first, step.count)]
        self._on("rppkt", [self._channel(step)], src_buff=source, dst_buff=[self._remote(step)])

    def _channel(self, step: Step) -> int:
        """The channel to the GPU that a step sends to."""
        to = self._blocks.receiver(step.sends)
        return next(i for i, end in enumerate(self._worker.ends) if end.npu == to)

    def _remote(self, step: Step) -> Json:
        """Where a step sends to."""
        to = self._blocks.receiver(step.sends)
        landing = self._blocks.there(to, self._blocks.landing(step.sends))
        return {"buffer_id": (to, landing.buffer), "index": landing.offset, "size": step.count}

    def _receive(self, step: Step, waits: list[int], onward: list[Step]) -> None:
        blocks = self._blocks
        is_credited = step.receives in blocks.credited
        if is_credited:
            self._acquire(waits)
            self._nop()
            self._on("signal", [0])
        if not blocks.is_packets:
            self._on("wait", [0])
        if not is_credited:
            self._acquire(waits)
        if waits or not blocks.is_packets:
            self._nop()
        landed = [blocks.chunk(step.gpu, blocks.landing(each), step.count) for each in step.taken]
        target = blocks.chunk(step.gpu, step.target, step.count)
        if step.kind == "rrc":
            own = blocks.chunk(step.gpu, step.source, step.count)
            adds: Json = {"reduce_op": "sum", "src_buff": [own, *landed]}
            if not blocks.is_packets:
                self._add({"name": "re", **adds, "dst_buff": [target]})
            elif onward:
                self._done |= {id(each) for each in onward}
                sent = [self._remote(each) for each in onward]
                channels = [self._channel(each) for each in onward]
                self._on("respkt", channels, **adds, dst_buff=[target, *sent])
            else:
                self._add({"name": "repkt", **adds, "dst_buff": [target]})
        elif blocks.is_packets and not blocks.is_only_passed_on(step, self._worker):
            self._add({"name": "upkt", "src_buff": landed, "dst_buff": [target]})

    def _add(self, operation: Json) -> None:
        """Add an operation, after a nop if it touches what others have changed since the last nop."""
        if operation == NOP:
            self._touched.clear()
        if "src_buff" not in operation:
            self._worker.operations.append(operation)
            return
        read, written = (
            {
                (chunk["type"], chunk["index"] + i)
                for chunk in operation.get(key, ())
                if "type" in chunk
                for i in range(chunk["size"])
            }
            for key in ("src_buff", "dst_buff")
        )
        if any(place in self._touched for place in written) or any(self._touched.get(each) for each in read):
            self._add(NOP)
        self._touched.update({**dict.fromkeys(read, False), **dict.fromkeys(written, True)})
        self._worker.operations.append(operation)

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
