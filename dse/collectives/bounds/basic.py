"""Lower bounds that need no sets of nodes: ingress, egress, distance, and all sends."""

from __future__ import annotations

from collections.abc import Iterator

from dse.base.texts import counted
from dse.collectives.bounds.bound import NEVER, Bound
from dse.collectives.bounds.view import View
from dse.collectives.problem.collective import CUSTOM

# A way from every NPU to every other is looked for if it takes no more steps than this.
MOST_STEPS = 20_000_000
FEWEST_SOURCES = 16


def node_bounds(view: View) -> Iterator[Bound]:
    """Ingress and egress: distinct chunks need distinct deliveries by the links of a node.

    A link carries nothing before the nearest first holder can have sent to its source, and what is on a link
    must still reach an NPU that wants something. What leaves a node has left it before it arrives.
    """
    needs = view.needs
    for name, need, backwards in (
        ("ingress", needs.into_nodes(), False),
        ("egress", needs.out_of_nodes(), True),
    ):
        waits = view.last_ps if backwards else view.first_ps
        time, node = view.links.busiest_node(need, waits, reversed=backwards)
        if time:
            verb = "leave" if backwards else "enter"
            yield Bound(
                name,
                time,
                (node,),
                f"{counted(int(need[node]), 'chunk has', 'chunks have')} to {verb} NPU {node}",
            )


def distance_bound(view: View) -> Iterator[Bound]:
    """The longest of the shortest ways of a chunk: it is stored at every node before it is sent on.

    In a reduction a contribution is the chunk, and travels in messages. Where there are too many NPUs only
    some sources are looked at, each farthest from the one before.
    """
    graph, collective = view.problem.graph, view.problem.collective
    if collective.name == CUSTOM:
        time, source, destination = _longest_custom_way(view)
    elif collective.name in ("broadcast", "scatter", "gather"):
        backwards = collective.name == "gather"
        ways = view.ways_ps(collective.root, towards=backwards)
        source, destination = collective.root, int(ways.argmax())
        time = int(ways[destination])
        if backwards:
            source, destination = destination, source
    else:
        sources = max(FEWEST_SOURCES, MOST_STEPS // max(1, len(graph))) if view.group is None else 1
        time, source, destination = _longest_way(view, min(graph.npus, sources))
    if time:
        text = f"the shortest way from NPU {source} to NPU {destination} takes as long"
        yield Bound("distance", time, (source, destination), text)


def _longest_way(view: View, sources: int) -> tuple[int, int, int]:
    """The longest shortest way from some sources; from fewer ones when the deadline is over."""
    count = sources if view.deadline.left_s is None else 1
    found = view.links.longest_way(count)
    while count < sources and not view.deadline.is_over:
        count = min(sources, 4 * count)
        found = view.links.longest_way(count)
    return found


def _longest_custom_way(view: View) -> tuple[int, int, int]:
    import numpy as np

    at, has, by, wants = view.needs.pairs
    best = (0, 0, 0)
    chunks = np.unique(wants)
    for chunk in chunks[: max(FEWEST_SOURCES, MOST_STEPS // max(1, len(view.problem.graph)))]:
        holders, wanting = at[has == chunk].astype(np.uint32), by[wants == chunk]
        ways = view.links.distances(holders)[wanting]
        if view.deadline.is_over:
            return best
        ways[ways == NEVER] = 0
        farthest = int(ways.argmax())
        best = max(best, (int(ways[farthest]), int(holders[0]), int(wanting[farthest])))
    return best


def all_sends_bound(view: View) -> Iterator[Bound]:
    """All links together deliver all that is needed.

    Every NPU gets what it lacks by a delivery of its own. An all-reduce needs 2N-2 messages a chunk: N-1
    until a first node has all contributions, as these messages join all NPUs, and one for each that is left
    (Harary and Schwenk 1974). A switch that cannot add passes on what one node has sent, so these messages
    enter NPUs and switches that add. Where chunks have a way each, the ways hold links for as long as they
    are.
    """
    collective = view.problem.collective
    npus, k = collective.npus, collective.chunks_per_npu
    if collective.name == "all_reduce":
        need = 2 * (npus - 1) * k * npus
    else:
        need = int(view.needs.into_nodes().sum())
    if need:
        if collective.name == "all_reduce":
            enters = view.problem.graph.adds[view.problem.graph.destinations]
            links, time = int(enters.sum()), view.deliveries_ps(enters, need)
        else:
            links = len(view.problem.graph)
            time = view.links.all_deliveries(need, view.first_ps, npus_only=True)
        by_ways, held = (0, 0) if collective.everyone_wants_all else _time_of_ways(view)
        text = f"{need} sends are needed on {links} links"
        if by_ways > time:
            text = f"the shortest ways of all chunks hold links for {held} ps in all"
        if max(time, by_ways) < NEVER:
            yield Bound("all_sends", max(time, by_ways), (), text)


def _time_of_ways(view: View) -> tuple[int, int]:
    """When links can have been held for as long as the ways of all chunks are, and how long that is.

    A link that has delivered n chunks by T was held for at most T - arrival + held; with more links than are
    of use by T the sum of these only falls.
    """
    import numpy as np

    held = _held_by_ways(view)
    slack = np.sort(view.problem.arrival_ps - view.problem.held_ps)
    if not held or not len(slack):
        return 0, held
    totals = np.cumsum(slack)
    counts = np.arange(1, len(slack) + 1)
    return int((-(-(held + totals) // counts)).min()), held


def _held_by_ways(view: View) -> int:
    import numpy as np

    graph, collective = view.problem.graph, view.problem.collective
    npus, k, root = collective.npus, collective.chunks_per_npu, collective.root
    if collective.name in ("scatter", "gather"):
        return k * int(view.ways_ps(root, towards=collective.name == "gather", by_held=True).sum())
    if collective.name == CUSTOM:
        at, has, by, wants = view.needs.pairs
        chunks = np.unique(wants)
        if len(chunks) * len(graph) > MOST_STEPS:
            return 0
        total = 0
        for chunk in chunks:
            if view.deadline.is_over:
                return 0
            ways = view.links.distances(at[has == chunk].astype(np.uint32), by_held=True)[by[wants == chunk]]
            total += int(ways[ways < NEVER].max(initial=0))
        return total
    if view.group is not None:
        return k * npus * int(view.ways_ps(0, by_held=True).sum())
    if npus * len(graph) > MOST_STEPS:
        return 0
    total = 0
    for npu in range(npus):
        if view.deadline.is_over:
            return 0
        total += int(view.ways_ps(npu, by_held=True).sum())
    return k * total
