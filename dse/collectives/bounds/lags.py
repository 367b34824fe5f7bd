"""A lower bound from how long messages are on their way, past switches that only pass them on.

If no switch copies or adds, every message leaves an NPU by a start of its own on one of the links out of
NPUs, and enters one by an arrival of its own on a link into NPUs. A chunk of an all-gather or a broadcast
needs n - 1 messages, one into each NPU that lacks it, and of an all-reduce 2 (n - 1) (Harary and Schwenk
1974).

Join NPUs that are less than d apart. A chunk has to get from cluster to cluster, so G clusters need G - 1 (2
G - 2) messages that take d or longer. Over all d this adds up: the messages of a chunk take at least as long,
in all, as a least spanning tree of the NPUs by their distances (twice that).

On each link one message starts at 0 at the earliest, and one whenever it is free again, so M starts add up to
S or more. Likewise backwards, M times from an arrival to T add up to A or more. A message that takes d has no
more than T - d for both. If links are held for multiples of g, so are the least of these times, and both
together are no more than the multiple of g below T - d. So over the messages of all trees these multiples add
up to S + A or more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from dse.base.lazy import NDArray, np
from dse.collectives.bounds.view import NEVER, Bound, View

_MOST_STEPS = 20_000_000  # of ways between all NPUs


def lags_bound(view: View) -> Iterator[Bound]:
    """The bound of collectives that all NPUs take part in; nothing where a switch copies or adds."""
    graph, collective = view.problem.graph, view.problem.collective
    npus, switches = graph.npus, frozenset(range(graph.npus, graph.nodes))
    is_passive = bool(switches) and switches == graph.cannot_copy == graph.cannot_add
    if not is_passive or collective.kind not in ("all_reduce", "all_gather", "broadcast"):
        return
    if not 1 < npus == len(collective.members) or npus * len(graph) > _MOST_STEPS:
        return
    trees = collective.chunks * (2 if collective.kind == "all_reduce" else 1)
    messages = trees * (npus - 1)
    held = np.maximum(view.problem.held_ps, 1)
    out, into = held[graph.sources < npus], held[graph.destinations < npus]
    tree = _least_tree(view)
    if not tree:
        return
    needed = _least_sum(out, messages) + _least_sum(into, messages)
    unit = int(np.gcd.reduce(np.concatenate([out, into])))
    enough_ps = max(tree) + unit * (needed // unit // messages + 1)

    def fit(time_ps: int) -> bool:
        return trees * sum((time_ps - way) // unit * unit for way in tree) >= needed

    text = f"{messages} messages are needed, and those of a tree to all NPUs take {sum(tree)} ps in all"
    yield Bound("lags", bisect_left(range(enough_ps), True, key=fit), (), f"{text} at least")


def _least_tree(view: View) -> list[int]:
    """The ways of a least spanning tree of the NPUs by their distances, in the shorter direction."""
    npus = view.problem.graph.npus
    nearest = np.full(npus, NEVER)
    is_left = np.ones(npus, dtype=np.bool_)
    joined, tree = 0, []
    for _ in range(npus - 1):
        is_left[joined] = False
        for towards in (False, True):
            ways = view.ways_from(view.links, joined, towards=towards)[:npus]
            nearest = np.minimum(nearest, np.where(ways == 0, NEVER, ways))
        joined = int(np.where(is_left, nearest, NEVER).argmin())
        if nearest[joined] == NEVER:
            return []
        tree.append(int(nearest[joined]))
    return tree


def _least_sum(held_ps: NDArray[np.int64], count: int) -> int:
    """The least sum of `count` times at which links can start, each at 0 and whenever it is free again."""
    times, links = (column.tolist() for column in np.unique(held_ps, return_counts=True))

    def starts_by(moment: int) -> int:
        return sum(links_of * (moment // time + 1) for time, links_of in zip(times, links, strict=True))

    until = bisect_left(range(max(times) * count), True, key=lambda moment: starts_by(moment) >= count)
    total = 0
    for time, links_of in zip(times, links, strict=True):
        last = until // time
        total += links_of * time * (last * (last + 1) // 2)
    return total - (starts_by(until) - count) * until
