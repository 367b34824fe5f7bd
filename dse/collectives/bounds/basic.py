"""Lower bounds that need no sets of nodes: ingress, egress, distance, and all sends."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from dse.base.texts import counted
from dse.collectives.bounds.view import NEVER, Bound, View
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
        ways = view.ways_from(view.links, collective.root, towards=backwards)
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
    best = (0, 0, 0)
    most = max(FEWEST_SOURCES, MOST_STEPS // max(1, len(view.problem.graph)))
    for sources, wanting, _ in islice(view.needs.ways, most):
        ways = view.links.distances(sources)[wanting]
        if view.deadline.is_over:
            return best
        ways[ways == NEVER] = 0
        farthest = int(ways.argmax())
        best = max(best, (int(ways[farthest]), int(sources[0]), int(wanting[farthest])))
    return best


def all_sends_bound(view: View) -> Iterator[Bound]:
    """All links together deliver all that is needed.

    Every NPU gets what it lacks by a delivery of its own. An all-reduce needs 2N-2 messages a chunk: N-1
    until a first node has all contributions, as these messages join all NPUs, and one for each that is left
    (Harary and Schwenk 1974). Another sum needs one from each NPU that contributes but one. A switch that
    cannot add passes on what one node has sent, so these messages enter NPUs and switches that add.
    """
    collective = view.problem.collective
    need = collective.tree_sends if collective.is_reducing else int(view.needs.into_nodes().sum())
    if need:
        if collective.is_reducing:
            enters = view.problem.graph.adds[view.problem.graph.destinations]
            links, time = int(enters.sum()), view.deliveries_ps(enters, need)
        else:
            links = len(view.problem.graph)
            time = view.links.all_deliveries(need, view.first_ps, npus_only=True)
        if time < NEVER:
            yield Bound("all_sends", time, (), f"{need} sends are needed on {links} links")
