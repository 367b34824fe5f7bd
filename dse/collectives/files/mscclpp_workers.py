"""Who does the steps of an MSCCL++ plan: blocks for queues of messages, and for groups behind switches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dse.collectives.files.msccl_steps import Link, Step
from dse.collectives.files.switch_groups import GroupOp
from dse.collectives.interpret.limits import PLAN_LIMITS

Json = dict[str, Any]
_MOST_ENDS = PLAN_LIMITS.channels_of_block - 1


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
    """A block that `leads` (sends, or works for a group) or follows, with its steps and operations.

    `ends` are its channels: the blocks that it signals to or waits for. It puts into `targets`. `made_by`
    says of a step that passes on what the block has received which step that was.
    """

    npu: int
    leads: bool
    group: tuple[int, ...] = ()
    steps: list[Step] = field(default_factory=list)
    ends: list[Worker] = field(default_factory=list)
    targets: list[Worker] = field(default_factory=list)
    made_by: dict[int, Step] = field(default_factory=dict)
    helpers: list[Worker] = field(default_factory=list)  # blocks that signal for a leader
    helped: Worker | None = None
    operations: list[Json] = field(default_factory=list)

    @property
    def peer(self) -> int:
        """The other NPU of a queue of messages."""
        return self.ends[0].npu

    def connect(self, other: Worker) -> None:
        """Make a channel over which a block puts into another one, unless there is one."""
        if other not in self.ends:
            self.ends.append(other)
            other.ends.append(self)
        if other not in self.targets:
            self.targets.append(other)


class Workers:
    """The blocks of all GPUs, with at most `room` messages of a queue in each.

    A block that has received packets `passes_on` what comes of them: nothing orders the packets of a queue.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        queues: Sequence[Link],
        groups: Sequence[GroupOp],
        npus: int,
        room: int,
        *,
        passes_on: bool,
    ) -> None:
        self.of_gpu: list[list[Worker]] = [[] for _ in range(npus)]
        self._queues, self._groups, self._room = queues, groups, room
        self._known: dict[Hashable, Worker] = {}
        self._number: dict[int, int] = {}  # per block of a queue which of several it is
        counts: defaultdict[Hashable, int] = defaultdict(int)
        self._part = self._parts_of_groups()
        of_step: dict[int, Worker] = {}
        for step in steps:
            worker = self._of_group(step) if step.group >= 0 else self._of_queue(step, counts)
            sources = {id(other): other for other in step.after} if passes_on and step.sends >= 0 else {}
            if len(sources) == 1:
                ((number, source),) = sources.items()
                onward, end = of_step[number], self._known[queues[step.sends], 0, False]
                if source.taken and (len(onward.ends) < _MOST_ENDS or end in onward.ends):
                    onward.connect(end)
                    onward.made_by[id(step)] = source
                    worker = onward
            of_step[id(step)] = worker
            step.block = id(worker)
            worker.steps.append(step)
        for step in steps:
            if step.sends >= 0 and id(step) not in of_step[id(step)].made_by:
                queue = queues[step.sends]
                part = 0 if passes_on else self._number[id(of_step[id(step)])]
                of_step[id(step)].connect(self._known[queue, part, False])

    def _parts_of_groups(self) -> list[int]:
        """Of the operations of one owner, which block does each.

        Signals have no names, so that parts and results of a block come in the order of its operations. Each
        operation takes up to seven lines.
        """
        rows: defaultdict[Hashable, list[list[GroupOp]]] = defaultdict(list)
        most, found = max(1, self._room // 3), []
        for group in self._groups:
            row = rows[group.owner, group.members]
            fitting = (i for i, own in enumerate(row) if len(own) < most and own[-1].is_before(group))
            part = next(fitting, len(row))
            if part == len(row):
                row.append([])
            row[part].append(group)
            found.append(part)
        return found

    def _of_queue(self, step: Step, counts: defaultdict[Hashable, int]) -> Worker:
        leads = step.sends >= 0
        queue = self._queues[max(step.sends, step.receives)]
        part = counts[queue, leads] // self._room
        counts[queue, leads] += 1
        for is_leader in (True, False):
            if (queue, part, is_leader) not in self._known:
                worker = self._new(Worker(queue[0 if is_leader else 1], is_leader))
                self._known[queue, part, is_leader] = worker
                self._number[id(worker)] = part
        return self._known[queue, part, leads]

    def _of_group(self, step: Step) -> Worker:
        group, part = self._groups[step.group], self._part[step.group]

        leads = step.kind == "g"
        key = self._key(group, part, step.gpu, leads=leads)
        if key not in self._known:
            self._known[key] = self._new(Worker(step.gpu, leads, group.members))
        return self._known[key]

    def _key(self, group: GroupOp, part: int, npu: int, *, leads: bool) -> Hashable:
        """A block follows as many owners as it has channels, and leads for all members with its helpers."""
        several = 0 if leads else group.members.index(group.owner) // PLAN_LIMITS.channels_of_block
        return group.members, part, npu, leads, several

    def _new(self, worker: Worker) -> Worker:
        self.of_gpu[worker.npu].append(worker)
        return worker

    def follower(self, step: Step, npu: int) -> Worker:
        """The block of another member of the group of a step."""
        return self._known[self._key(self._groups[step.group], self._part[step.group], npu, leads=False)]

    def leader(self, step: Step) -> Worker:
        """The block that does the operation that a step of a group belongs to."""
        group = self._groups[step.group]
        return self._known[self._key(group, self._part[step.group], group.owner, leads=True)]

    def connect_group(self, leader: Worker, follower: Worker) -> None:
        """Make a channel between blocks of a group; a leader whose channels are all used gets helpers."""
        rows = [leader, *leader.helpers]
        if any(follower in row.ends for row in rows):
            return
        if len(rows[-1].ends) == PLAN_LIMITS.channels_of_block:
            rows.append(self._new(Worker(leader.npu, True, leader.group)))
            leader.helpers.append(rows[-1])
            rows[-1].helped = leader
        rows[-1].connect(follower)
