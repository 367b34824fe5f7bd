"""Operations of an MSCCL++ plan: what senders, receivers and groups behind switches do, and wait for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from dse.collectives.files.msccl_blocks import keep_needed_waits
from dse.collectives.files.msccl_buffers import Slot, Slots, in_place
from dse.collectives.files.msccl_steps import Step, queues_of, steps_of
from dse.collectives.files.mscclpp_packets import added_at_once, unheard
from dse.collectives.files.mscclpp_workers import Json, PlanOptions, Worker, Workers
from dse.collectives.files.switch_groups import Moves

PACKET = "packet"  # the buffer of places for packets, the first ones of scratch


class Blocks:
    """The blocks of all GPUs, with their operations.

    If the plan `is_careful`, no block passes packets on, and no other message comes before its place is free.
    """

    def __init__(
        self,
        moves: Moves,
        slots: Slots,
        options: PlanOptions,
        room: int,
        *,
        is_in_place: bool,
        is_careful: bool = False,
    ) -> None:
        self.options, self.in_place, self.collective = options, is_in_place, slots.collective
        self.is_packets = options.protocol == "LL"
        self.semaphores: list[dict[tuple[int, int], int]] = [{} for _ in range(self.collective.npus)]
        self._moves, self._slots = moves, slots
        self._landing: dict[Any, Slot] = {}  # per message or group where it arrives
        self._packets = [0] * self.collective.npus  # places for packets
        groups = moves.groups
        steps = steps_of(
            moves.messages,
            {},
            self.collective,
            slots,
            groups,
            stores=not self.is_packets,
            may_be_in_place=is_in_place,
        )
        if self.is_packets:
            steps = added_at_once(steps)
        elif is_careful:
            steps = _free_first(steps)
        # A part that nothing has changed is ready when its GPU is.
        self._silent = {id(step) for step in steps if step.kind == "a" and not step.after}
        self._spoken: defaultdict[int, list[int]] = defaultdict(list)  # per group who says that it is ready
        for step in steps:
            if step.kind == "a" and step.after:
                self._spoken[step.group].append(step.gpu)
        self._workers = Workers(
            steps,
            queues_of(moves.messages),
            groups,
            self.collective.npus,
            room,
            passes_on=self.is_packets and not is_careful,
        )
        self.of_gpu = self._workers.of_gpu
        # Mostly the message itself says that its place is free. A careful receiver says so to the sender.
        self.credited: set[int] = set()
        for step in steps:
            if is_careful and not self.is_packets and step.kind == "r" and step.after:
                self.credited.add(step.receives)
            elif step.kind in ("r", "gr") and not (self.is_packets and is_careful):
                step.after = []
        self._ready = unheard(steps, moves) if self.is_packets else set()
        self._users: defaultdict[int, list[Step]] = defaultdict(list)
        for step in steps:
            for other in step.after:
                self._users[id(other)].append(step)
        self._connect(steps)
        keep_needed_waits(steps)
        self._land(steps)

    def _connect(self, steps: Sequence[Step]) -> None:
        """Give groups channels for signals; packets need them only where a GPU hears nothing."""
        for step in steps:
            if step.kind == "gr":
                leader, follower = self._workers.leader(step), self._workers.follower(step, step.gpu)
                if not self.is_packets or (leader.npu, follower.npu) in self._ready:
                    self._workers.connect_group(leader, follower)

    def _land(self, steps: Sequence[Step]) -> None:
        """Sums and packets land in scratch, each in a place of its own."""
        if self.is_packets:
            self._land_groups()
        for step in steps:
            for message in step.taken:
                slot = step.target
                if self.is_packets:
                    slot = Slot(PACKET, self._packets[step.gpu])
                    self._packets[step.gpu] += step.count
                elif step.kind == "rrc":
                    slot = self._slots.scratch_slot(step.gpu, ("landing", message))
                self._landing[message] = slot

    def _land_groups(self) -> None:
        """Packets of a group land at the same place of all its members."""
        for number, group in enumerate(self._moves.groups):
            first = max(self._packets[npu] for npu in group.members)
            self._landing["g", number] = Slot(PACKET, first)
            for npu in group.members:
                self._packets[npu] = first + len(group.chunks)

    def scratch(self, npu: int) -> int:
        """Chunks of scratch; packets take twice the room, and other data come after them."""
        others, packets = len(self._slots.scratch[npu]), self._packets[npu]
        return 2 * packets + others if others else packets

    def there(self, npu: int, slot: Slot) -> Slot:
        """Return a place as the plan names it."""
        if slot.buffer == PACKET:
            return Slot("s", slot.offset)
        if slot.buffer == "s":
            return Slot("s", 2 * self._packets[npu] + slot.offset)
        return in_place(self.collective, npu, slot) if self.in_place else slot

    def chunk(self, npu: int, slot: Slot, count: int) -> Json:
        """Return a local place."""
        named = self.there(npu, slot)
        return {"type": named.buffer, "index": named.offset, "size": count}

    def landing(self, message: int) -> Slot:
        """Where a message arrives."""
        return self._landing[message]

    def landing_of_group(self, step: Step) -> Slot:
        """Where the packets of a group arrive, at all of its members alike."""
        return self._landing["g", step.group]

    def receiver(self, message: int) -> int:
        """The GPU that a message goes to."""
        return self._moves.messages[message].target

    def asked(self, worker: Worker, *, as_target: bool) -> list[int]:
        """Channels over which a block says that it has begun, or waits at its end for others to say so."""
        pairs = [(end, worker) if as_target else (worker, end) for end in worker.ends]
        return [
            i
            for i, (one, other) in enumerate(pairs)
            if other in one.targets and (one.npu, other.npu) in self._ready
        ]

    def kind(self, worker: Worker) -> str:
        """Return the type of a block's channels."""
        per_node = self.options.npus_per_node if worker.ends and not self.is_packets else 0
        is_far = per_node and not worker.group and worker.npu // per_node != worker.peer // per_node
        return "port" if is_far else "memory"

    def is_only_passed_on(self, step: Step, worker: Worker) -> bool:
        """Whether a chunk is not to stay, and its block sends it on as it is."""
        users = self._users[id(step)]
        return step.target.buffer == "s" and bool(users) and all(id(each) in worker.made_by for each in users)

    def spoken(self, step: Step) -> list[int]:
        """Other members of a group that say when their part is ready."""
        return self._spoken[step.group]

    def is_silent(self, step: Step) -> bool:
        """Whether the part of a member needs no signal."""
        return id(step) in self._silent

    def adds(self, step: Step) -> bool:
        """Whether the operation of a group is a sum."""
        return self._moves.groups[step.group].adds

    def owner(self, step: Step) -> int:
        """The GPU that does the operation of a group."""
        return self._moves.groups[step.group].owner

    def semaphore(self, npu: int, one: int, other: int) -> int:
        """The semaphore that one block of a GPU releases for another one."""
        known = self.semaphores[npu]
        return known.setdefault((one, other), len(known))


def _free_first(steps: Sequence[Step]) -> list[Step]:
    """Return steps in which members of a group say that a place is free before its owner stores into it.

    They say so right before that operation, in the order in which the owner waits for them. A place that is
    read even later stays as it is.
    """
    position = {id(step): number for number, step in enumerate(steps)}
    owners = {step.group: position[id(step)] for step in steps if step.kind == "g"}
    parts = {(step.group, step.gpu): step for step in steps if step.kind == "a"}
    for step in steps:
        if step.kind != "gr":
            continue
        known = parts.get((step.group, step.gpu))
        before = [other for other in step.after if other is not known]
        if before and all(position[id(other)] < owners[step.group] for other in before):
            part = known or Step("a", step.gpu, step.source, step.target, step.count, group=step.group)
            part.after = [*part.after, *before]
            parts[step.group, step.gpu] = part
    by_group: defaultdict[int, list[Step]] = defaultdict(list)
    for part in parts.values():
        by_group[part.group].append(part)
    found: list[Step] = []
    for step in steps:
        found += by_group[step.group] if step.kind == "g" else []
        found += [step] if step.kind != "a" else []
    return found
