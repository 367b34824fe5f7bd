"""A directed graph of NPUs, switches and links; links that are alike share a kind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from dse.inputs.networks.translations import Translations, find_translations

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class LinkKind(NamedTuple):
    """Latency and bandwidth, exactly as written; `LinkModel` says how many bytes per second a GB/s is."""

    latency_ns: Fraction
    bandwidth_gbps: Fraction


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """Nodes 0 … nodes-1, of which the first `npus` are NPUs and the others switches, and directed links.

    Link i leads from `sources[i]` to `destinations[i]` (int32 arrays of one length) and is of kind
    `kinds[kind_of[i]]`. There is at most one link from a node to another.
    """

    npus: int
    nodes: int
    sources: NDArray[np.int32]
    destinations: NDArray[np.int32]
    kind_of: NDArray[np.int32]
    kinds: tuple[LinkKind, ...]

    @classmethod
    def of(
        cls, npus: int, nodes: int, links: Iterable[tuple[int, int, Fraction | int, Fraction | int]]
    ) -> LinkGraph:
        """Return the graph of links that are `(source, destination, latency in ns, bandwidth in GB/s)`."""
        import numpy as np

        numbers: dict[LinkKind, int] = {}
        rows = []
        for source, destination, latency, bandwidth in links:
            kind = LinkKind(Fraction(latency), Fraction(bandwidth))
            rows.append((source, destination, numbers.setdefault(kind, len(numbers))))
        table = np.array(rows, dtype=np.int32).reshape(-1, 3)
        sources, destinations, kind_of = (np.ascontiguousarray(table[:, i]) for i in range(3))
        return cls(npus, nodes, sources, destinations, kind_of, tuple(numbers))

    def __len__(self) -> int:
        """How many links there are."""
        return len(self.sources)

    @cached_property
    def transposed(self) -> LinkGraph:
        """The graph with every link turned round; link i stays link i."""
        return LinkGraph(self.npus, self.nodes, self.destinations, self.sources, self.kind_of, self.kinds)

    @cached_property
    def number_of(self) -> dict[tuple[int, int], int]:
        """The number of the link from a node to another."""
        pairs = zip(self.sources.tolist(), self.destinations.tolist(), strict=True)
        return {pair: number for number, pair in enumerate(pairs)}

    @cached_property
    def translations(self) -> Translations | None:
        """Translations that make it the same from every node, or None if its numbering does not show it."""
        if self.nodes != self.npus:  # switches as nodes have no translations
            return None
        return find_translations(self.nodes, self.sources, self.destinations, self.kind_of)

    def without(self, links: NDArray[np.bool_]) -> LinkGraph:
        """Return the graph without the links of a mask; the others keep their order, all nodes stay."""
        kept = ~links
        return LinkGraph(
            self.npus, self.nodes, self.sources[kept], self.destinations[kept], self.kind_of[kept], self.kinds
        )

    @cached_property
    def digest(self) -> str:
        """A hash of nodes and links, in their order."""
        kinds = " ".join(f"{kind.latency_ns}:{kind.bandwidth_gbps}" for kind in self.kinds)
        text = hashlib.sha256(f"{self.npus} {self.nodes} {kinds}".encode())
        for column in (self.sources, self.destinations, self.kind_of):
            text.update(column.tobytes())
        return text.hexdigest()
