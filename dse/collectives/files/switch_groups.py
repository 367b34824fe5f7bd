"""Sums and copies that a switch does for all NPUs round it: operations of one NPU on a place of them all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dse.collectives.files.messages import (
    Delivery,
    Message,
    deliveries,
    messages_for,
    messages_of,
    ordered_steps,
    sends_of,
)
from dse.collectives.files.msccl_buffers import Slot, in_place, input_slot, output_slot
from dse.collectives.problem.schedule import Schedule


@dataclass(frozen=True)
class GroupOp:
    """The owner stores its chunks, or if it `adds` the sum of all members' chunks, into every member.

    `leaves` says when the part of each other member is ready, `arrives` when each has the result. An
    operation is `plain` if all parts are inputs and nothing else is done with the result.
    """

    adds: bool
    owner: int
    members: tuple[int, ...]
    chunks: tuple[int, ...]
    source: Slot
    target: Slot
    start_ps: int
    leaves: Mapping[int, int]
    arrives: Mapping[int, int]
    plain: bool

    def is_before(self, other: GroupOp) -> bool:
        """Whether no member has its part or its result later than those of another operation of the owner."""
        return all(time <= other.arrives[npu] for npu, time in self.arrives.items()) and all(
            time <= other.leaves.get(npu, time) for npu, time in self.leaves.items()
        )


@dataclass(frozen=True)
class Moves:
    """A schedule as messages between NPUs, and operations of groups."""

    messages: list[Message]
    groups: list[GroupOp] = field(default_factory=list)


def moves_of(schedule: Schedule, npus_per_node: int, *, may_add: bool, is_in_place: bool) -> Moves:
    """Return messages, and an operation of a group for what a switch does for all NPUs round it.

    A switch that has no other switch as its neighbour, and whose NPUs are in one node, copies a chunk onto
    all other NPUs, or adds the chunks of all. `may_add=False` leaves out sums. The rest are direct messages.
    """
    graph = schedule.problem.graph
    if graph.nodes == graph.npus:
        return Moves(messages_of(schedule))
    return _Finder(schedule, npus_per_node, may_add=may_add, is_in_place=is_in_place).moves()


class _Finder:
    """Looks for multicasts and sums in what arrives at NPUs."""

    def __init__(self, schedule: Schedule, npus_per_node: int, *, may_add: bool, is_in_place: bool) -> None:
        self._collective = schedule.problem.collective
        self._may_add, self._in_place = may_add, is_in_place
        self._sends = sends_of(schedule)
        self._members = _members(schedule, npus_per_node)
        self._deliveries = list(deliveries(schedule, self._sends))
        self._arrival = {each.send: each for each in self._deliveries}
        # per place of an NPU the sends that leave and arrive in order, and where each is in it
        self._history: defaultdict[tuple[int, int], list[tuple[int, bool]]] = defaultdict(list)
        self._position: dict[tuple[int, bool], int] = {}
        for step in ordered_steps(schedule):
            send = self._sends[step.send]
            history = self._history[send.target if step.arrives else send.source, send.chunks[0]]
            self._position[step.send, step.arrives] = len(history)
            history.append((step.send, step.arrives))

    def moves(self) -> Moves:
        """Return the groups, and messages for the rest."""
        by_carried: defaultdict[tuple[int, tuple[int, ...]], list[Delivery]] = defaultdict(list)
        for delivery in self._deliveries:
            by_carried[self._sends[delivery.send].source, delivery.carried].append(delivery)
        multicasts: dict[tuple[int, tuple[int, ...]], list[Delivery]] = {}
        sums: dict[tuple[int, tuple[int, ...]], list[Delivery]] = {}
        for (switch, carried), row in by_carried.items():
            if switch in self._members and all(self._sends[each].target == switch for each in carried):
                kind = multicasts if len(carried) == 1 else sums
                kind[switch, carried] = row
        found: list[GroupOp] = []
        done: set[int] = set()
        if self._may_add:
            for (switch, carried), row in sums.items():
                group = self._sum(self._members[switch], carried, row, multicasts, done)
                found += [group] if group else []
        for (switch, (send,)), row in multicasts.items():
            if not done & {each.send for each in row}:
                group = self._multicast(self._members[switch], send, row)
                found += [group] if group else []
                done |= {each.send for each in row} if group else set()
        messages = [
            message
            for each in self._deliveries
            if each.send not in done
            for message in messages_for(each, self._sends)
        ]
        messages.sort(key=lambda message: (message.start_ps, message.end_ps))
        return Moves(messages, list(_joined(found)))

    def _multicast(self, members: tuple[int, ...], send: int, row: Sequence[Delivery]) -> GroupOp | None:
        """A chunk that a switch copies onto all other NPUs."""
        first = self._sends[send]
        owner, chunk = first.source, first.chunks[0]
        arrives = {self._sends[each.send].target: self._sends[each.send].end_ps for each in row}
        if {*arrives, owner} != {*members} or len(row) != len(members) - 1:
            return None
        if any(self._sends[each.send].adds for each in row) or min(arrives.values()) <= first.start_ps:
            return None
        target = self._common([output_slot(self._collective, npu, chunk) for npu in members], members)
        held = self._held(owner, chunk, self._position[send, False])
        if target is None or held is None:
            return None
        source = self._there(owner, held)
        if source != target and self._is_changed(owner, chunk):
            return None
        plain = held == input_slot(self._collective, owner, chunk)
        plain = plain and all(self._is_last(each.send, arrives=True) for each in row)
        return GroupOp(False, owner, members, (chunk,), source, target, first.start_ps, {}, arrives, plain)

    def _sum(
        self,
        members: tuple[int, ...],
        carried: tuple[int, ...],
        row: list[Delivery],
        multicasts: Mapping[tuple[int, tuple[int, ...]], list[Delivery]],
        done: set[int],
    ) -> GroupOp | None:
        """The chunks of all NPUs, added by a switch and sent to all, or to one that sends the sum to all."""
        chunk = self._sends[carried[0]].chunks[0]
        parts = {self._sends[each].source: each for each in carried}
        if len(parts) < len(carried) or any(each.has_changed for each in row):
            return None
        consumed = {each.send for each in row}
        results = {self._sends[each.send].target: each.send for each in row}
        if {*parts} == {*results} == {*members} and not any(self._sends[each].adds for each in consumed):
            owner = chunk % self._collective.npus
            owner = owner if owner in members else members[chunk % len(members)]
            last = results[owner]
        elif len(row) == 1 and {*parts, *results} == {*members}:
            ((owner, into),) = results.items()
            again = self._sent_on(owner, chunk, into, parts, members, multicasts)
            if again is None or not (self._sends[into].adds or owner in parts):
                return None
            last = again[0]
            results = {self._sends[each.send].target: each.send for each in again[1]}
            consumed |= {each.send for each in again[1]}
        else:
            return None
        others = [npu for npu in members if npu != owner]
        if any(self._position[results[npu], True] != self._position[parts[npu], False] + 1 for npu in others):
            return None
        held = [self._held(npu, chunk, self._part_at(npu, parts, last)) for npu in members]
        source = self._common(held, members)
        target = self._common([output_slot(self._collective, npu, chunk) for npu in members], members)
        leaves = {npu: self._sends[parts[npu]].start_ps for npu in others}
        arrives = {npu: self._sends[results[npu]].end_ps for npu in others}
        start = max(self._sends[each].start_ps for each in carried)
        if source is None or target is None or min(arrives.values()) <= start:
            return None
        done |= consumed
        plain = self._are_inputs(held, members, chunk) and all(
            self._is_last(results[npu], arrives=True) for npu in others
        )
        plain = plain and self._is_last(last, arrives=last in results.values())
        return GroupOp(True, owner, members, (chunk,), source, target, start, leaves, arrives, plain)

    def _part_at(self, npu: int, parts: Mapping[int, int], last: int) -> int:
        """Where in the history of its place an NPU's own part is final."""
        if npu in parts:
            return self._position[parts[npu], False]
        return self._position[last, False] - 1  # its sum arrives just before it leaves again

    def _sent_on(
        self,
        owner: int,
        chunk: int,
        into: int,
        parts: Mapping[int, int],
        members: tuple[int, ...],
        multicasts: Mapping[tuple[int, tuple[int, ...]], list[Delivery]],
    ) -> tuple[int, list[Delivery]] | None:
        """The send by which the owner of a sum sends it to all others at once, with nothing between."""
        history, at = self._history[owner, chunk], self._position[into, True]
        if at + 1 == len(history) or history[at + 1][1]:
            return None
        if at and history[at - 1] != (parts.get(owner, -1), False):
            before, arrived = history[at - 1]
            time = self._sends[before].end_ps if arrived else self._sends[before].start_ps
            if time >= min(self._sends[each].start_ps for each in parts.values()):
                return None
        again = history[at + 1][0]
        row = multicasts.get((self._sends[again].target, (again,)), [])
        targets = {self._sends[each.send].target for each in row}
        if {*targets, owner} != {*members} or len(row) != len(members) - 1:
            return None
        return None if any(self._sends[each.send].adds for each in row) else (again, row)

    def _there(self, npu: int, slot: Slot) -> Slot:
        return in_place(self._collective, npu, slot) if self._in_place else slot

    def _held(self, npu: int, chunk: int, position: int) -> Slot | None:
        """Where an NPU has a chunk after so many events; None if that is scratch."""
        is_written = any(arrives for _, arrives in self._history[npu, chunk][:position])
        slot = None if is_written else input_slot(self._collective, npu, chunk)
        return slot or output_slot(self._collective, npu, chunk)

    def _common(self, slots: Sequence[Slot | None], members: Sequence[int]) -> Slot | None:
        """The place that all members call the same, if there is one."""
        found = {
            None if slot is None else self._there(npu, slot) for npu, slot in zip(members, slots, strict=True)
        }
        return found.pop() if len(found) == 1 else None

    def _are_inputs(self, held: Sequence[Slot | None], members: Sequence[int], chunk: int) -> bool:
        pairs = zip(held, members, strict=True)
        return all(slot == input_slot(self._collective, npu, chunk) for slot, npu in pairs)

    def _is_changed(self, npu: int, chunk: int) -> bool:
        return any(arrives for _, arrives in self._history[npu, chunk])

    def _is_last(self, send: int, *, arrives: bool) -> bool:
        npu = self._sends[send].target if arrives else self._sends[send].source
        history = self._history[npu, self._sends[send].chunks[0]]
        return self._position[send, arrives] == len(history) - 1


