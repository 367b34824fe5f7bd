"""A lower bound on all-reduces from the messages between clusters of nodes that fast links join.

Let the nodes be parted, and G parts have NPUs. Count each part as one node that knows what any of its nodes
knows: what is sent inside costs nothing, so no schedule gets worse. A chunk then needs 2G - 2 messages from
part to part: G - 1 until a first part has all contributions, as each other part with an NPU has sent one out,
and one into each of those parts, later than these (Harary and Schwenk 1974, with parts as nodes). The links
between parts deliver them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dse.collectives.bounds.bound import NEVER, Bound, Strongest
from dse.collectives.bounds.sets import joined_parts
from dse.collectives.bounds.view import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def crossings_bound(view: View) -> Iterator[Bound]:
    """The strongest over parts that links of up to a time join; nothing for other collectives."""
    collective = view.problem.collective
    if collective.name != "all_reduce" or not len(view.problem.graph):
        return
    strongest, found = Strongest("crossings"), None
    for part in joined_parts(view):
        if view.deadline.is_over:
            break
        parts = len(set(part[: collective.npus].tolist()))
        crosses = part[view.problem.graph.sources] != part[view.problem.graph.destinations]
        need = 2 * (parts - 1) * collective.chunks
        time = _deliveries_ps(view, crosses, need)
        if parts > 1 and strongest.raised_to(time):
            text = (
                f"{need} messages are needed between {parts} clusters of NPUs on {int(crosses.sum())} links"
            )
            found = Bound("crossings", time, (), text)
    if found is not None:
        yield found


def _deliveries_ps(view: View, chosen: NDArray[np.bool_], need: int) -> int:
    """When links can have delivered so many chunks, each sending from 0 on."""
    import numpy as np

    from dse.base import solvers

    problem, graph = view.problem, view.problem.graph
    if not need or not chosen.any():
        return NEVER if need else 0
    ends = (graph.sources[chosen], graph.destinations[chosen])
    times = (problem.arrival_ps[chosen], problem.held_ps[chosen])
    links = solvers.TimedLinks(graph.npus, graph.nodes, ends, times, view.own)
    return int(links.all_deliveries(need, np.zeros(graph.nodes, dtype=np.int64), npus_only=False))
