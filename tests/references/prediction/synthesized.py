"""The time of collectives by schedules that were synthesised for the links of a group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from dse.prediction.steps import synthesized
from tests.references.prediction.tier_shares import Leg


def gather_s(legs: Sequence[Leg], size_bytes: float) -> float:
    """Return seconds of an all-gather of `size_bytes`: the fastest of a few schedules at that size.

    A reduce-scatter is its mirror image, and takes as long.
    """
    ranks = math.prod(leg.size for leg in legs)
    share = Fraction(max(1, round(size_bytes)), ranks)
    own = tuple(synthesized.Leg(leg.size, leg.bandwidth, leg.latency_s) for leg in legs)
    times = [
        max(line.time_ps(share / each.chunks) for line in each.lines)
        for each in synthesized.schedule_times(own)
    ]
    return float(min(times)) * 1e-12
