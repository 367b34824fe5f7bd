"""Groups of permutations of nodes that keep all links and move each: chunks lead to others by them.

NPUs are numbered in a mixed radix, and a digit is turned: 1 is added to it, without carry, or it is reversed.
Switches follow their neighbours to those of the same abilities; of several alike each goes to itself, or to
the next. If all permutations of a group but the identity move every link, sends of one chunk lead to sends of
others on other links at the same times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, islice
from typing import NamedTuple

from dse.base.lazy import NDArray, np
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.inputs.networks import LinkGraph

Turn = tuple[int, "NDArray[np.int64]"]
_Pairs = tuple["NDArray[np.int32]", "NDArray[np.int32]"]

_MOST_CANDIDATES = 200  # groups that are looked at, those of numberings of few digits first
_MOST_GROUPS, _MOST_OF_A_SIZE = 6, 2


class Images(NamedTuple):
    """Where each permutation leads links and chunks: int32, a row each."""

    links: NDArray[np.int32]
    chunks: NDArray[np.int32]

    @property
    def lanes(self) -> NDArray[np.int32]:
        """Per link the first of its images: sends of chunks `made` that do not meet in any lane never do."""
        lanes: NDArray[np.int32] = self.links.min(axis=0)
        return lanes

    @property
    def made(self) -> NDArray[np.int64]:
        """The first of the images of each chunk."""
        return np.flatnonzero(self.chunks.min(axis=0) == np.arange(self.chunks.shape[1]))

    def of_made(self, pairs: _Pairs) -> _Pairs:
        """Return those of pairs (NPU, chunk) that are of chunks `made`."""
        npus, chunks = pairs
        kept = np.isin(chunks, self.made)
        return npus[kept], chunks[kept]

    def expanded(self, part: Schedule) -> Schedule:
        """Return the schedule of all chunks, from that of the chunks `made`."""
        count = len(self.links)
        links, chunks = self.links[:, part.link].ravel(), self.chunks[:, part.chunk].ravel()
        starts, reduce = np.tile(part.start_ps, count), np.tile(part.reduce, count)
        return Schedule.of(part.problem, links, chunks, starts, reduce)


def images_of(problem: Problem) -> Iterator[Images]:
    """Yield images under some groups, the largest first; nothing where chunks have no NPU each."""
    graph, collective = problem.graph, problem.collective
    if collective.kind not in ("all_gather", "all_reduce") or len(collective.members) != graph.npus:
        return
    chunks = np.arange(collective.chunks, dtype=np.int64)
    for nodes, links in _groups(graph)[:_MOST_GROUPS]:
        owners = nodes[:, chunks % graph.npus]
        yield Images(links, (chunks - chunks % graph.npus + owners).astype(np.int32))


def _groups(graph: LinkGraph) -> list[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Permutations of nodes and links of the groups that move all links, the largest first.

    Digits are reversed too where turns alone give few groups.
    """
    links, groups = _Links(graph), []
    known: set[frozenset[bytes]] = set()
    for reversing in (False, True):
        of_size: defaultdict[int, list[tuple[NDArray[np.int64], NDArray[np.int32]]]] = defaultdict(list)
        candidates = (
            turns for sizes in _numberings(graph.npus) for turns in _chosen(links, sizes, reversing)
        )
        for turns in islice(candidates, _MOST_CANDIDATES):
            nodes = _generated(graph.nodes, turns)
            if nodes is None:
                continue
            key = frozenset(row.tobytes() for row in nodes)
            if len(key) < len(nodes) or key in known:
                continue
            images = links.images(nodes)
            if images is not None and _moves_all(images):
                known.add(key)
                of_size[len(nodes)].append((nodes, images))
        for size in sorted(of_size, reverse=True):
            groups += of_size[size][:_MOST_OF_A_SIZE]
        if len(groups) >= _MOST_GROUPS:
            break
    return groups


