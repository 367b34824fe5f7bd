"""Bytes of a checkpoint, and how long it blocks a job, is written and is read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from dse.base.errors import InputError
from dse.inputs.accelerators import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.models.counts import parameters
from dse.prediction.runs.reliability import NearCopy
from dse.prediction.runs.renewal import Checkpoints
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.plan import Plan

Kind = Literal["async", "sync"]
KINDS: tuple[Kind, ...] = ("async", "sync")
Place = Literal["storage", "peer", "local"]
PLACES: tuple[Place, ...] = ("storage", "peer", "local")
_SURVIVED_NODES = {"peer": 1, "local": 0}
WEIGHT_BYTES = 2
"""Weights in 16 bit; the master copy in fp32 is part of the optimizer."""


@dataclass(frozen=True)
class Store:
    """Where checkpoints go: `total_gbps` for the whole job and `node_gbps` for a node, 10^9 bytes per second.

    `kind` sync stops the job until all is written; async stops it while the host copies its share of the
    device's memory, and writes behind the steps.

    At `place` peer or local a checkpoint is near: in the memory of another node's host, or of its own. From
    there every `every`-th goes to storage behind the steps. `near_gbps` is what a node writes to its peer
    (None: what its NPUs send together) or to its own disk (None: the memory of the host is the copy).
    """

    total_gbps: float
    node_gbps: float
    kind: Kind = "async"
    place: Place = "storage"
    near_gbps: float | None = None
    every: int = 1

    def __post_init__(self) -> None:
        """Check the rates."""
        for key in ("total_gbps", "node_gbps"):
            if not getattr(self, key) > 0:
                raise InputError(f"checkpoint.{key} is {getattr(self, key)}; it must be above 0")
        for key, allowed in (("kind", KINDS), ("place", PLACES)):
            if getattr(self, key) not in allowed:
                raise InputError(
                    f"checkpoint.{key} is '{getattr(self, key)}'; allowed are {', '.join(allowed)}"
                )
        if self.near_gbps is not None and not self.near_gbps > 0:
            raise InputError(f"checkpoint.near_gbps is {self.near_gbps}; it must be above 0")

    def gbps(self, nodes: int) -> float:
        """Return what `nodes` nodes write or read together."""
        return min(self.total_gbps, nodes * self.node_gbps)


def checkpoint_bytes(model: ModelSpec, plan: Plan) -> int:
    """Return the weights and the optimizer's states of all parameters, each once."""
    counts = parameters(model)
    states = plan.optimizer_bytes or framework_named(plan.framework).memory.optimizer_bytes
    weights = counts.total + counts.prediction + counts.adapters
    return WEIGHT_BYTES * weights + states * counts.trained


class CheckpointTimes(NamedTuple):
    """How a checkpoint blocks and is written, the seconds to read it from storage, and its near copy."""

    checkpoints: Checkpoints
    load_s: float
    near: NearCopy | None = None


def checkpoint_times(size_bytes: int, cluster: Cluster, store: Store) -> CheckpointTimes:
    """Return how long a checkpoint blocks and is written, and how long it is read.

    Every NPU copies an equal share to its host, at the bandwidth of the host; every node sends its share to
    its peer while the next nodes send theirs.

    Raises:
        InputError: a peer is asked for, and there is one node.
    """
    nodes = -(-cluster.npus // cluster.npus_per_node)
    moved_s = size_bytes / (store.gbps(nodes) * 1e9)
    copied_s = size_bytes / cluster.npus / (cluster.accelerator.host_bandwidth_gbps * 1e9)
    if store.place == "storage":
        if store.kind == "sync":
            return CheckpointTimes(Checkpoints(moved_s), moved_s)
        return CheckpointTimes(Checkpoints(copied_s, moved_s), moved_s)
    near_gbps = store.near_gbps
    if store.place == "peer":
        if nodes < 2:
            raise InputError(
                f"checkpoint_at is peer, but {cluster.name} has one node: write local or storage"
            )
        near_gbps = near_gbps or cluster.tiers[-1].bandwidth_gbps * cluster.npus_per_node
    near_s = 0.0 if near_gbps is None else size_bytes / nodes / (near_gbps * 1e9)
    blocking_s, writing_s = (copied_s + near_s, 0.0) if store.kind == "sync" else (copied_s, near_s)
    return CheckpointTimes(
        Checkpoints(blocking_s, writing_s, moved_s, store.every),
        moved_s,
        NearCopy(near_s or copied_s, _SURVIVED_NODES[store.place]),
    )
