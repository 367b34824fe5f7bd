"""A partition problem: graph, devices, objective and constraints; and what a partitioner answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dse.partition.graphs.graph import ModelGraph

OBJECTIVES = ("sharding_cost", "pipeline_bottleneck", "process_mapping", "latency")


@dataclass(frozen=True)
class PartitionProblem:
    """The problem that a partitioner solves.

    `pinned` maps a node to its device; `together` lists groups of nodes that stay on one device. `imbalance`
    is epsilon of `process_mapping`: a device's weight is at most (1 + epsilon) of the mean. Every device gets
    at least one node under `sharding_cost`. `free_order` lets `pipeline_bottleneck` choose the order of the
    devices; otherwise stage k runs on device k.
    """

    graph: ModelGraph
    devices: Devices
    objective: str = "sharding_cost"
    pinned: Mapping[int, int] = field(default_factory=dict)
    together: tuple[tuple[int, ...], ...] = ()
    imbalance: float = 0.03
    free_order: bool = False


@dataclass(frozen=True)
class Partition:
    """A partitioner's answer: `labels` is the device of each node in input order.

    `bound` is a proven lower bound on the cost of every partition (None if none is known), `optimal` whether
    the cost is proven least. `seconds` is the wall time of the search.
    """

    labels: tuple[int, ...]
    cost: float
    bound: float | None
    optimal: bool
    partitioner: str
    seconds: float
    notes: tuple[str, ...] = ()


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
