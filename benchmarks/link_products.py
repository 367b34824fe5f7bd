"""Graphs of dimensions: rings, lines, cliques and their products, made without a loop over links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Literal

from dse.inputs.networks.graph import LinkGraph, LinkKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Shape = Literal["ring", "line", "full", "switch"]


@dataclass(frozen=True)
class Dimension:
    """`size` nodes in a row (`line`), in a circle (`ring`), or all linked to one another (`full`).

    `switch` is a switch whose ports have the bandwidth of `kind`, unrolled: a link for each pair, with the
    bandwidth of a port divided by the others and the latency of two hops.
    """

    shape: Shape
    size: int
    kind: LinkKind

    @property
    def offsets(self) -> tuple[int, ...]:
        """By how much each link leads on along the dimension; those of a line end at its ends."""
        if self.size == 1:
            return ()
        if self.shape in ("full", "switch"):
            return tuple(range(1, self.size))
        if self.shape == "ring":
            return tuple(sorted({1, self.size - 1}))
        return (1, -1)

    @property
    def link(self) -> LinkKind:
        """The kind of its links."""
        if self.shape != "switch" or self.size == 1:
            return self.kind
        return LinkKind(2 * self.kind.latency_ns, self.kind.bandwidth_gbps / (self.size - 1))


def link_kind(latency_ns: Fraction | int | str, bandwidth_gbps: Fraction | int | str) -> LinkKind:
    """Return the kind of link of a latency and a bandwidth; decimals as text are exact."""
    return LinkKind(Fraction(latency_ns), Fraction(bandwidth_gbps))


def product(dimensions: Sequence[Dimension]) -> LinkGraph:
    """Return the Cartesian product; the first dimension is the one whose nodes have successive numbers."""
    import numpy as np

    nodes = prod(dimension.size for dimension in dimensions)
    kinds = tuple(dict.fromkeys(dimension.link for dimension in dimensions if dimension.size > 1))
    columns: list[tuple[NDArray[np.int32], NDArray[np.int32], int]] = []
    number, stride = np.arange(nodes, dtype=np.int32), 1
    for dimension in dimensions:
        place = number // stride % dimension.size
        for offset in dimension.offsets:
            there = place + offset
            if dimension.shape == "line":
                inside = (there >= 0) & (there < dimension.size)
                sources = number[inside]
                destinations = sources + offset * stride
            else:
                sources, destinations = number, number + (there % dimension.size - place) * stride
            columns.append((sources, destinations.astype(np.int32), kinds.index(dimension.link)))
        stride *= dimension.size
    sources = np.concatenate([column[0] for column in columns] or [number[:0]])
    destinations = np.concatenate([column[1] for column in columns] or [number[:0]])
    repeats = [len(column[0]) for column in columns]
    kind_of = np.repeat(np.array([column[2] for column in columns], dtype=np.int32), repeats)
    return LinkGraph(nodes, nodes, sources, destinations, kind_of, kinds)


def torus(sizes: Sequence[int], kind: LinkKind) -> LinkGraph:
    """Return a torus of links of one kind."""
    return product([Dimension("ring", size, kind) for size in sizes])


def mesh(sizes: Sequence[int], kind: LinkKind) -> LinkGraph:
    """Return a grid of links of one kind."""
    return product([Dimension("line", size, kind) for size in sizes])


def hypercube(dimensions: int, kind: LinkKind) -> LinkGraph:
    """Return a hypercube of 2^dimensions nodes."""
    return torus([2] * dimensions, kind)


def fully_connected(nodes: int, kind: LinkKind) -> LinkGraph:
    """Return a graph with a link from every node to every other."""
    return product([Dimension("full", nodes, kind)])
