"""Sets of nodes that lower bounds look at where a graph has no known structure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from dse.base.lazy import NDArray, np
from dse.collectives.bounds.view import NEVER, View

MOST_SPEEDS = 12
MOST_BALLS = 12
PIVOTS = 4
# Of so few nodes every set is looked at.
MOST_NODES_OF_ALL_SETS = 8
# A set costs a pass over all nodes; so many nodes are looked at in all.
MOST_NODES = 1_000_000


def sets_of(view: View, center: int) -> Iterator[NDArray[np.bool_]]:
    """Yield clusters of nodes that fast links join, sets that are near `center`, and sides of the graph."""
    nodes = view.problem.graph.nodes
    if nodes <= MOST_NODES_OF_ALL_SETS:
        yield from _all_sets(nodes)
        return
    budget = max(24, MOST_NODES // nodes)
    for mask in chain(_sides(view, center), _balls(view, center), _clusters(view)):
        if budget == 0 or view.deadline.is_over:
            return
        budget -= 1
        yield mask


def _all_sets(nodes: int) -> Iterator[NDArray[np.bool_]]:
    for number in range(1, (1 << nodes) - 1):
        yield (number >> np.arange(nodes) & 1).astype(np.bool_)


def joined_parts(view: View) -> Iterator[NDArray[np.int64]]:
    """The part of each node where links of up to a time join nodes, from the fastest on, if several."""
    speeds = np.unique(view.problem.distinct_times[:, 0])
    chosen = speeds[np.unique(np.linspace(0, len(speeds) - 1, MOST_SPEEDS).astype(np.int64))]
    for speed in chosen:
        part = view.links.joined_by(int(speed)).astype(np.int64)
        if (part == part[0]).all():
            return
        yield part


def _clusters(view: View) -> Iterator[NDArray[np.bool_]]:
    """Each part that grew as slower links joined more."""
    before = np.arange(view.problem.graph.nodes)
    for of_set in joined_parts(view):
        sizes = np.bincount(of_set, minlength=len(of_set))
        grown = np.unique(of_set[of_set != before])
        for number in grown[sizes[grown] > 1]:
            yield of_set == number
        before = of_set


def _balls(view: View, center: int) -> Iterator[NDArray[np.bool_]]:
    """The nodes from which the way to the center takes less than a time."""
    ways = view.links.distances(np.array([center], dtype=np.uint32), reversed=True)
    radii = np.unique(ways[ways < NEVER])[1:]
    if len(radii):
        for radius in radii[np.unique(np.linspace(0, len(radii) - 1, MOST_BALLS).astype(np.int64))]:
            yield ways < radius


def _sides(view: View, center: int) -> Iterator[NDArray[np.bool_]]:
    """Nodes nearer to one of two far ends than to the other, where most is needed per capacity of links."""
    ways, pivot = [], center
    nearest = np.full(view.problem.graph.nodes, NEVER)
    for _ in range(PIVOTS):
        found = view.links.distances(np.array([pivot], dtype=np.uint32))
        found[found == NEVER] = 0
        ways.append(found)
        nearest = np.minimum(nearest, found)
        pivot = int(nearest[: view.problem.graph.npus].argmax())
    keys = [*ways, *(a - b for i, a in enumerate(ways) for b in ways[:i])]
    for key in keys:
        order = np.argsort(key, kind="stable")
        for one in (order, order[::-1]):
            size = _tightest(view, one)
            if size:
                mask = np.zeros(len(order), dtype=np.bool_)
                mask[one[:size]] = True
                yield mask


def _tightest(view: View, order: NDArray[np.int64]) -> int:
    """How many nodes of an order need most per capacity of the links into them; 0 if they need nothing."""
    graph, nodes = view.problem.graph, len(order)
    place = np.empty(nodes, dtype=np.int64)
    place[order] = np.arange(nodes)
    there, here = place[graph.destinations], place[graph.sources]
    enters = here > there
    rate = 1.0 / np.maximum(view.problem.held_ps[enters], 1)
    capacity = np.cumsum(
        np.bincount(there[enters], rate, minlength=nodes) - np.bincount(here[enters], rate, minlength=nodes)
    )[:-1]
    need = view.needs.into_beginnings(order)
    if not need.any():
        return 0
    return 1 + int(np.argmax(need / np.maximum(capacity, 1e-30)))
