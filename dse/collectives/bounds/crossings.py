"""A lower bound on all-reduces from the messages between clusters of nodes that fast links join.

Let the nodes be parted, and G parts have NPUs. Count each part as one node that knows what any of its nodes
knows: what is sent inside costs nothing, so no schedule gets worse. A chunk then needs 2G - 2 messages from
part to part: G - 1 until a first part has all contributions, as each other part with an NPU has sent one out,
and one into each of those parts, later than these (Harary and Schwenk 1974, with parts as nodes). The links
between parts deliver them all, none before it can have come to their start. What enters a part of switches
that cannot add was sent by one other part, and is not counted.

Where no switch copies or adds, call a chunk tight if it has no more messages than those. By when a first part
knows all, each other part has sent one, which has all that its NPUs contribute: it waits for their sum, at
least as long as sums of as many NPUs take to get to one (`spreads`). What it brings is new where it comes to,
or goes on to, and is to spread there. Later each other part gets one message. It has all of the first part,
which had sent nothing until then, and what is new in it is to spread. So the messages of tight chunks lie
within T less both times. Each other chunk has one message more at least. With any number of tight chunks the
links need time for all messages, and for those of tight chunks within theirs. How messages begin and end
in parts if chunks are tight says more (`tight`).
"""

from __future__ import annotations

from collections.abc import Iterator

from dse.base.lazy import NDArray, np
from dse.collectives.bounds.sets import joined_parts
from dse.collectives.bounds.tight import Ends
from dse.collectives.bounds.view import NEVER, Bound, Strongest, View


def crossings_bound(view: View) -> Iterator[Bound]:
    """The strongest over parts that links of up to a time join; nothing for other collectives."""
    collective, graph = view.problem.collective, view.problem.graph
    if collective.kind != "all_reduce" or not len(graph):
        return
    strongest, found = Strongest("crossings"), None
    for part in joined_parts(view):
        if view.deadline.is_over:
            break
        members = part[list(collective.members)].tolist()
        parts = len(set(members))
        crosses = part[graph.sources] != part[graph.destinations]
        crosses &= (np.bincount(part, graph.adds) > 0)[part[graph.destinations]]
        need = 2 * (parts - 1) * collective.chunks
        time, text = view.deliveries_ps(crosses, need), ""
        ends = Ends.of(view, part) if parts > 1 else None
        if ends is not None:
            tight = _with_tight(view, crosses, parts, ends)
            if tight > time:
                is_longer = tight > view.deliveries_ps(crosses, need) + ends.inside_ps
                text = (
                    f". Those of chunks that have no more wait, and are to spread, for {ends.inside_ps} ps"
                    f"{' or longer' if is_longer else ''} in all"
                )
            time = max(time, tight)
        if parts > 1 and strongest.raised_to(time):
            links = f"{int(crosses.sum())} links"
            text = f"{need} messages are needed between {parts} clusters of NPUs on {links}{text}"
            found = Bound("crossings", time, (), text)
    if found is not None:
        yield found


def _with_tight(view: View, crosses: NDArray[np.bool_], parts: int, ends: Ends) -> int:
    """The least time over all numbers of chunks that are not tight."""
    chunks, each = view.problem.collective.chunks, 2 * (parts - 1)
    least = NEVER
    for others in range(chunks + 1):
        all_of_them = view.deliveries_ps(crosses, chunks * each + others)
        if all_of_them >= least:
            break
        tight = view.deliveries_ps(crosses, (chunks - others) * each)
        time = max(all_of_them, tight + ends.inside_ps if others < chunks else 0)
        least = min(least, time if others else max(time, ends.all_tight_ps))
    return max(least, min(ends.all_tight_ps, ends.more_ps))
