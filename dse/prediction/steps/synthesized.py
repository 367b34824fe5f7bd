"""Collectives of a group synthesised on the links that it has: schedules made once, times by size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dse.collectives.made import Solved
    from dse.collectives.search.times_by_size import Line
    from dse.inputs.networks import LinkGraph

# Chunks of a rank's share and their bytes: one for small messages, many so that the tiers work at once.
_MADE_FOR = ((1, 1 << 12), (1, 1 << 22), (4, 1 << 22), (16, 1 << 22))
_MOST_PLACES = 1 << 18
_REMEMBERED = 1024


class Leg(NamedTuple):
    """A tier that joins `size` units of a group; `bandwidth` in bytes per second is that of each NPU."""

    size: int
    bandwidth: float
    latency_s: float


class Times(NamedTuple):
    """How long a schedule takes: the largest of `lines` over the bytes of a chunk, one of `chunks` a rank."""

    chunks: int
    lines: tuple[Line, ...]


@lru_cache(maxsize=_REMEMBERED)
def schedule_times(legs: tuple[Leg, ...]) -> tuple[Times, ...]:
    """Return the times of the schedules of an all-gather; a reduce-scatter is its mirror image."""
    from dse.collectives.search.times_by_size import curve

    schedules = [each.schedule for each in gather_schedules(legs)]
    return tuple([Times(each.problem.collective.chunks_per_npu, curve(each).lines) for each in schedules])


def lines_of(legs: Sequence[tuple[int, float, float]]) -> list[tuple[float, list[tuple[float, float]]]]:
    """Return chunks and lines (ps, ps a byte) of the schedules of legs of a size, bandwidth and latency."""
    times = schedule_times(tuple([Leg(*leg) for leg in legs]))
    return [
        (float(each.chunks), [(float(line.base_ps), float(line.ps_per_byte)) for line in each.lines])
        for each in times
    ]


def gather_schedules(legs: Sequence[Leg]) -> tuple[Solved, ...]:
    """Return schedules of an all-gather over these tiers."""
    from dse.collectives import LinkModel
    from dse.collectives.made import Recipe, schedules_for

    recipe = Recipe(LinkModel("1e9", "bandwidth", "ps"), _MADE_FOR, _MOST_PLACES, ("symmetric",))
    return schedules_for("all_gather", group_graph(legs), recipe)


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
