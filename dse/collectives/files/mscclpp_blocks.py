"""Blocks of an MSCCL++ plan: a sender and a receiver per queue of messages, with signals and semaphores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dse.collectives.files.messages import Message
from dse.collectives.files.msccl_blocks import keep_needed_waits
from dse.collectives.files.msccl_buffers import Slot, Slots, copies, in_place, require_known, sizes
from dse.collectives.files.msccl_steps import Step, queues_of, steps_of
from dse.collectives.interpret.limits import PLAN_LIMITS

Json = dict[str, Any]


@dataclass(frozen=True)
class PlanOptions:
    """NPUs of a node (0: all are in one): others are reached by ports; `LL` sends packets with flags.

    A plan is for operations of `least_bytes` to `most_bytes` bytes (0: no limit).
    """

    npus_per_node: int = 0
    protocol: str = "Simple"
    least_bytes: int = 0
    most_bytes: int = 0


@dataclass(eq=False)
class Worker:
    """A block: its steps, the peer's end of its channel, and the operations."""

    npu: int
    peer: int
    sends: bool
    steps: list[Step] = field(default_factory=list)
    partner: Worker | None = None
    operations: list[Json] = field(default_factory=list)


class Plan:
    """The blocks of all GPUs, each a sender or a receiver of one queue of messages."""

    def __init__(
        self,
        messages: Sequence[Message],
        slots: Slots,
        options: PlanOptions,
        room: int,
        *,
        is_in_place: bool,
    ) -> None:
        self._messages, self._slots, self._options = messages, slots, options
        self._collective, self._in_place = slots.collective, is_in_place
        self._is_packets = options.protocol == "LL"
        self._workers: list[list[Worker]] = [[] for _ in range(self._collective.npus)]
        self._semaphores: list[dict[tuple[int, int], int]] = [{} for _ in self._workers]
        self._landing: dict[int, Slot] = {}  # per message where it arrives
        steps = steps_of(messages, {}, self._collective, slots)
        self._assign(steps, room)
        for step in steps:
            if step.kind == "r" and not self._is_packets:
                step.after = []  # the message itself says that its place is free
        keep_needed_waits(steps)
        self._land(steps)
        for own in self._workers:
            for worker in own:
                self._write(worker)

    def _assign(self, steps: Sequence[Step], room: int) -> None:
        queues = queues_of(self._messages)
        counts: defaultdict[Any, int] = defaultdict(int)
        pairs: dict[Any, tuple[Worker, Worker]] = {}
        for step in steps:
            is_sender = step.sends >= 0
            message = max(step.sends, step.receives)
            queue = queues[message]
            if is_sender:
                counts[queue] += 1
            else:
                counts[queue, "r"] += 1
            part = (counts[queue] if is_sender else counts[queue, "r"]) - 1
            key = (queue, part // room)
            if key not in pairs:
                source, target, _ = queue
                sender, receiver = Worker(source, target, True), Worker(target, source, False)
                sender.partner, receiver.partner = receiver, sender
                pairs[key] = sender, receiver
                self._workers[source].append(sender)
                self._workers[target].append(receiver)
            worker = pairs[key][0 if is_sender else 1]
            step.block = id(worker)
            worker.steps.append(step)

    def _land(self, steps: Sequence[Step]) -> None:
        """Sums and packets land in scratch, each in a place of its own."""
        for step in steps:
            if step.receives >= 0:
                is_apart = step.kind == "rrc" or self._is_packets
                slot = step.target
                if is_apart:
                    chunks = range(step.count)
                    places = [
                        self._slots.scratch_slot(step.gpu, ("landing", step.receives, i)) for i in chunks
                    ]
                    slot = places[0]
                self._landing[step.receives] = slot

    def _write(self, worker: Worker) -> None:
        """Make the operations of a block."""
        waits_of = {id(step): self._acquired(step) for step in worker.steps}
        add = worker.operations.append
        is_port = self._kind(worker) == "port"
        if not self._is_packets:
            add(self._on("rlxwait" if worker.sends else "rlxsignal", worker))
            if not self._acquires_first(worker, waits_of):
                add({"name": "nop"})
        for step in worker.steps:
            waits = waits_of[id(step)]
            if worker.sends:
                self._send(worker, step, waits, is_port=is_port)
            else:
                self._receive(worker, step, waits)
            released = self._released(step)
            if released:
                if worker.operations[-1]["name"] != "nop":
                    add({"name": "nop"})
                add({"name": "sem_release", "semaphore_ids": released})
        if worker.sends and is_port:
            add(self._on("flush", worker))

    def _acquires_first(self, worker: Worker, waits_of: dict[int, list[int]]) -> bool:
        return not worker.sends or bool(waits_of[id(worker.steps[0])])

    def _acquired(self, step: Step) -> list[int]:
        known = self._semaphores[step.gpu]
        return [known.setdefault((other.block, step.block), len(known)) for other in step.after]

    def _released(self, step: Step) -> list[int]:
        known = self._semaphores[step.gpu]
        return [known.setdefault((step.block, other), len(known)) for other in step.waiters]

    def _send(self, worker: Worker, step: Step, waits: list[int], *, is_port: bool) -> None:
        add = worker.operations.append
        if waits:
            add({"name": "sem_acquire", "semaphore_ids": waits})
            add({"name": "nop"})
        landing = self._there(worker.peer, self._landing[step.sends])
        source = [self._chunk(step.gpu, step.source, step.count)]
        target = [{"buffer_id": landing.buffer, "index": landing.offset, "size": step.count}]
        name = "ppkt" if self._is_packets else "pws" if is_port else "put"
        add({**self._on(name, worker), "src_buff": source, "dst_buff": target})
        if not self._is_packets and not is_port:
            add({"name": "nop"})
            add(self._on("signal", worker))

    def _receive(self, worker: Worker, step: Step, waits: list[int]) -> None:
        add = worker.operations.append
        if not self._is_packets:
            add(self._on("wait", worker))
        if waits:
            add({"name": "sem_acquire", "semaphore_ids": waits})
        if waits or not self._is_packets:
            add({"name": "nop"})
        landed = self._chunk(step.gpu, self._landing[step.receives], step.count)
        target = self._chunk(step.gpu, step.target, step.count)
        own = self._chunk(step.gpu, step.source, step.count)
        if step.kind == "rrc":
            name = "repkt" if self._is_packets else "re"
            add({"name": name, "reduce_op": "sum", "src_buff": [own, landed], "dst_buff": [target]})
        elif self._is_packets:
            add({"name": "upkt", "src_buff": [landed], "dst_buff": [target]})

    def _there(self, npu: int, slot: Slot) -> Slot:
        return in_place(self._collective, npu, slot) if self._in_place else slot

    def _chunk(self, npu: int, slot: Slot, count: int) -> Json:
        named = self._there(npu, slot)
        return {"type": named.buffer, "index": named.offset, "size": count}

    def _kind(self, worker: Worker) -> str:
        per_node = self._options.npus_per_node
        return "port" if per_node and worker.npu // per_node != worker.peer // per_node else "memory"

    def _on(self, name: str, worker: Worker) -> Json:
        """An operation on the block's only channel."""
        return {"name": name, "channel_ids": [0], "channel_type": self._kind(worker)}

    def data(self, name: str) -> Json:
        """Return the plan."""
        return {
            "name": name,
            "collective": require_known(self._collective, "MSCCL++"),
            "protocol": self._options.protocol,
            "inplace": self._in_place,
            "reuse_resources": False,
            "gpus": [self._gpu(npu) for npu in range(self._collective.npus)],
            "num_threads_per_block": PLAN_LIMITS.threads,
            "use_double_scratch_buffer": self._is_packets,
            "buffer_alignment": 16,
            "min_message_size": self._options.least_bytes,
            "max_message_size": self._options.most_bytes or (1 << 64) - 1,
        }

    def _gpu(self, npu: int) -> Json:
        inputs, outputs = sizes(self._collective, npu)
        own = self._workers[npu]
        channels = self._channels(npu)
        buffers: dict[tuple[int, str], set[str]] = {}
        for worker in own:
            for step in worker.steps if worker.sends else ():
                buffer = self._there(worker.peer, self._landing[step.sends]).buffer
                buffers.setdefault((worker.peer, buffer), set()).add(self._kind(worker))
        numbers = {key: number for number, key in enumerate(buffers)}
        return {
            "id": npu,
            "input_chunks": inputs,
            "output_chunks": outputs,
            "scratch_chunks": len(self._slots.scratch[npu]),
            "threadblocks": [
                *(self._block(number, worker, channels, numbers) for number, worker in enumerate(own)),
                *self._copies(npu, len(own)),
            ],
            "channels": [
                {"channel_type": kind, "connected_to": [worker.peer for worker in channels[kind]]}
                for kind in ("memory", "port")
                if channels[kind]
            ],
            "remote_buffers": [
                {"rank": peer, "type": buffer, "access_channel_types": sorted(kinds)}
                for (peer, buffer), kinds in buffers.items()
            ],
            "semaphores": [{"init_value": 0} for _ in self._semaphores[npu]],
        }

    def _channels(self, npu: int) -> dict[str, list[Worker]]:
        """Per type the workers in the order of their channels: both ends of a pair have the same place."""
        found: dict[str, list[Worker]] = {"memory": [], "port": []}
        number = {id(worker): i for own in self._workers for i, worker in enumerate(own)}

        def order(worker: Worker) -> tuple[int, int, int]:
            sender = worker if worker.sends or worker.partner is None else worker.partner
            return worker.peer, sender.npu, number[id(sender)]

        for worker in sorted(self._workers[npu], key=order):
            found[self._kind(worker)].append(worker)
        return found

    def _block(
        self,
        number: int,
        worker: Worker,
        channels: dict[str, list[Worker]],
        buffers: dict[tuple[int, str], int],
    ) -> Json:
        kind = self._kind(worker)
        used = sorted(
            {
                buffers[worker.peer, target["buffer_id"]]
                for operation in worker.operations
                for target in operation.get("dst_buff", ())
                if "buffer_id" in target
            }
        )
        place = {each: i for i, each in enumerate(used)}
        operations = [
            {
                **operation,
                "dst_buff": [
                    {**target, "buffer_id": place[buffers[worker.peer, target["buffer_id"]]]}
                    for target in operation["dst_buff"]
                ],
            }
            if operation.get("dst_buff") and "buffer_id" in operation["dst_buff"][0]
            else operation
            for operation in worker.operations
        ]
        refs = [{"access_channel_type": kind, "remote_buffer_ids": used}] if used else []
        return {
            "id": number,
            "ops": operations,
            "channels": [{"channel_type": kind, "channel_ids": [channels[kind].index(worker)]}],
            "remote_buffer_refs": refs,
        }

    def _copies(self, npu: int, number: int) -> list[Json]:
        found = [] if self._in_place else copies(self._collective, npu, 1 << 20)
        operations = [
            {
                "name": "copy",
                "src_buff": [self._chunk(npu, source, count)],
                "dst_buff": [self._chunk(npu, target, count)],
            }
            for source, target, count in found
        ]
        if not operations:
            return []
        return [{"id": number, "ops": operations, "channels": [], "remote_buffer_refs": []}]
