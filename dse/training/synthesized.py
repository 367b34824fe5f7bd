"""Collectives of a group synthesised on the links that it has: schedules made once, times by size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from dse.training.legs import Leg

if TYPE_CHECKING:
    from dse.collectives.curves import Curve
    from dse.networks import LinkGraph

# Chunks of a rank's share and their bytes: one for small messages, many so that the tiers work at once.
_MADE_FOR = ((1, 1 << 12), (1, 1 << 22), (4, 1 << 22), (16, 1 << 22))
_MOST_PLACES = 1 << 18  # pairs of a rank and a chunk; with more, shares are cut less
_REMEMBERED = 256


def gather_s(legs: Sequence[Leg], size_bytes: float) -> float:
    """Return seconds of an all-gather of `size_bytes`: the fastest of a few schedules at that size.

    A reduce-scatter is its mirror image, and takes as long.
    """
    from dse.collectives.curves import envelope

    ranks = math.prod(leg.size for leg in legs)
    share = Fraction(max(1, round(size_bytes)), ranks)
    return float(envelope(gather_curves(tuple(legs)), share).time_ps) * 1e-12


@lru_cache(maxsize=_REMEMBERED)
def gather_curves(legs: tuple[Leg, ...]) -> tuple[Curve, ...]:
    """Return schedules of an all-gather over these tiers, with their times by the size of a chunk."""
    from dse.collectives import Collective, LinkModel, Problem
    from dse.collectives.curves import curve
    from dse.collectives.synthesis import synthesize
    from dse.collectives.synthesizers.base import Effort
    from dse.collectives.synthesizers.registry import make_synthesizer

    graph = group_graph(legs)
    made = []
    for chunks, chunk_bytes in _MADE_FOR:
        if chunks > 1 and graph.npus**2 * chunks > _MOST_PLACES:
            break
        collective = Collective("all_gather", graph.npus, chunks)
        problem = Problem(graph, collective, Fraction(chunk_bytes), LinkModel("1e9", "bandwidth", "ps"))
        found = synthesize(problem, make_synthesizer("symmetric"), Effort(), compare=False)
        made.append(curve(found.schedule))
    return tuple(made)


def group_graph(legs: Sequence[Leg]) -> LinkGraph:
    """Return the links of a group: on each tier a rank divides what it sends among the ranks of its place.

    Ranks are numbered in mixed radix, the inner tier running fastest. Bandwidths are in 10^9 bytes/s.
    """
    from dse.networks import LinkGraph

    ranks = math.prod(leg.size for leg in legs)
    links = []
    stride = 1
    for leg in legs:
        latency_ns = Fraction(round(leg.latency_s * 1e12), 1000)
        bandwidth_gbps = Fraction(round(leg.bandwidth), 10**9 * (leg.size - 1))
        for rank in range(ranks):
            at = rank // stride % leg.size
            others = (rank + (other - at) * stride for other in range(leg.size) if other != at)
            links += [(rank, other, latency_ns, bandwidth_gbps) for other in others]
        stride *= leg.size
    return LinkGraph.of(ranks, ranks, links)
