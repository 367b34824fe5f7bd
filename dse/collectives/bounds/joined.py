"""Problems with fewer nodes, no schedule of which is slower: nodes are joined, and links inside cost nothing.

Count the nodes of a block as one, which has whatever any of them has. What is sent inside of a block costs
nothing then, and every schedule is one of the blocks too. So a bound on the time of the blocks holds for the
nodes. All bounds on sums count messages and what nodes can know, which joined nodes know at once.

Several collectives at once use links together. Where links between different collectives join nodes, blocks
often have an NPU of each, and the collectives are one among blocks, with the chunks of all: bounds of one
collective hold for it. Chunks that are left over, and all but one of those that NPUs of a block want for
each, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dse.base.lazy import NDArray, np
from dse.collectives.bounds.sets import joined_parts
from dse.collectives.bounds.view import Bound, View
from dse.collectives.problem.collective import CUSTOM, Collective, Part
from dse.collectives.problem.problem import Problem
from dse.inputs.networks import LinkGraph


def joined_problems(view: View) -> Iterator[tuple[Problem, NDArray[np.int64]]]:
    """The problems of blocks of several collectives, and the number of the block of each node.

    Blocks are what links between NPUs of different collectives join, what links of up to a time join, and
    what both join.
    """
    problem = view.problem
    foreign = _joined_by(problem.graph, np.arange(problem.graph.nodes), _are_foreign(problem))
    tried: set[bytes] = set()
    speeds = [] if problem.cuts_through else list(joined_parts(view))
    both = (_joined_by(problem.graph, part, _are_foreign(problem)) for part in speeds)
    for part in (foreign, *speeds, *both):
        block = _numbered(part)
        if block.tobytes() in tried or view.deadline.is_over:
            continue
        tried.add(block.tobytes())
        parts = _parts_of_blocks(problem.collective.parts, block)
        if parts:
            graph = _graph_of_blocks(problem.graph, block)
            whole = len(parts) == 1 and len(parts[0].group) == graph.npus
            made = parts[0].collective if whole else Collective(CUSTOM, graph.npus, parts=parts)
            yield replace(problem, graph=graph, collective=made), block


def of_nodes(bound: Bound, block: NDArray[np.int64]) -> Bound:
    """Return a bound on a problem of blocks as one on that of their nodes."""
    nodes, inner = (tuple(np.flatnonzero(np.isin(block, own)).tolist()) for own in (bound.nodes, bound.inner))
    text = f"nodes in {int(block.max()) + 1} blocks, with links inside that take no time: {bound.text}"
    return Bound(bound.name, bound.time_ps, nodes, text, inner)


def _are_foreign(problem: Problem) -> NDArray[np.bool_]:
    """Whether each link joins NPUs that are in collectives, but in none together."""
    graph, parts = problem.graph, problem.collective.parts
    belongs = np.zeros((graph.nodes, len(parts)), dtype=np.bool_)
    for place, part in enumerate(parts):
        belongs[list(part.group), place] = True
    there, here = belongs[graph.sources], belongs[graph.destinations]
    found: NDArray[np.bool_] = np.any(there, axis=1) & np.any(here, axis=1) & ~np.any(there & here, axis=1)
    return found


def _joined_by(graph: LinkGraph, part: NDArray[np.int64], chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The least number of a part of each node, where chosen links join parts too."""
    found = part.astype(np.int64)
    ends = graph.sources[chosen], graph.destinations[chosen]
    while True:
        least = np.minimum(found[ends[0]], found[ends[1]])
        lower = np.arange(graph.nodes)
        for end in ends:
            np.minimum.at(lower, found[end], least)
        if (lower[found] == found).all():
            return found
        found = lower[found]


def _numbered(part: NDArray[np.int64]) -> NDArray[np.int64]:
    """Blocks numbered by their first nodes, so that those with NPUs come first."""
    _, first, inverse = np.unique(part, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)]


def _graph_of_blocks(graph: LinkGraph, block: NDArray[np.int64]) -> LinkGraph:
    """The links between blocks; a block with an NPU, or a switch that can, copies and adds."""
    leaves = block[graph.sources] != block[graph.destinations]
    npus, blocks = int(block[: graph.npus].max()) + 1, int(block.max()) + 1
    cannot_copy, cannot_add = (
        frozenset(range(npus, blocks)) - frozenset(block[able].tolist())
        for able in (graph.copies, graph.adds)
    )
    sources, destinations = (
        block[column][leaves].astype(np.int32) for column in (graph.sources, graph.destinations)
    )
    kind_of = np.ascontiguousarray(graph.kind_of[leaves])
    return LinkGraph(npus, blocks, sources, destinations, kind_of, graph.kinds, cannot_copy, cannot_add)


def _parts_of_blocks(parts: tuple[Part, ...], block: NDArray[np.int64]) -> tuple[Part, ...]:
    """The collectives among blocks, those of a kind among the same blocks as one."""
    chunks: dict[tuple[str, tuple[int, ...], int], int] = {}
    for part in parts:
        members = block[list(part.group)].tolist()
        group = tuple(sorted(set(members)))
        if len(group) < 2:
            continue
        count = part.chunks_per_npu
        if part.name == "all_reduce":
            count *= len(part.group)
        elif part.name not in ("broadcast", "reduce"):
            count *= min(map(members.count, group))
        rooted = part.name in ("broadcast", "reduce", "scatter", "gather")
        key = (part.name, group, group.index(members[part.root]) if rooted else 0)
        chunks[key] = chunks.get(key, 0) + count
    found = []
    for (name, group, root), count in chunks.items():
        each = count // len(group) if name == "all_reduce" else count
        if each:
            found.append(Part(name, group, each, root))
    return tuple(found)