def _members(schedule: Schedule, npus_per_node: int) -> dict[int, tuple[int, ...]]:
    """Per switch the NPUs round it, if there is nothing else, and if they are in one node."""
    graph = schedule.problem.graph
    into, out = defaultdict(set), defaultdict(set)
    for source, target in zip(graph.sources.tolist(), graph.destinations.tolist(), strict=True):
        into[target].add(source)
        out[source].add(target)
    return {
        switch: tuple(sorted(out[switch]))
        for switch in range(graph.npus, graph.nodes)
        if len(out[switch]) > 1
        and into[switch] == out[switch]
        and max(out[switch]) < graph.npus
        and (not npus_per_node or len({npu // npus_per_node for npu in out[switch]}) == 1)
    }


def _joined(groups: Sequence[GroupOp]) -> Iterator[GroupOp]:
    """Yield operations by time, with plain ones of neighbouring chunks as one."""
    rows: defaultdict[tuple[bool, int, tuple[int, ...]], list[GroupOp]] = defaultdict(list)
    found: list[GroupOp] = []
    for group in groups:
        if group.plain:
            rows[group.adds, group.owner, group.members].append(group)
        else:
            found.append(group)
    for row in rows.values():
        row.sort(key=lambda group: (group.source, group.target))
        whole = row[0]
        for group in row[1:]:
            count = len(whole.chunks)
            ends = ((whole.source, group.source), (whole.target, group.target))
            if all((one.buffer, one.offset + count) == other for one, other in ends):
                whole = replace(
                    whole,
                    chunks=whole.chunks + group.chunks,
                    start_ps=min(whole.start_ps, group.start_ps),
                    leaves={npu: min(time, group.leaves[npu]) for npu, time in whole.leaves.items()},
                    arrives={npu: max(time, group.arrives[npu]) for npu, time in whole.arrives.items()},
                )
            else:
                found.append(whole)
                whole = group
        found.append(whole)
    yield from sorted(found, key=lambda group: (group.start_ps, group.owner, group.chunks))
