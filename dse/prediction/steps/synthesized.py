"""Collectives of a group synthesised on the links that it has: schedules made once, times by size."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from dse.prediction.steps.tier_shares import Leg

if TYPE_CHECKING:
    from dse.collectives.search.times_by_size import Curve, Line
    from dse.inputs.networks import LinkGraph

# Chunks of a rank's share and their bytes: one for small messages, many so that the tiers work at once.
_MADE_FOR = ((1, 1 << 12), (1, 1 << 22), (4, 1 << 22), (16, 1 << 22))
_MOST_PLACES = 1 << 18  # pairs of a rank and a chunk; with more, shares are cut less
_REMEMBERED = 1024
_one_at_a_time = threading.Lock()


class Times(NamedTuple):
    """How long a schedule takes: the largest of `lines` over the bytes of a chunk, one of `chunks` a rank."""

    chunks: int
    lines: tuple[Line, ...]

    def time_ps(self, share_bytes: Fraction) -> Fraction:
        """The time where each rank has so many bytes."""
        return max(line.time_ps(share_bytes / self.chunks) for line in self.lines)


def gather_s(legs: Sequence[Leg], size_bytes: float) -> float:
    """Return seconds of an all-gather of `size_bytes`: the fastest of a few schedules at that size.

    A reduce-scatter is its mirror image, and takes as long.
    """
    ranks = math.prod(leg.size for leg in legs)
    share = Fraction(max(1, round(size_bytes)), ranks)
    with _one_at_a_time:  # threads of a sweep need the same ones
        times = _times(tuple(legs))
    return float(min(each.time_ps(share) for each in times)) * 1e-12


@lru_cache(maxsize=_REMEMBERED)
def _times(legs: tuple[Leg, ...]) -> tuple[Times, ...]:
    return tuple(
        Times(each.schedule.problem.collective.chunks_per_npu, each.lines) for each in gather_curves(legs)
    )


def gather_curves(legs: Sequence[Leg]) -> Iterator[Curve]:
    """Make schedules of an all-gather over these tiers, with their times by the size of a chunk."""
    from dse.collectives import Collective, LinkModel, Problem
    from dse.collectives.search.synthesis import synthesize
    from dse.collectives.search.synthesizers.base import Effort
    from dse.collectives.search.synthesizers.registry import make_synthesizer
    from dse.collectives.search.times_by_size import curve

    graph = group_graph(legs)
    for chunks, chunk_bytes in _MADE_FOR:
        if chunks > 1 and graph.npus**2 * chunks > _MOST_PLACES:
            break
        collective = Collective("all_gather", graph.npus, chunks)
        problem = Problem(graph, collective, Fraction(chunk_bytes), LinkModel("1e9", "bandwidth", "ps"))
        found = synthesize(problem, make_synthesizer("symmetric"), Effort(), compare=False)
        yield curve(found.schedule)


def group_graph(legs: Sequence[Leg]) -> LinkGraph:
    """Return the links of a group: on each tier a rank divides what it sends among the ranks of its place.

    Ranks are numbered in mixed radix, the inner tier running fastest. Bandwidths are in 10^9 bytes/s.
    """
    from dse.inputs.networks import LinkGraph

    ranks = math.prod(leg.size for leg in legs)
    links = []
    stride = 1
    for leg in legs:
        latency_ns = Fraction(round(leg.latency_s * 1e12), 1000)
        bandwidth_gbps = Fraction(max(1, round(leg.bandwidth)), 10**9 * (leg.size - 1))
        for rank in range(ranks):
            at = rank // stride % leg.size
            others = (rank + (other - at) * stride for other in range(leg.size) if other != at)
            links += [(rank, other, latency_ns, bandwidth_gbps) for other in others]
        stride *= leg.size
    return LinkGraph.of(ranks, ranks, links)
