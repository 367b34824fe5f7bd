"""The strongest cut of all: a maximum flow to each NPU looks at every set of nodes at once.

Of all sets the one that takes longest to let in what is outside of it is found by flows: if, by a time, the
links can bring the chunks of all first holders to each NPU, no set lets in too little (max-flow min-cut); if
not, the least cut is a set that takes longer, and its time is tried next. In whole chunks this is
the bound of a cut (docs/synthesis.md), over all sets; with fluid chunks it is T ≥ k S / x (`rates`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dse.collectives.bounds.bound import NEVER, Bound
from dse.collectives.bounds.view import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A flow looks at every link some times: so many links of all flows take about a tenth of a second.
MOST_LINKS_OF_FLOWS = 400_000


def flow_bound(view: View, at_least_ps: int) -> Iterator[Bound]:
    """The cut that takes longest, if it takes longer than `at_least_ps`; where flows are cheap enough.

    Its nodes are the certificate: what has to enter them, over the links into them.
    """
    from dse.base import solvers

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
    import numpy as np

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
