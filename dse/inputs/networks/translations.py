"""Graphs that look the same from every node: links of a numbering that adds the same offset everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from dse.base.lazy import NDArray, np

SAMPLED_NODES = 48


@dataclass(frozen=True, eq=False)
class Translations:
    """The group of a graph whose links are u → u + g, for the same generators g and their kinds at every u.

    Node u is the element with the digits of u in the mixed radix `sizes` (the first counts ones); elements
    are added digit by digit, without carry. Generator i leads from node 0 to node `generators[i]`, is of
    kind `kind_of[i]`, and from node u it is link `link_of[u, i]` (int32, shape (nodes, generators)).
    """

    sizes: tuple[int, ...]
    generators: NDArray[np.int64]
    kind_of: NDArray[np.int32]
    link_of: NDArray[np.int32]

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """By how much a node's number grows per one of each digit."""
        strides = [1]
        for size in self.sizes:
            strides.append(strides[-1] * size)
        return tuple(strides[:-1])

    def add(self, a: NDArray[np.int64], b: NDArray[np.int64], sign: int = 1) -> NDArray[np.int64]:
        """Return a + b (a - b with sign -1) per pair of nodes; shapes broadcast."""
        if len(self.sizes) == 1:
            return (a + sign * b) % self.sizes[0]
        total = np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b)), dtype=np.int64)
        for size, stride in zip(self.sizes, self.strides, strict=True):
            total += (a // stride + sign * (b // stride)) % size * stride
        return total

    def digits(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the digits of nodes, shape (digits, nodes)."""
        rows = [nodes // stride % size for size, stride in zip(self.sizes, self.strides, strict=True)]
        return np.array(rows, dtype=np.int64).reshape(len(self.sizes), -1)


def find_translations(
    nodes: int, sources: NDArray[np.int32], destinations: NDArray[np.int32], kind_of: NDArray[np.int32]
) -> Translations | None:
    """Return the translations of links between NPUs under a mixed-radix numbering of these; None without.

    Link i leads from `sources[i]` to `destinations[i]`, nodes below `nodes`, and is of kind `kind_of[i]`.

    Radices are those products of factors of the number of nodes in which all links of some nodes agree, the
    largest first. Then all links are checked.
    """
    links = len(sources)
    if nodes < 2 or links == 0 or links % nodes:
        return None
    if (np.bincount(sources, minlength=nodes) != links // nodes).any():
        return None
    order = np.argsort(sources, kind="stable").reshape(nodes, -1)
    sample = np.unique(np.linspace(0, nodes - 1, SAMPLED_NODES).astype(np.int64))
    there = destinations[order[sample]].astype(np.int64)
    kinds = kind_of[order[sample]].astype(np.int64)
    if (np.sort(kinds) != np.sort(kinds[0])).any():
        return None
    for sizes in _numberings(nodes, sample[:, None], there, kinds):
        found = _translations(sizes, order, destinations, kind_of)
        if found is not None:
            return found
    return None


def _numberings(
    nodes: int, here: NDArray[np.int64], there: NDArray[np.int64], kinds: NDArray[np.int64]
) -> Iterator[tuple[int, ...]]:
    """The mixed radices in which links of the nodes `here` have the same offsets, digit by digit."""

    def extended(
        sizes: tuple[int, ...], stride: int, offsets: NDArray[np.int64]
    ) -> Iterator[tuple[int, ...]]:
        if stride == nodes:
            yield sizes
            return
        left = nodes // stride
        for size in (size for size in range(left, 1, -1) if left % size == 0):
            digit = (there // stride - here // stride) % size
            longer = offsets + digit * stride
            codes = np.sort(longer * (kinds.max() + 1) + kinds, axis=1)
            if (codes == codes[0]).all():
                yield from extended((*sizes, size), stride * size, longer)

    yield from extended((), 1, np.zeros_like(there))


def _translations(
    sizes: tuple[int, ...],
    order: NDArray[np.int64],
    destinations: NDArray[np.int32],
    kind_of: NDArray[np.int32],
) -> Translations | None:
    """The translations of a numbering if all links agree; `order`: links by source, a row per node."""
    nodes, degree = order.shape
    group = Translations(sizes, np.empty(0, np.int64), np.empty(0, np.int32), np.empty((0, 0), np.int32))
    here = np.arange(nodes, dtype=np.int64)[:, None]
    offsets = group.add(destinations[order].astype(np.int64), here, sign=-1)
    generators = np.sort(offsets[0])
    number = np.full(nodes, -1, dtype=np.int32)
    number[generators] = np.arange(degree, dtype=np.int32)
    columns = number[offsets]
    if (columns < 0).any():
        return None
    link_of = np.empty((nodes, degree), dtype=np.int32)
    np.put_along_axis(link_of, columns.astype(np.int64), order.astype(np.int32), axis=1)
    kinds = kind_of[link_of]
    if (kinds != kinds[0]).any():
        return None
    return Translations(sizes, generators, kinds[0].copy(), link_of)