def _numberings(npus: int) -> Iterator[tuple[int, ...]]:
    """The mixed radices of so many numbers, those of few digits first."""
    queue: list[tuple[tuple[int, ...], int]] = [((), npus)]
    for sizes, left in queue:
        if left == 1:
            yield sizes
        queue += [((*sizes, size), left // size) for size in range(left, 1, -1) if left % size == 0]


def _chosen(links: _Links, sizes: tuple[int, ...], reversing: bool) -> Iterator[tuple[Turn, ...]]:
    """Turns of some digits, most first: the order of each, and the permutation of all nodes.

    A turn adds 1 or, where `reversing`, may also subtract the digit from its largest value, if that is odd.
    """
    stride, npus = 1, np.arange(links.graph.npus, dtype=np.int64)
    turns: list[Turn] = []
    for size in sizes:
        digit = npus // stride % size
        moved = [(size, (digit + 1) % size)]
        if reversing and size > 2 and size % 2 == 0:
            moved.append((2, size - 1 - digit))
        for order, to in moved:
            both = [links.extended(npus + (to - digit) * stride, shift) for shift in (1, 0)]
            nodes = [each for each in both if each is not None]
            if len(nodes) == 2 and np.array_equal(nodes[0], nodes[1]):
                nodes.pop()
            turns += [(order, each) for each in nodes]
        stride *= size
    for count in range(len(turns), 0, -1):
        yield from combinations(turns, count)


class _Links:
    """The links of a graph by their ends and kinds, those alike in order."""

    def __init__(self, graph: LinkGraph) -> None:
        self.graph = graph
        self._near: list[list[tuple[int, int, bool]]] = [[] for _ in range(graph.nodes)]
        columns = (graph.sources.tolist(), graph.destinations.tolist(), graph.kind_of.tolist())
        for one, other, kind in zip(*columns, strict=True):
            self._near[one].append((other, kind, True))
            self._near[other].append((one, kind, False))
        self._order = np.argsort(self._keys(np.arange(graph.nodes, dtype=np.int64)), kind="stable")
        self._sorted = self._keys(np.arange(graph.nodes, dtype=np.int64))[self._order]

    def _keys(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number per link of where its ends lead, and its kind."""
        graph = self.graph
        ends = nodes[..., graph.sources] * graph.nodes + nodes[..., graph.destinations]
        return ends * len(graph.kinds) + graph.kind_of

    def extended(self, turned: NDArray[np.int64], shift: int) -> NDArray[np.int64] | None:
        """A permutation of NPUs as one of all nodes: switches lead to those near the images of their NPUs."""
        graph = self.graph
        switches = range(graph.npus, graph.nodes)
        # Switches that copy and add alike have the same name as long as all near them have: as they are, and
        # near images of NPUs.
        abilities = [
            graph.npus + 2 * (switch in graph.cannot_copy) + (switch in graph.cannot_add)
            for switch in switches
        ]
        own = [*range(graph.npus), *abilities]
        led = [*turned.tolist(), *abilities]
        for _ in switches:
            known: dict[tuple[object, ...], int] = {}
            count = len(set(own))
            own, led = (self._renamed(names, known) for names in (own, led))
            if len(set(own)) == count:
                break
        places, image = defaultdict[int, list[int]](list), [*turned.tolist(), *[-1] * len(switches)]
        alike = defaultdict[int, list[int]](list)
        for switch in switches:
            places[own[switch]].append(switch)
            alike[led[switch]].append(switch)
        for name, those in alike.items():
            if len(those) != len(places[name]):
                return None
            for place, switch in enumerate(those):
                image[switch] = places[name][(place + shift) % len(those)]
        nodes = np.array(image, dtype=np.int64)
        return nodes if self.images(nodes[None]) is not None else None

    def _renamed(self, names: list[int], known: dict[tuple[object, ...], int]) -> list[int]:
        """Names of NPUs as they are, and of switches by their own and those of all near them."""
        npus = self.graph.npus
        found = names[:npus]
        for switch in range(npus, self.graph.nodes):
            near = sorted((names[other], kind, leaves) for other, kind, leaves in self._near[switch])
            found.append(npus + known.setdefault((names[switch], *near), len(known)))
        return found

    def images(self, nodes: NDArray[np.int64]) -> NDArray[np.int32] | None:
        """The links that permutations of nodes lead links to, those alike in order; None if one has none."""
        keys = self._keys(nodes)
        order = np.argsort(keys, axis=1, kind="stable")
        if (np.take_along_axis(keys, order, axis=1) != self._sorted).any():
            return None
        images = np.empty(keys.shape, dtype=np.int32)
        np.put_along_axis(images, order, np.broadcast_to(self._order, keys.shape).astype(np.int32), axis=1)
        return images


def _generated(nodes: int, turns: tuple[Turn, ...]) -> NDArray[np.int64] | None:
    """All products of permutations of such orders; None if they have others or do not commute."""
    group = np.arange(nodes, dtype=np.int64)[None]
    for size, turn in turns:
        if any((turn[other] != other[turn]).any() for _, other in turns):
            return None
        powers = [np.arange(nodes, dtype=np.int64)]
        for _ in range(size):
            powers.append(turn[powers[-1]])
        if (powers[-1] != powers[0]).any():
            return None
        group = np.concatenate([power[group] for power in powers[:-1]])
    return group


def _moves_all(links: NDArray[np.int32]) -> bool:
    """Whether no two permutations lead a link to the same one."""
    ordered = np.sort(links, axis=0)
    return bool((ordered[1:] != ordered[:-1]).all())
