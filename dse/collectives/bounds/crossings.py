"""A lower bound on all-reduces from the messages between clusters of nodes that fast links join.

Let the nodes be parted, and G parts have NPUs. Count each part as one node that knows what any of its nodes
knows: what is sent inside costs nothing, so no schedule gets worse. A chunk then needs 2G - 2 messages from
part to part: G - 1 until a first part has all contributions, as each other part with an NPU has sent one out,
and one into each of those parts, later than these (Harary and Schwenk 1974, with parts as nodes). The links
between parts deliver them all, none before it can have come to their start. What enters a part of switches
that cannot add was sent by one other part, and is not counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from dse.collectives.bounds.bound import Bound, Strongest
from dse.collectives.bounds.sets import joined_parts
from dse.collectives.bounds.view import View


def crossings_bound(view: View) -> Iterator[Bound]:
    """The strongest over parts that links of up to a time join; nothing for other collectives."""
    import numpy as np

    collective, graph = view.problem.collective, view.problem.graph
    if collective.kind != "all_reduce" or not len(graph):
        return
    strongest, found = Strongest("crossings"), None
    for part in joined_parts(view):
        if view.deadline.is_over:
            break
        parts = len(set(part[list(collective.members)].tolist()))
        crosses = part[graph.sources] != part[graph.destinations]
        need = 2 * (parts - 1) * collective.chunks
        crosses &= (np.bincount(part, graph.adds) > 0)[part[graph.destinations]]
        time = view.deliveries_ps(crosses, need)
        if parts > 1 and strongest.raised_to(time):
            text = (
                f"{need} messages are needed between {parts} clusters of NPUs on {int(crosses.sum())} links"
            )
            found = Bound("crossings", time, (), text)
    if found is not None:
        yield found
