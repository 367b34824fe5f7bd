"""The graph that is partitioned: modules or operators, their work, memory and tensors."""

from __future__ import annotations

from dataclasses import dataclass

LARGEST = 1e100
"""No number of a problem is above it, and no speed below its inverse: squares and products stay finite."""


@dataclass(frozen=True)
class ModelGraph:
    """A directed graph of n nodes; parallel edges are kept.

    `node_weights` are what the objective balances: any unit for `sharding_cost` and `process_mapping`,
    nanoseconds on a device of speed 1 for `pipeline_bottleneck` and `latency`. `edges` are (from, to);
    `edge_bytes` what each carries (one tensor that goes to many nodes has one number in `edge_tensors` and is
    sent once per receiving device; empty: every edge is a tensor of its own). `memory_bytes` is what a node
    needs where it is placed (empty: nothing). `names` are empty or one per node.
    """

    node_weights: tuple[float, ...]
    edges: tuple[tuple[int, int], ...]
    edge_bytes: tuple[float, ...] = ()
    edge_tensors: tuple[int, ...] = ()
    memory_bytes: tuple[float, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.node_weights)
