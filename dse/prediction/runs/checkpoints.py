"""Bytes of a checkpoint, and how long it blocks a job, is written and is read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dse.base.errors import InputError
from dse.inputs.accelerators import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.models.counts import parameters
from dse.prediction.runs.renewal import Checkpoints
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.plan import Plan

Kind = Literal["async", "sync"]
KINDS: tuple[Kind, ...] = ("async", "sync")
WEIGHT_BYTES = 2
"""Weights in 16 bit; the master copy in fp32 is part of the optimizer."""


@dataclass(frozen=True)
class Store:
    """Where checkpoints go: `total_gbps` for the whole job and `node_gbps` for a node, 10^9 bytes per second.

    `kind` sync stops the job until all is written; async stops it while the host copies its share of the
    device's memory, and writes behind the steps.
    """

    total_gbps: float
    node_gbps: float
    kind: Kind = "async"

    def __post_init__(self) -> None:
        """Check the rates."""
        for key in ("total_gbps", "node_gbps"):
            if not getattr(self, key) > 0:
                raise InputError(f"checkpoint.{key} is {getattr(self, key)}; it must be above 0")
        if self.kind not in KINDS:
            raise InputError(f"checkpoint.kind is '{self.kind}'; allowed are {', '.join(KINDS)}")

    def gbps(self, nodes: int) -> float:
        """Return what `nodes` nodes write or read together."""
        return min(self.total_gbps, nodes * self.node_gbps)


def checkpoint_bytes(model: ModelSpec, plan: Plan) -> int:
    """Return the weights and the optimizer's states of all parameters, each once."""
    counts = parameters(model)
    states = plan.optimizer_bytes or framework_named(plan.framework).memory.optimizer_bytes
    weights = counts.total + counts.prediction + counts.adapters
    return WEIGHT_BYTES * weights + states * counts.trained


def checkpoint_times(size_bytes: int, cluster: Cluster, store: Store) -> tuple[Checkpoints, float]:
    """Return how long a checkpoint blocks and is written, and the seconds to read it.

    Every NPU copies an equal share to its host, at the bandwidth of the host.
    """
    nodes = -(-cluster.npus // cluster.npus_per_node)
    moved_s = size_bytes / (store.gbps(nodes) * 1e9)
    if store.kind == "sync":
        return Checkpoints(moved_s), moved_s
    copied_s = size_bytes / cluster.npus / (cluster.accelerator.host_bandwidth_gbps * 1e9)
    return Checkpoints(copied_s, moved_s), moved_s
