"""The strongest cut of all: a maximum flow to each NPU looks at every set of nodes at once.

Of all sets the one that takes longest to let in what is outside of it is found by flows: if, by a time, the
links can bring the chunks of all first holders to each NPU, no set lets in too little (max-flow min-cut); if
not, the least cut is a set that takes longer, and its time is tried next. In whole chunks this is
the bound of a cut (docs/synthesis.md), over all sets; with fluid chunks it is T ≥ k S / x (`rates`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dse.base.lazy import NDArray, np, solvers
from dse.collectives.bounds.view import NEVER, Bound, View

# A flow looks at every link some times: so many links of all flows take about a tenth of a second.
MOST_LINKS_OF_FLOWS = 400_000


def flow_bound(view: View, at_least_ps: int) -> Iterator[Bound]:
    """The cut that takes longest, if it takes longer than `at_least_ps`; where flows are cheap enough.

    Its nodes are the certificate: what has to enter them, over the links into them.
    """
    graph = view.problem.graph
    supply, sinks = _supply(view)
    if not sinks or len(graph) * len(sinks) > MOST_LINKS_OF_FLOWS:
        return
    ends = (graph.sources, graph.destinations)
    times = (view.problem.arrival_ps, view.problem.held_ps)
    time, _, inside = solvers.flow_time(
        ends, times, view.first_ps, view.last_ps, supply, sinks, max(0, at_least_ps)
    )
    if at_least_ps < time < NEVER:
        nodes = tuple(inside.nonzero()[0].tolist())
        need = int(supply[inside == 0].sum())
        yield Bound(
            "max_flow", time, nodes, f"{need} chunks have to enter these nodes; no set of nodes takes longer"
        )


def _supply(view: View) -> tuple[NDArray[np.int64], list[int]]:
    """Chunks per node that have to flow to each of the sinks; no sinks: no flow says what is needed.

    Of an all-reduce a message of every chunk has to enter each set: as if one NPU had them all, and for sets
    with that NPU the same backwards. NPUs that are all alike need one flow.
    """
    collective, graph = view.problem.collective, view.problem.graph
    supply = np.zeros(graph.nodes, dtype=np.int64)
    members, name = list(collective.members), collective.kind
    root = collective.root_npu
    if name in ("broadcast", "all_reduce"):
        supply[root] = collective.chunks
        return supply, [npu for npu in members if npu != root]
    if name in ("all_gather", "gather"):
        supply[members] = collective.chunks_per_npu
        if name == "gather":
            return supply, [root]
        return supply, [0] if view.group is not None else members
    return supply, []


def demand_cut(view: View, sets: Iterable[NDArray[np.bool_]]) -> Iterator[Bound]:
    """The cut that takes longest: of all sets of up to 20 nodes, of more those near `sets`."""
    demand = view.needs.demand
    if demand is None or not len(view.problem.graph):
        return
    starts = np.array(list(sets), dtype=np.uint8).ravel()
    found = view.links.longest_demand_cut(view.first_ps, view.last_ps, demand.ravel(), starts, 0)
    time, inside = found[0], found[1].astype(np.bool_)
    if 0 < time < NEVER:
        need = int(demand[np.ix_(~inside, inside)].sum())
        nodes = tuple(inside.nonzero()[0].tolist())
        yield Bound("cut", time, nodes, f"{need} chunks have to enter these nodes")
