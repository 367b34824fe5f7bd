"""Graphs that are one row of nodes: chains with a direction, and paths without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dse.partition.graphs.graph import ModelGraph
from dse.partition.graphs.merged import Merged
from dse.partition.search.bounds import cheapest_way, lower_bound

# Starts of an order of devices; each is a dynamic program.
_STARTS = 4


def chain_order(graph: ModelGraph, order: Sequence[int]) -> Sequence[int] | None:
    """Return the topological `order` if edges join each node to the next one and no others."""
    place = {node: index for index, node in enumerate(order)}
    joined = {place[u] for u, v in graph.edges if place[v] == place[u] + 1}
    if len(joined) != graph.nodes - 1 or any(place[v] != place[u] + 1 for u, v in graph.edges):
        return None
    return order


def row_order(graph: ModelGraph) -> list[int] | None:
    """Return the nodes of a path from end to end, whatever the directions of its edges; else None."""
    neighbours: list[set[int]] = [set() for _ in range(graph.nodes)]
    for u, v in graph.edges:
        if u != v:
            neighbours[u].add(v)
            neighbours[v].add(u)
    ends = [node for node in range(graph.nodes) if len(neighbours[node]) <= 1]
    if not ends or any(len(near) > 2 for near in neighbours):
        return None
    row, before = [ends[0]], -1
    while following := neighbours[row[-1]] - {before}:
        before = row[-1]
        row.append(following.pop())
    return row if len(row) == graph.nodes else None


def sharding_of_a_row(merged: Merged, row: Sequence[int]) -> tuple[int, ...]:
    """Return the best contiguous pieces of a path over a few orders of devices; nothing if none fits.

    Devices are taken nearest first (Prim). Where distances are ultrametric, as those of a hierarchy are, such
    an order costs as little as a spanning tree.
    """
    arrays = merged.arrays_in(row)
    way = cheapest_way(merged.problem)
    best: tuple[int, ...] = ()
    upper, bound = np.inf, lower_bound(merged.problem)
    for order in _orders(way):
        for devices in (order, order[::-1]):
            labels, cost, _, _ = arrays.contiguous_sharding(devices.astype(np.uint32), upper)
            if len(labels) and cost < upper:
                best, upper = tuple(labels), cost
            if upper <= bound * (1 + 1e-12):
                return best
    return best


def _orders(way: Any) -> Iterator[Any]:
    count = len(way)
    for start in np.unique(np.linspace(0, count - 1, min(_STARTS, count)).astype(int)):
        yield np.array(_nearest_first(way, int(start)))
    yield np.arange(count)


def _nearest_first(way: Any, start: int) -> list[int]:
    order, left = [start], np.ones(len(way), bool)
    left[start] = False
    nearest = way[start].copy()
    for _ in range(len(way) - 1):
        best = int(np.where(left, nearest, np.inf).argmin())
        order.append(best)
        left[best] = False
        nearest = np.minimum(nearest, way[best])
    return order
