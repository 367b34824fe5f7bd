"""A lower bound on all-reduces from sums that leave one part of the nodes and enter another.

Let the nodes be parted. What the n NPUs of a part P contribute to a chunk leaves P in one message or more.
If it is one, it has all of that: n - 1 NPUs have sent before over links inside of P, and all n if messages
leave switches alone. So the k-th such message of all chunks leaves after k times as many sends have begun,
and had time to come to where it leaves, and not before the link is free again that began another L messages
ago, of L links out of P. Backwards in time the same holds for messages into a part Q. If a chunk has one
message into Q, it has what left P, a way before. So of C chunks the k-th message out of P from the start, and
the one into Q that C - k others follow at the end, fit into T with a way between, for each k.

Else C + 1 messages leave P, of which the last one has a way to an NPU before it, or as many enter Q, of which
the first one has one behind it. That holds for switches that copy and add, and for others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

from dse.base.lazy import NDArray, np
from dse.collectives.bounds.sets import joined_parts
from dse.collectives.bounds.view import LATE, Bound, Strongest, View

_MOST_PARTS = 64
_MOST_SENDS = 1_000_000  # of the NPUs of a part, whose starts are listed


def exits_bound(view: View) -> Iterator[Bound]:
    """The strongest over pairs of parts that links of up to a time join; nothing for other collectives."""
    collective, graph = view.problem.collective, view.problem.graph
    if collective.kind != "all_reduce" or len(collective.members) != graph.npus or not len(graph):
        return
    if graph.npus * collective.chunks > _MOST_SENDS:
        return
    views = (view, View(replace(view.problem, graph=graph.transposed), view.deadline))
    to_npus = [one.distances(np.arange(graph.npus), towards=True) for one in views]
    strongest, found = Strongest("exits"), None
    for part in joined_parts(view):
        parts = sorted(set(part[: graph.npus].tolist()))
        if view.deadline.is_over:
            break
        if len(parts) > _MOST_PARTS:
            continue
        onward = [view.distances(np.flatnonzero(part == own), towards=True) for own in parts]
        outs, ins = (
            [_Exits.of(one, part == own, near) for own in parts]
            for one, near in zip(views, to_npus, strict=True)
        )
        for p, q in permutations(range(len(parts)), 2):
            there, here = outs[p], ins[q]
            alone = there.way_ps(view, onward[q]) + int((there.leaves_ps + here.leaves_ps[::-1]).max())
            time = min(alone, there.more_ps, here.more_ps)
            if time < LATE and strongest.raised_to(time):
                text = (
                    f"{collective.chunks} sums leave these nodes when they are whole, and spread in the"
                    " inner set. Otherwise one message more has to leave or to enter"
                )
                nodes, inner = (tuple((part == own).nonzero()[0].tolist()) for own in (parts[p], parts[q]))
                found = Bound("exits", strongest.time_ps, nodes, text, inner)
    if found is not None:
        yield found


class _Exits(NamedTuple):
    """The links out of a part, and when 1, 2, … messages leave over them, if each chunk has one.

    If a chunk has more, the least time is `more_ps`.
    """

    links: NDArray[np.int64]
    leaves_ps: NDArray[np.int64]
    more_ps: int

    @classmethod
    def of(cls, view: View, inside: NDArray[np.bool_], to_npus: NDArray[np.int64]) -> _Exits:
        """Return those of the nodes `inside`, a part; from all nodes it is so far to NPUs."""
        problem, graph = view.problem, view.problem.graph
        chunks = problem.collective.chunks
        links = np.flatnonzero(inside[graph.sources] & ~inside[graph.destinations])
        if not len(links):
            return cls(links, np.full(chunks, LATE), LATE)
        held = problem.held_ps[links]
        free = _starts(view.first_ps[graph.sources[links]], held, chunks + 1)
        leaves = np.maximum(free[:chunks], _sums(view, inside, links))
        for number in range(len(links), chunks):
            leaves[number] = max(leaves[number], leaves[number - len(links)] + int(held.min()))
        found = cls(links, leaves, 0)
        return found._replace(more_ps=int(free[-1]) + found.way_ps(view, to_npus))

    def way_ps(self, view: View, onward: NDArray[np.int64]) -> int:
        """The least time from when a message begins to leave until it has gone on so far from nodes."""
        ways = view.problem.arrival_ps[self.links] + onward[view.problem.graph.destinations[self.links]]
        return int(ways.min(initial=LATE))


def _sums(view: View, inside: NDArray[np.bool_], links: NDArray[np.int64]) -> NDArray[np.int64]:
    """When 1, 2, … sums of a part can be whole where links leave it, each after sends of its NPUs."""
    problem, graph = view.problem, view.problem.graph
    is_npu, chunks = np.arange(graph.nodes) < graph.npus, problem.collective.chunks
    leaving = np.isin(np.arange(graph.nodes), graph.sources[links])
    sends = int((inside & is_npu).sum()) - int((leaving & is_npu).any())
    onward = view.distances(np.flatnonzero(leaving), towards=True)
    farthest = int(onward[inside & is_npu].max(initial=0))
    within = (inside & is_npu)[graph.sources] & inside[graph.destinations]
    if not sends:
        return np.full(chunks, farthest)
    if not within.any():
        return np.full(chunks, LATE)
    nearest = int((problem.arrival_ps[within] + onward[graph.destinations[within]]).min())
    starts = _starts(np.zeros(int(within.sum()), dtype=np.int64), problem.held_ps[within], sends * chunks)
    return np.minimum(np.maximum(farthest, starts[sends - 1 :: sends] + nearest), LATE)


def _starts(first_ps: NDArray[np.int64], held_ps: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """When links, free from such times on, can have begun 1, 2, … up to so many messages."""
    held = np.maximum(held_ps, 1)
    first = np.minimum(first_ps, LATE)
    # By then a link alone has begun so many.
    until = int((first + held * (count - 1)).min(initial=LATE))
    each = np.clip((until - first) // held + 1, 0, count)
    links = np.repeat(np.arange(len(held)), each)
    numbers = np.arange(len(links)) - np.repeat(np.cumsum(each) - each, each)
    leaving_ps: NDArray[np.int64] = np.sort(first[links] + numbers * held[links])
    return leaving_ps[:count]
