"""Messages as steps of MSCCL: which receives pass on at once, and what each step waits for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from dse.collectives.files.messages import Event, Message, ordered_events
from dse.collectives.files.msccl_buffers import Slot, Slots, in_place, output_slot
from dse.collectives.files.switch_groups import GroupOp
from dse.collectives.problem.collective import Collective

Link = tuple[int, int, int]
"""Both ends of a queue of messages, and which of several between them it is."""


class GroupEvent(NamedTuple):
    """A step of a group: of an NPU at a time."""

    time_ps: int
    arrives: bool
    group: int
    npu: int
    kind: str


@dataclass(eq=False)
class Step:
    """A step of a GPU; `after` are those of other blocks that it waits for.

    Kinds are those of MSCCL, and three of a group of GPUs: `a` says that a part is ready, `g` is the
    operation of its owner, and `gr` waits for its result.
    """

    kind: str
    gpu: int
    source: Slot
    target: Slot
    count: int
    receives: int = -1  # the message that it takes
    sends: int = -1
    group: int = -1  # the operation of a group that it belongs to
    more: tuple[int, ...] = ()  # messages that it adds at once, besides the one that it takes
    block: int = -1
    number: int = -1
    after: list[Step] = field(default_factory=list)
    waiters: list[int] = field(default_factory=list)  # blocks, once per wait

    @property
    def taken(self) -> tuple[int, ...]:
        """All messages that it takes."""
        return (*self.more, self.receives) if self.receives >= 0 else ()

    @property
    def is_awaited(self) -> bool:
        """Whether a step of another block waits for this one."""
        return bool(self.waiters)


def queues_of(messages: Sequence[Message], *, apart: bool = False) -> list[Link]:
    """Return the queue of each message: those of one queue arrive in the order in which they leave.

    `apart`: a message leaves when the one before it has arrived, as a queue has room for one. Past switches,
    which keep what they add or copy later, several may be under way.
    """
    last: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    found: list[Link] = [(0, 0, 0)] * len(messages)
    for number in sorted(range(len(messages)), key=lambda i: (messages[i].start_ps, messages[i].end_ps)):
        message = messages[number]
        ends = last[message.source, message.target]
        latest_ps = message.start_ps if apart else message.end_ps
        lane = next((i for i, end in enumerate(ends) if end <= latest_ps), len(ends))
        ends[lane : lane + 1] = [message.end_ps]
        found[number] = (message.source, message.target, lane)
    return found


def fused(messages: Sequence[Message], queues: Sequence[Link], *, may_wait: bool) -> dict[int, int]:
    """Return per message the one that passes its chunks on as it arrives.

    A queue passes on into one other queue, the one that most of its chunks go to. Nothing may come or leave
    between: then all steps keep the order of the schedule. `may_wait`: chunks may lie in their queue until
    they leave, which can be a deadlock where queues are short.
    """
    candidates = _candidates(messages)
    arrivals: defaultdict[Link, list[int]] = defaultdict(list)
    for number in sorted(range(len(messages)), key=lambda i: messages[i].end_ps):
        arrivals[queues[number]].append(number)
    behind = {one: other for row in arrivals.values() for one, other in pairwise(row)}
    pairs: list[tuple[int, int]] = []
    for one, others in candidates.items():
        until = messages[others[0]].start_ps
        after = behind.get(one)
        is_alone = after is None or messages[after].end_ps > until
        if until == messages[one].end_ps or (may_wait and is_alone):
            pairs += [(one, other) for other in others]
    counts = Counter((queues[one], queues[other]) for one, other in pairs)
    partner: dict[Link, Link] = {}
    taken: set[Link] = set()
    for (incoming, outgoing), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if incoming not in partner and outgoing not in taken:
            partner[incoming] = outgoing
            taken.add(outgoing)
    return {one: other for one, other in pairs if partner.get(queues[one]) == queues[other]}


def _candidates(messages: Sequence[Message]) -> dict[int, list[int]]:
    """Per message those that first pass on all that it brought; several if they leave at one time."""
    written: dict[tuple[int, int], int] = {}
    first: dict[int, list[int]] = {}
    spoiled: set[int] = set()
    for time, arrives, number in ordered_events(messages):
        message = messages[number]
        if arrives:
            for chunk in message.chunks:
                written[message.target, chunk] = number
            continue
        sources = {written.get((message.source, chunk), -1) for chunk in message.chunks}
        is_whole = len(sources) == 1 and messages[min(sources)].chunks == message.chunks
        for each in sources - {-1}:
            known = first.setdefault(each, [])
            if known and messages[known[0]].start_ps < time:
                continue
            if is_whole and message.target != messages[each].source:
                known.append(number)
            elif not known:
                spoiled.add(each)
    return {one: others for one, others in first.items() if others and one not in spoiled}


def steps_of(
    messages: Sequence[Message],
    passes: dict[int, int],
    collective: Collective,
    slots: Slots,
    groups: Sequence[GroupOp] = (),
    *,
    stores: bool = True,
    may_be_in_place: bool = True,
) -> list[Step]:
    """Return all steps in an order in which they can run, with what each must wait for at its GPU.

    A step waits for the last write of what it reads, and for the accesses of what it writes. A place has one
    name if the program `may_be_in_place`, where the input is part of the output. `stores` says that an owner
    which copies to its group copies to itself too.
    """
    passed = {other: one for one, other in passes.items()}
    hazards = _Hazards(collective, may_be_in_place=may_be_in_place)
    reads = _reads_of_arrivals(messages)
    found: list[Step] = []
    for event in _events(messages, passes, groups):
        if isinstance(event, GroupEvent):
            step = _group_step(event, groups[event.group], slots)
            if step.kind != "gr":
                hazards.read(step, step.source)
            if step.kind == "gr" or (step.kind == "g" and stores):
                hazards.write(step, step.target)
            found.append(step)
            continue
        message = messages[event.message]
        if not event.arrives:
            if event.message in passed:
                continue
            source = slots.read(message.source, message.chunks[0])
            there = slots.target(message.target, message.chunks[0])
            step = Step("s", message.source, source, there, len(message.chunks), sends=event.message)
            hazards.read(step, source)
        else:
            step = _arrival(event.message, messages, passes, slots, reads)
            if step.kind in ("rrc", "rrs", "rrcs"):
                hazards.read(step, step.source)
            if step.kind != "rrs":
                hazards.write(step, step.target)
        found.append(step)
    return found


def _group_step(event: GroupEvent, group: GroupOp, slots: Slots) -> Step:
    if event.kind == "gr" or (event.kind == "g" and group.adds):
        for chunk in group.chunks:
            slots.write(event.npu, chunk)
    count = len(group.chunks)
    return Step(event.kind, event.npu, group.source, group.target, count, group=event.group)


def _events(
    messages: Sequence[Message], passes: dict[int, int], groups: Sequence[GroupOp]
) -> list[Event | GroupEvent]:
    """All events; what passes on at once arrives when the other message leaves."""
    late = [
        message._replace(end_ps=messages[passes[number]].start_ps) if number in passes else message
        for number, message in enumerate(messages)
    ]
    found: list[Event | GroupEvent] = [*ordered_events(late)]
    for number, group in enumerate(groups):
        found += [GroupEvent(time, False, number, npu, "a") for npu, time in group.leaves.items()]
        found.append(GroupEvent(group.start_ps, False, number, group.owner, "g"))
        found += [GroupEvent(time, True, number, npu, "gr") for npu, time in group.arrives.items()]
    if groups:  # parts are ready before the operation that reads them
        found.sort(key=lambda event: (event.time_ps, not event.arrives, getattr(event, "kind", "") == "g"))
    return found


def _reads_of_arrivals(messages: Sequence[Message]) -> Counter[int]:
    """How often what a message has brought is read: sent on, or added to."""
    written: dict[tuple[int, int], int] = {}
    reads: Counter[int] = Counter()
    for _, arrives, number in ordered_events(messages):
        message = messages[number]
        npu = message.target if arrives else message.source
        for chunk in message.chunks:
            if (npu, chunk) in written and (message.adds or not arrives):
                reads[written[npu, chunk]] += 1
            if arrives:
                written[npu, chunk] = number
    return reads


def _arrival(
    number: int, messages: Sequence[Message], passes: dict[int, int], slots: Slots, reads: Counter[int]
) -> Step:
    message = messages[number]
    npu, chunk = message.target, message.chunks[0]
    onward = passes.get(number, -1)
    if not message.adds:
        kind = "r" if onward < 0 else "rcs"
        targets = [slots.write(npu, each) for each in message.chunks]
        return Step(kind, npu, targets[0], targets[0], len(message.chunks), number, onward)
    source = slots.read(npu, chunk)
    is_kept = onward < 0 or reads[number] > 1 or output_slot(slots.collective, npu, chunk) is not None
    kind = "rrc" if onward < 0 else "rrcs" if is_kept else "rrs"
    return Step(kind, npu, source, slots.write(npu, chunk) if is_kept else source, 1, number, onward)


class _Hazards:
    """The last write of every place, and the reads since."""

    def __init__(self, collective: Collective, *, may_be_in_place: bool) -> None:
        self._collective, self._in_place = collective, may_be_in_place
        self._written: dict[tuple[int, Slot], Step] = {}
        self._read: defaultdict[tuple[int, Slot], list[Step]] = defaultdict(list)

    def _places(self, step: Step, first: Slot) -> list[tuple[int, Slot]]:
        slots = [Slot(first.buffer, first.offset + i) for i in range(step.count)]
        if self._in_place:
            slots = [in_place(self._collective, step.gpu, slot) for slot in slots]
        return [(step.gpu, slot) for slot in slots]

    def read(self, step: Step, first: Slot) -> None:
        for place in self._places(step, first):
            if place in self._written:
                step.after.append(self._written[place])
            self._read[place].append(step)

    def write(self, step: Step, first: Slot) -> None:
        for place in self._places(step, first):
            if place in self._written:
                step.after.append(self._written[place])
            step.after += [other for other in self._read.pop(place, []) if other is not step]
            self._written[place] = step
