"""Where the nodes of a graph are drawn: on a grid of its dimensions, on a circle, or as springs pull them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dse.base.lazy import NDArray, np
from dse.collectives.search.fixed_algorithms import dimensions_of
from dse.inputs.networks import LinkGraph

_MOST_SPRINGS = 600
_ROUNDS = 150


def layout(graph: LinkGraph, sizes: Sequence[int] = ()) -> NDArray[np.float64]:
    """Return x and y of every node, each from 0 to 1; shape (nodes, 2).

    `sizes` are those of the dimensions, the first varying fastest; where they are not known, they are looked
    for in the links.
    """
    known = [size for size in sizes if size > 1]
    if math.prod(known) != graph.npus:
        known = [size for size in dimensions_of(graph) if size > 1]
    if len(known) > 1:
        npus = _grid(known)
    elif _is_circular(graph):
        angle = np.arange(graph.npus) * 2 * np.pi / graph.npus
        npus = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    elif graph.nodes <= _MOST_SPRINGS:
        return _scaled(_springs(graph))
    else:
        npus = _grid([math.isqrt(graph.npus - 1) + 1] * 2)[: graph.npus]
    return _scaled(_with_switches(graph, npus))


def _grid(sizes: Sequence[int]) -> NDArray[np.float64]:
    """Dimensions run to the right and down in turn; further ones part the picture into blocks."""
    numbers = np.arange(math.prod(sizes))
    places = np.zeros((len(numbers), 2))
    step = [1.0, 1.0]
    stride = 1
    for number, size in enumerate(sizes):
        axis = number % 2
        places[:, axis] += numbers // stride % size * step[axis]
        step[axis] *= size + 0.6
        stride *= size
    return places


def _is_circular(graph: LinkGraph) -> bool:
    """Whether NPUs are linked to neighbours in number only, or nearly all to all."""
    if graph.nodes > graph.npus:
        return False
    away = (graph.destinations - graph.sources) % graph.npus
    is_ring = bool(np.isin(away, (1, graph.npus - 1)).all())
    return is_ring or (graph.npus <= 64 and 2 * len(graph) >= graph.npus * (graph.npus - 1))


def _springs(graph: LinkGraph) -> NDArray[np.float64]:
    """Nodes push each other away and links pull (Fruchterman and Reingold, 1991), from a circle on."""
    angle = np.arange(graph.nodes) * 2 * np.pi / graph.nodes
    places = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    length = 2 / math.sqrt(graph.nodes)
    for turn in range(_ROUNDS):
        apart = places[:, None] - places[None]
        distance = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-3)
        moves = (apart * (length / distance)[:, :, None] ** 2).sum(axis=1)
        along = places[graph.destinations] - places[graph.sources]
        pull = along * (np.sqrt((along**2).sum(axis=1)) / length)[:, None]
        np.add.at(moves, graph.sources, pull / 2)
        np.add.at(moves, graph.destinations, -pull / 2)
        size = np.maximum(np.sqrt((moves**2).sum(axis=1)), 1e-9)
        places += moves * (np.minimum(size, 0.2 * (1 - turn / _ROUNDS)) / size)[:, None]
    return places


def _with_switches(graph: LinkGraph, npus: NDArray[np.float64]) -> NDArray[np.float64]:
    """A switch is drawn amid what it is linked to, a little aside."""
    places = np.zeros((graph.nodes, 2))
    places[: graph.npus] = npus
    if graph.nodes == graph.npus:
        return places
    middle = npus.mean(axis=0)
    for switch in range(graph.npus, graph.nodes):
        near = graph.destinations[graph.sources == switch]
        near = near[near < graph.npus]
        places[switch] = (npus[near].mean(axis=0) if len(near) else middle) + 0.3
    return places


def _scaled(places: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = places.min(axis=0), places.max(axis=0)
    span = max(float((high - low).max()), 1e-9)
    scaled: NDArray[np.float64] = np.round((places - low + (span - (high - low)) / 2) / span, 4)
    return scaled
