"""The devices that a graph is placed on: distances or links between them, speeds, memory, tiers."""

from __future__ import annotations

from dataclasses import dataclass

MOST_DEVICES = 2048
"""More would make matrices of all pairs of devices too large."""


@dataclass(frozen=True)
class Devices:
    """K devices.

    `distance[a][b]` is what a cut edge from a to b costs under `sharding_cost` and, per byte, under
    `process_mapping`. The diagonal is unused and it may be asymmetric. `latency_ns[a][b]` and
    `ns_per_byte[a][b]` are the route between two devices for `pipeline_bottleneck` and `latency` (empty:
    free). `speeds` divide a node's nanoseconds (empty: 1). `memory_bytes` are hard limits (empty: none).
    `tiers` are the factors of the system's own hierarchy, outermost first (empty: flat).
    """

    count: int
    distance: tuple[tuple[float, ...], ...] = ()
    latency_ns: tuple[tuple[float, ...], ...] = ()
    ns_per_byte: tuple[tuple[float, ...], ...] = ()
    speeds: tuple[float, ...] = ()
    memory_bytes: tuple[float, ...] = ()
    tiers: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
