"""A directed graph of NPUs, switches and links; links that are alike share a kind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from dse.base.lazy import NDArray, np
from dse.inputs.networks.meshes import Mesh, find_mesh
from dse.inputs.networks.translations import Translations, find_translations

LIMITS = ("max_sends", "max_receives")
"""Fields of a graph that limit how many links an NPU drives at once."""


class LinkKind(NamedTuple):
    """Latency and bandwidth, exactly as written; `LinkModel` says how many bytes per second a GB/s is."""

    latency_ns: Fraction
    bandwidth_gbps: Fraction


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """Nodes 0 … nodes-1, of which the first `npus` are NPUs and the others switches, and directed links.

    Link i leads from `sources[i]` to `destinations[i]` (int32 arrays of one length) and is of kind
    `kinds[kind_of[i]]`. Links from a node to another may be parallel. Switches copy a chunk onto several
    links, and add what comes of it over several, but for those of `cannot_copy` and `cannot_add`. Pairs of an
    NPU and a number in `max_sends` and `max_receives` say over how many links it sends, or receives, at once.
    """

    npus: int
    nodes: int
    sources: NDArray[np.int32]
    destinations: NDArray[np.int32]
    kind_of: NDArray[np.int32]
    kinds: tuple[LinkKind, ...]
    cannot_copy: frozenset[int] = frozenset()
    cannot_add: frozenset[int] = frozenset()
    max_sends: tuple[tuple[int, int], ...] = ()
    max_receives: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(
        cls, npus: int, nodes: int, links: Iterable[tuple[int, int, Fraction | int, Fraction | int]]
    ) -> LinkGraph:
        """Return the graph of links that are `(source, destination, latency in ns, bandwidth in GB/s)`."""
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
        """The graph with every link turned round; link i stays link i, and copies become sums."""
        return replace(
            self,
            sources=self.destinations,
            destinations=self.sources,
            cannot_copy=self.cannot_add,
            cannot_add=self.cannot_copy,
            max_sends=self.max_receives,
            max_receives=self.max_sends,
        )

    @cached_property
    def copies(self) -> NDArray[np.bool_]:
        """Per node whether it copies: what came once may leave over several links."""
        return self._all_but(self.cannot_copy)

    @cached_property
    def adds(self) -> NDArray[np.bool_]:
        """Per node whether it adds: what came over several links may leave as one sum."""
        return self._all_but(self.cannot_add)

    @property
    def _limits(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        return self.max_sends, self.max_receives

    @property
    def has_engines(self) -> bool:
        """Whether some NPU drives fewer links at once than it has."""
        return any(self._limits)

    @property
    def without_engines(self) -> LinkGraph:
        """The graph whose NPUs drive all their links at once."""
        return replace(self, max_sends=(), max_receives=())

    @cached_property
    def engines(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Per node over how many links it sends, and receives, at once; 0, or empty, means all of them."""
        found = []
        for limits in self._limits:
            most = np.zeros(self.nodes if limits else 0, dtype=np.int32)
            for npu, number in limits:
                most[npu] = number
            found.append(most)
        return found[0], found[1]

    def _all_but(self, switches: frozenset[int]) -> NDArray[np.bool_]:
        able = np.ones(self.nodes, dtype=np.bool_)
        able[sorted(switches)] = False
        return able

    @cached_property
    def number_of(self) -> dict[tuple[int, int], int]:
        """The number of the link from a node to another, the first of parallel ones."""
        found: dict[tuple[int, int], int] = {}
        for number, pair in enumerate(zip(self.sources.tolist(), self.destinations.tolist(), strict=True)):
            found.setdefault(pair, number)
        return found

    @cached_property
    def has_parallel_links(self) -> bool:
        """Whether several links lead from some node to another."""
        pairs = np.sort(self.sources.astype(np.int64) * self.nodes + self.destinations)
        return bool((pairs[1:] == pairs[:-1]).any())

    @cached_property
    def translations(self) -> Translations | None:
        """Translations that make it the same from every node, or None if its numbering does not show it."""
        if self.nodes != self.npus or self.has_parallel_links:  # switches as nodes have no translations
            return None
        if any(
            limits and (len(limits) < self.npus or len({n for _, n in limits}) > 1) for limits in self._limits
        ):
            return None
        return find_translations(self.nodes, self.sources, self.destinations, self.kind_of)

    @cached_property
    def mesh(self) -> Mesh | None:
        """The grid of lines that it is, or None if its numbering does not show one."""
        if self.nodes != self.npus:
            return None
        return find_mesh(self.nodes, self.sources, self.destinations, self.kind_of)

    def without(self, links: NDArray[np.bool_]) -> LinkGraph:
        """Return the graph without the links of a mask; the others keep their order, all nodes stay."""
        kept = ~links
        return replace(
            self,
            sources=self.sources[kept],
            destinations=self.destinations[kept],
            kind_of=self.kind_of[kept],
        )

    @cached_property
    def digest(self) -> str:
        """A hash of nodes, what they cannot do, and links, in their order."""
        kinds = " ".join(f"{kind.latency_ns}:{kind.bandwidth_gbps}" for kind in self.kinds)
        lacks = "".join(
            f" {name}{sorted(switches)}"
            for name, switches in (("copies", self.cannot_copy), ("adds", self.cannot_add))
            if switches
        )
        lacks += "".join(f" {name}{pairs}" for name, pairs in zip(LIMITS, self._limits, strict=True) if pairs)
        text = hashlib.sha256(f"{self.npus} {self.nodes} {kinds}{lacks}".encode())
        for column in (self.sources, self.destinations, self.kind_of):
            text.update(column.tobytes())
        return text.hexdigest()
