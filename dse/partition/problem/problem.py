"""A partition problem: graph, devices, objective and constraints; and what a partitioner answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.devices import Devices

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
