"""A lower bound from messages between parts, weighed by how many NPUs they have something from, and for.

Let no switch copy or add, and let the NPUs be parted; the least part has q of them. No NPU has what j NPUs
contribute before s(j), and from an NPU a chunk takes r(k) or longer to k of them, itself included
(`spreads`). So a message between parts that leaves early has contributions of few NPUs, and one that leaves
late is of use to few: of j and k at most where s(j), r(k) and its way fit into the time.

**All-reduce.** Choose of each part an NPU that sends and one that receives, at random. Leave out each message
between parts that has nothing of a chosen sender, or nothing that a chosen receiver gets: contributions of
all chosen senders still come to all chosen receivers. With each part as one node that takes 2 G - 2 messages
for G parts and each chunk (Harary and Schwenk 1974). A message stays with a chance of j / q at most, as its
contributions are of j NPUs, times k / q. So the least of 1 and j / q, times the least of 1 and k / q, adds up
to (2 G - 2) C or more over all messages of C chunks.

Each part also gets something of every other chosen sender, of G - 1 at most by one message. So the least of
G - 1 and j / q, times the least of 1 and k / q, adds up to G (G - 1) C or more. Backwards in time the same
holds with j and k exchanged.

**All-gather, broadcast.** Choose an NPU of a part, of q, at random. Each of the n chunks that the part lacks
enters it by a message of use to that NPU, without leaving the part again. So k / q adds up to n or more.

From x to y a link that each message holds for h takes 1 + (y - x) / h of them at most, in whole numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from dse.base.lazy import NDArray, np
from dse.collectives.bounds.spreads import Spreads
from dse.collectives.bounds.view import LATE, NEVER, Bound, Strongest, View

_MOST_PARTS = 64
_MOST_PAIRS = 1 << 20  # of NPUs of a part, whose times are added


def useful_bound(view: View) -> Iterator[Bound]:
    """The strongest over NPUs alone, and parts that messages of up to a time join."""
    collective, graph = view.problem.collective, view.problem.graph
    if not view.needs.everyone_gets_the_same or collective.npus != len(collective.members):
        return
    is_sum = collective.kind == "all_reduce"
    copies, sums = Spreads.of(view), Spreads.of(view, turned=True) if is_sum else None
    if copies is None or (is_sum and sums is None):
        return
    delays = [] if sums is None else [one.least_times(graph.npus) for one in (sums, copies)]
    if any(len(times) < graph.npus for times in delays):
        return
    strongest, found = Strongest("useful"), None
    for of_npu in (list(range(graph.npus)), *copies.parts()):
        if view.deadline.is_over or not 1 < len(set(of_npu)) <= _MOST_PARTS:
            continue
        part = _with_switches(view, np.array(of_npu))
        if delays:
            bounds = _of_sums(view, part, *delays)
        else:
            bounds = _of_copies(view, part, copies.times_inside(of_npu, graph.npus))
        for bound in bounds:
            found = bound if strongest.raised_to(bound.time_ps) else found
    if found is not None:
        yield found


def _of_sums(view: View, part: NDArray[np.int64], sums: list[int], copies: list[int]) -> Iterator[Bound]:
    """Bounds of all messages by the links out of parts, and by those into parts."""
    parts, sizes = np.unique(part[: view.problem.graph.npus], return_counts=True)
    count, each = len(parts), int(sizes.min())
    if each * each * (count - 1) > _MOST_PAIRS:
        return
    chunks, others = view.problem.collective.chunks, each * (count - 1)
    messages, pairs = 2 * (count - 1) * chunks, count * (count - 1) * chunks
    between = f"between {count} clusters of NPUs"
    few = f"early messages have contributions of few NPUs, late ones are of use to few, of {each}"
    counted = [(messages, each, each, f"{messages} messages are needed {between}: {few}")]
    if count > 2:
        text = f"{pairs} times something has to come from one to another {between}: {few}"
        counted += [(pairs, others, each, text), (pairs, each, others, text)]
    delays = [
        np.add.outer(np.array(sums[:from_npus]), np.array(copies[:for_npus])).ravel()
        for _, from_npus, for_npus, _ in counted
    ]
    for turned in (False, True):
        links = _Links.joined([_Links.out_of(view, (part == own) != turned) for own in parts.tolist()])
        for (need, _, _, text), own_delays in zip(counted, delays, strict=True):
            yield Bound("useful", links.least_ps(need * each * each, own_delays), (), text)


def _of_copies(view: View, part: NDArray[np.int64], inside_ps: list[int]) -> Iterator[Bound]:
    """Bounds of the messages into each part that has a copy inside after such times."""
    members = part[: view.problem.graph.npus]
    for own in np.unique(members).tolist():
        inside = part == own
        each, need = int((members == own).sum()), view.needs.into_set(inside)
        if not need:
            continue
        holders = view.needs.holders
        links = _Links.out_of(view, ~inside, holders[members[holders] != own])
        time = links.least_ps(need * each, np.array(inside_ps[:each]))
        text = (
            f"{need} chunks have to enter these nodes. A message that comes late is of use to few of {each}"
            " NPUs, and counts less"
        )
        yield Bound("useful", time, tuple(inside.nonzero()[0].tolist()), text)


class _Links(NamedTuple):
    """Links between parts: how long a message holds each, and the least time from its NPU to another's."""

    held_ps: NDArray[np.int64]
    way_ps: NDArray[np.int64]

    @classmethod
    def out_of(
        cls, view: View, inside: NDArray[np.bool_], senders: NDArray[np.uint32] | None = None
    ) -> _Links:
        """Return those out of some nodes, for messages from their NPUs, or from `senders`, to other NPUs."""
        graph = view.problem.graph
        members = inside[: graph.npus]
        here = view.distances(np.flatnonzero(members) if senders is None else senders, towards=False)
        there = view.distances(np.flatnonzero(~members), towards=True)
        chosen = np.flatnonzero(inside[graph.sources] & ~inside[graph.destinations])
        way = here[graph.sources[chosen]] + there[graph.destinations[chosen]]
        return cls(np.maximum(view.problem.held_ps[chosen], 1), way + view.problem.arrival_ps[chosen])

    @classmethod
    def joined(cls, links: list[_Links]) -> _Links:
        """Return all links of several of these."""
        return cls(*map(np.concatenate, zip(*links, strict=True)))

    def least_ps(self, need: int, delays_ps: NDArray[np.int64]) -> int:
        """Return when as many messages have ended as are needed, each counted for each delay that it has."""
        kinds, alike = np.unique(np.stack(self, axis=1), axis=0, return_counts=True)
        held, way = kinds.T[:, :, None]
        delays, times = np.unique(delays_ps, return_counts=True)

        def weight(time_ps: int) -> int:
            room = time_ps - way - delays
            return int(alike @ np.where(room >= 0, room // held + 1, 0) @ times)

        high = 1
        while weight(high) < need:
            high *= 2
            if high > LATE:
                return NEVER
        return bisect_left(range(high), True, key=lambda time_ps: weight(time_ps) >= need)


def _with_switches(view: View, of_npu: NDArray[np.int64]) -> NDArray[np.int64]:
    """The part of each node: of a switch that of the NPUs nearest to and fro, -1 where two are as near."""
    parts = np.unique(of_npu)
    members = [np.flatnonzero(of_npu == own) for own in parts]
    to, fro = (np.array([view.distances(npus, towards=t) for npus in members]) for t in (True, False))
    ways = to + fro
    part = np.where((ways == ways.min(axis=0)).sum(axis=0) == 1, parts[ways.argmin(axis=0)], -1)
    part[: len(of_npu)] = of_npu
    return part
