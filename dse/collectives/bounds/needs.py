"""How many chunks have to enter a set of nodes, for each collective: what lower bounds count."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from dse.base.lazy import NDArray, np
from dse.collectives.problem.collective import CUSTOM, SEVERAL, Collective

# Schedules of these, run backwards on turned links, are schedules of such a collective too.
BACKWARDS = ("all_to_all", "scatter", "gather", "all_reduce")
# A matrix of chunks between all nodes is kept for so many nodes.
MOST_NODES_OF_DEMANDS = 1024


class Ways(NamedTuple):
    """Some chunks go from one of `sources` to each of `wanting`; of a sum, what one NPU contributes."""

    sources: NDArray[np.uint32]
    wanting: NDArray[np.int64]
    chunks: int


@dataclass(frozen=True)
class Needs:
    """The least that has to be sent; `nodes` are the NPUs of the collective and the switches of its graph.

    In an all-reduce a message of each chunk has to enter every set that lacks an NPU: a full sum holds
    contributions from outside. Reduce-scatter and reduce are judged as the all-gather and broadcast that
    they are backwards.
    """

    collective: Collective
    nodes: int

    @property
    def everyone_gets_the_same(self) -> bool:
        """Whether what enters a set of nodes is wanted by every NPU in it."""
        return self.collective.kind in ("all_gather", "broadcast", "all_reduce")

    def _per_npu(self, value: int, only: int | None = None, but: int | None = None) -> NDArray[np.int64]:
        npus = self.collective.npus
        counts = np.zeros(self.nodes, dtype=np.int64)
        if npus > 1:
            counts[slice(npus) if only is None else only] = value
        if but is not None:
            counts[but] = 0
        return counts

    def into_nodes(self) -> NDArray[np.int64]:
        """How many chunks have to enter each node."""
        name, k, others = self.collective.name, self.collective.chunks_per_npu, self.collective.npus - 1
        root = self.collective.root
        if name == CUSTOM:
            return self._custom_into_nodes
        if name in ("broadcast", "scatter"):
            return self._per_npu(k, but=root)
        if name == "gather":
            return self._per_npu(others * k, only=root)
        return self._per_npu(k * (others + 1) if name == "all_reduce" else k * others)

    def out_of_nodes(self) -> NDArray[np.int64]:
        """How many chunks have to leave each node."""
        name, k, others = self.collective.name, self.collective.chunks_per_npu, self.collective.npus - 1
        root = self.collective.root
        if name == CUSTOM:
            return self._custom_out_of_nodes
        if name == "all_gather":
            return self._per_npu(k)
        if name == "gather":
            return self._per_npu(k, but=root)
        if name in ("broadcast", "scatter"):
            return self._per_npu(k if name == "broadcast" else k * others, only=root)
        return self._per_npu(k * (others + 1) if name == "all_reduce" else k * others)

    def into_set(self, inside: NDArray[np.bool_]) -> int:
        """How many chunks have to enter a set of nodes, given as a mask."""
        if self.collective.name == CUSTOM:
            return self._custom_into_set(inside)
        within = int(inside[: self.collective.npus].sum())
        return int(self._into(within, bool(inside[self.collective.root])))

    def into_beginnings(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many chunks have to enter the first 1, 2, … nodes - 1 nodes of an order of all nodes."""
        if self.collective.name == CUSTOM:
            return self._custom_into_beginnings(order)
        within = np.cumsum(order < self.collective.npus)[:-1]
        root_within = np.cumsum(order == self.collective.root)[:-1] > 0
        return np.broadcast_to(self._into(within, root_within), within.shape)

    def _into(self, within: Any, root_within: Any) -> Any:
        """The same for `within` NPUs, with the root among them or not; numbers or arrays."""
        name, k, npus = self.collective.name, self.collective.chunks_per_npu, self.collective.npus
        outside = npus - within
        if name in ("all_gather", "gather"):
            count = k * outside
        elif name in ("scatter", "all_to_all"):
            count = k * within * (outside if name == "all_to_all" else 1)
        else:
            count = k * (1 if name == "broadcast" else npus)
        if name in ("broadcast", "scatter"):
            count = np.where(root_within, 0, count)
        if name == "gather":
            count = np.where(root_within, count, 0)
        return np.where((within == 0) | (outside == 0), 0, count)

    def into_each(self, inside: NDArray[np.bool_]) -> int:
        """How many chunks from outside a set each NPU in it wants (the root in a gather, others none).

        Nothing of custom conditions, and of several collectives, whose NPUs want different ones.
        """
        if self.collective.kind in (CUSTOM, SEVERAL):
            return 0
        needed = self.into_set(inside)
        if needed and self.collective.kind in ("all_to_all", "scatter"):
            return needed // int(inside[list(self.collective.members)].sum())
        return needed

    def wanting(self, inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The nodes of a set that want what `into_each` counts."""
        collective = self.collective
        wanting: NDArray[np.bool_] = np.zeros(len(inside), dtype=np.bool_)
        those = [collective.root_npu] if collective.kind == "gather" else list(collective.members)
        wanting[those] = inside[those]
        return wanting

    @cached_property
    def demand(self) -> NDArray[np.int64] | None:
        """The chunks that go from each node to each, of an all-to-all or custom conditions.

        None if a chunk has several holders or several NPUs want it, and of too many nodes.
        """
        name = self.collective.name
        if name not in (CUSTOM, "all_to_all") or self.nodes > MOST_NODES_OF_DEMANDS:
            return None
        matrix = np.zeros((self.nodes, self.nodes), dtype=np.int64)
        if name == CUSTOM:
            at, has, by, wants = self.pairs
            holders = np.full(self.collective.chunks, -1, dtype=np.int64)
            holders[has] = at
            if len(np.unique(has)) < len(has) or len(np.unique(wants)) < len(wants):
                return None
            np.add.at(matrix, (holders[wants], by), 1)
            return matrix
        matrix[: self.collective.npus, : self.collective.npus] = self.collective.chunks_per_npu
        np.fill_diagonal(matrix, 0)
        return matrix

    @cached_property
    def holders(self) -> NDArray[np.uint32]:
        """The NPUs that have chunks at first which others want."""
        if self.collective.name in ("broadcast", "scatter"):
            return np.array([self.collective.root], dtype=np.uint32)
        return np.flatnonzero(self.out_of_nodes() if self.collective.name != CUSTOM else self._holds).astype(
            np.uint32
        )

    @cached_property
    def takers(self) -> NDArray[np.uint32]:
        """The NPUs that want chunks of others."""
        return np.flatnonzero(self.into_nodes()).astype(np.uint32)

    @cached_property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """NPUs and chunks that are there at first, and those wanted by NPUs that do not have them.

        A contribution to a sum is there at first, and everyone who wants a sum lacks it.
        """
        (at, has), (by, wants) = self.collective.holdings(), self.collective.wants()
        chunks = max(self.collective.chunks, 1)
        lacks = ~np.isin(by.astype(np.int64) * chunks + wants, at.astype(np.int64) * chunks + has)
        at, has = self.collective.sources()
        return (
            at.astype(np.int64),
            has.astype(np.int64),
            by[lacks].astype(np.int64),
            wants[lacks].astype(np.int64),
        )

    @cached_property
    def _is_sum(self) -> NDArray[np.bool_]:
        """Whether each chunk is a sum; asked once."""
        return self.collective.is_sum

    @cached_property
    def ways(self) -> list[Ways]:
        """The ways of chunks that a custom collective needs, those between the same NPUs together."""
        at, has, by, wants = (column.tolist() for column in self.pairs)
        ends: defaultdict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for place, pairs in enumerate((zip(at, has, strict=True), zip(by, wants, strict=True))):
            for npu, chunk in pairs:
                ends[chunk][place].append(npu)
        counts: defaultdict[tuple[tuple[int, ...], tuple[int, ...]], int] = defaultdict(int)
        for chunk, (holders, wanting) in ends.items():
            sources = [(npu,) for npu in holders] if self._is_sum[chunk] else [tuple(holders)]
            for each in sources if wanting else []:
                counts[each, tuple(wanting)] += 1
        return [
            Ways(np.array(sources, dtype=np.uint32), np.array(wanting, dtype=np.int64), chunks)
            for (sources, wanting), chunks in counts.items()
        ]

    @cached_property
    def _holds(self) -> NDArray[np.int64]:
        return np.bincount(self.pairs[0], minlength=self.nodes).astype(np.int64)

    @cached_property
    def _custom_into_nodes(self) -> NDArray[np.int64]:
        _, _, by, _ = self.pairs
        return np.bincount(by, minlength=self.nodes).astype(np.int64)

    @cached_property
    def _custom_out_of_nodes(self) -> NDArray[np.int64]:
        at, has, by, wants = self.pairs
        holders, wanting = (np.bincount(chunk, minlength=len(self._is_sum)) for chunk in (has, wants))
        wants_itself = np.isin(at * len(wanting) + has, by * len(wanting) + wants)
        needed = (wanting[has] > wants_itself) & ((holders[has] == 1) | self._is_sum[has])
        return np.bincount(at[needed], minlength=self.nodes).astype(np.int64)

    def _custom_into_set(self, inside: NDArray[np.bool_]) -> int:
        at, has, by, wants = self.pairs
        wanted = np.unique(wants[inside[by]])
        is_sum, is_inside = self._is_sum[wanted], np.isin(wanted, has[inside[at]])
        is_outside = np.isin(wanted, has[~inside[at]])
        return int(np.where(is_sum, is_outside, ~is_inside).sum())

    def _custom_into_beginnings(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        at, has, by, wants = self.pairs
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        held_from = np.full(self.collective.chunks, len(order), dtype=np.int64)
        np.minimum.at(held_from, has, place[at])
        sums = self._is_sum[has]
        held_from[self._is_sum] = 0
        np.maximum.at(held_from, has[sums], place[at[sums]])
        wanted_from = np.full(self.collective.chunks, len(order), dtype=np.int64)
        np.minimum.at(wanted_from, wants, place[by])
        enters = wanted_from < held_from
        steps = np.bincount(wanted_from[enters], minlength=len(order) + 1)
        steps -= np.bincount(held_from[enters], minlength=len(order) + 1)
        return np.cumsum(steps)[: len(order) - 1]
