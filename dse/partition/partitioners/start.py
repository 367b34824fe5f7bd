"""A partition to start from: what a proof only has to improve."""

from __future__ import annotations

import dataclasses

from dse.partition.merged import Merged
from dse.partition.partitioner import Limits
from dse.partition.partitioners.multilevel import multilevel

# So many assignments the search goes through faster than a start is made.
_FEW = 10_000
_RESTARTS = 40


def start_of(merged: Merged, limits: Limits) -> tuple[int, ...]:
    """Return labels, or nothing if none was found or none is needed."""
    if merged.problem.devices.count ** min(merged.problem.graph.nodes, 64) <= _FEW:
        return ()
    third = None if limits.time_limit_s is None else limits.time_limit_s / 3
    return multilevel(
        merged, dataclasses.replace(limits, time_limit_s=third, restarts=limits.restarts or _RESTARTS)
    )
