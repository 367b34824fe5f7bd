"""Graphs that are grids of lines: nodes numbered by digits, links of one kind along each digit."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from dse.base.lazy import NDArray, np


@dataclass(frozen=True, eq=False)
class Mesh:
    """A grid whose first dimension has successive numbers, with a link to each neighbour and back.

    Links along dimension d are of kind `kind_of[d]`. Link `link_of[2 * d, u]` leads from node u to the next
    along d, `link_of[2 * d + 1, u]` to the one before (int32, -1 where there is none).
    """

    sizes: tuple[int, ...]
    kind_of: NDArray[np.int32]
    link_of: NDArray[np.int32]

    @property
    def strides(self) -> tuple[int, ...]:
        """By how much a node's number grows per one of each digit."""
        return tuple(prod(self.sizes[:dimension]) for dimension in range(len(self.sizes)))


def find_mesh(
    nodes: int, sources: NDArray[np.int32], destinations: NDArray[np.int32], kind_of: NDArray[np.int32]
) -> Mesh | None:
    """Return the mesh that links between `nodes` nodes are; None if they are none.

    The neighbours of node 0 say which sizes it must have; then all links are checked.
    """
    strides = np.sort(destinations[sources == 0]).astype(np.int64).tolist()
    ends = [*strides[1:], nodes]
    if not strides or strides[0] != 1 or any(end % stride for stride, end in zip(strides, ends, strict=True)):
        return None
    sizes = tuple(end // stride for stride, end in zip(strides, ends, strict=True))
    if len(sources) != sum(2 * (nodes - nodes // size) for size in sizes):
        return None
    link_of = np.full((2 * len(sizes), nodes), -1, dtype=np.int32)
    kinds = np.zeros(len(sizes), dtype=np.int32)
    offsets = destinations.astype(np.int64) - sources
    for dimension, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        for way, step in ((2 * dimension, 1), (2 * dimension + 1, -1)):
            links = np.flatnonzero(offsets == step * stride)
            digits = sources[links].astype(np.int64) // stride % size + step
            links = links[(digits >= 0) & (digits < size)]
            link_of[way, sources[links]] = links
            kinds[dimension] = kind_of[links[0]] if len(links) else -1
            if len(links) != nodes - nodes // size or (kind_of[links] != kinds[dimension]).any():
                return None
        if kind_of[link_of[2 * dimension, 0]] != kinds[dimension]:
            return None
    return Mesh(sizes, kinds, link_of)
