"""A partition to start from: what a proof only has to improve."""

from __future__ import annotations

import dataclasses

from dse.partition.graphs.merged import Merged
from dse.partition.search.partitioner import Limits
from dse.partition.search.partitioners.multilevel import multilevel

# So many assignments the search goes through faster than a start is made.
_FEW = 10_000
_RESTARTS = 40


def start_of(merged: Merged, limits: Limits, passed_s: float = 0.0) -> tuple[int, ...]:
    """Return labels, or nothing if none was found or none is needed; takes a third of the time left."""
    if merged.problem.devices.count ** min(merged.problem.graph.nodes, 64) <= _FEW:
        return ()
    third = None if limits.time_limit_s is None else max(0.0, limits.time_limit_s - passed_s) / 3
    return multilevel(
        merged, dataclasses.replace(limits, time_limit_s=third, restarts=limits.restarts or _RESTARTS)
    )
