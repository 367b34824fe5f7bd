"""The best rate of an all-gather or a broadcast without latencies, by maximum flows: exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import NamedTuple

from dse.base.lazy import NDArray, np, solvers
from dse.collectives.problem.problem import Problem

_MOST_FLOW = 1 << 61


class Rate(NamedTuple):
    """At which rate each first holder can give its bytes to all NPUs, and the NPUs and switches that decide.

    `bytes_per_ns` is the largest x such that for every set of nodes with an NPU the bandwidths of the links
    into it are at least x times the holders outside of it; in `nodes` they are equal. With chunks of S
    bytes, k per holder, no schedule takes less than k S / x, and packed trees come near as k grows
    (docs/synthesis.md).
    """

    bytes_per_ns: Fraction
    nodes: tuple[int, ...]

    def time_ps(self, problem: Problem) -> Fraction:
        """Return what the bytes of a problem take at this rate."""
        return 1000 * problem.collective.chunks_per_npu * problem.chunk_bytes / self.bytes_per_ns


def best_rate(problem: Problem) -> Rate | None:
    """Return the best rate of an all-gather or a broadcast.

    None where numbers pass 64 bits, nothing is sent, or there is no way.

    Newton steps over sets: at the rate that a set allows, a flow too small shows a set that allows less
    (Dinkelbach 1967).
    """
    graph = problem.graph
    holders = supply_of(problem) > 0
    capacity, scale = _whole(problem)
    if graph.npus < 2 or capacity is None:
        return None
    sinks = list(range(graph.npus))
    inside = np.ones(graph.nodes, dtype=np.bool_)
    inside[problem.collective.root if holders.sum() == 1 else 0] = False
    rate = _allowed(problem, inside, holders, capacity)
    while True:
        supply = holders.astype(np.int64) * rate.numerator
        if max(int(capacity.sum()) * rate.denominator, int(supply.sum())) > _MOST_FLOW:
            return None
        found = solvers.short_set(
            (graph.sources, graph.destinations), capacity * rate.denominator, supply, sinks
        )
        if found is None:
            return Rate(rate / scale, tuple(np.flatnonzero(inside).tolist()))
        inside = found[1].astype(np.bool_)
        rate = _allowed(problem, inside, holders, capacity)
        if not rate:
            return None  # there is no way to a sink


def supply_of(problem: Problem) -> NDArray[np.int64]:
    """Return how many chunks each node has at first, of a collective in which everyone wants all."""
    supply = np.zeros(problem.graph.nodes, dtype=np.int64)
    if problem.collective.name == "broadcast":
        supply[problem.collective.root] = problem.collective.chunks
    else:
        supply[: problem.graph.npus] = problem.collective.chunks_per_npu
    return supply


def _allowed(
    problem: Problem, inside: NDArray[np.bool_], holders: NDArray[np.bool_], capacity: NDArray[np.int64]
) -> Fraction:
    graph = problem.graph
    into = ~inside[graph.sources] & inside[graph.destinations]
    return Fraction(int(capacity[into].sum()), int((holders & ~inside).sum()))


def _whole(problem: Problem) -> tuple[NDArray[np.int64] | None, Fraction]:
    """Bytes per ns of every link times a scale that makes them whole, or None if they are too large."""
    bytes_per_gb = Fraction(1 if problem.model.gb == "1e9" else Fraction(2**30, 10**9))
    rates = [kind.bandwidth_gbps for kind in problem.graph.kinds]
    scale = Fraction(lcm(*(rate.denominator for rate in rates)) if rates else 1)
    whole = [int(rate * scale) for rate in rates]
    if not whole or max(whole) * max(1, len(problem.graph)) > _MOST_FLOW:
        return None, scale
    column: NDArray[np.int64] = np.array(whole, dtype=np.int64)[problem.graph.kind_of]
    return column, scale / bytes_per_gb
