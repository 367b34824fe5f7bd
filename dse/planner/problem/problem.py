"""A planning problem: cluster, profiles, the model's sizes, and what plans may do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dse.planner.problem.cluster import MixedCluster
from dse.planner.problem.profiles import ProfileSet

if TYPE_CHECKING:
    from dse.planner.problem.step_space import StepSpace
    from dse.planner.problem.steps import StepInputs


@dataclass(frozen=True)
class PlanProblem:
    """The problem that a planner solves.

    `type_order` lists the types of the cluster, each once; ties and the order of visits follow it. `gbs` is
    the global batch in sequences. `permutation_limit` and `group_scale` bound the walk. `memory_reserve` is
    the share of each GPU's memory that strict plans leave free. `flops_per_sequence` is what training on one
    sequence needs of the model (None means profiles without a model). `steps` is what cost=step prices;
    `step_space` makes it for other clusters (None: of a file, which has one).
    """

    cluster: MixedCluster
    profiles: ProfileSet
    type_order: tuple[str, ...]
    gbs: int = 128
    hidden: int = 4096
    sequence: int = 1024
    vocabulary: int = 51200
    max_tp: int = 128
    max_batch: int = 128
    group_scale: int = 1
    permutation_limit: int = 128
    allow_mixed_stages: bool = True
    memory_reserve: float = 0.1
    bytes_per_element: int = 2
    shard_optimizer: bool = False
    flops_per_sequence: float | None = None
    steps: StepInputs | None = None
    step_space: StepSpace | None = field(default=None, compare=False)

    def on(self, cluster: MixedCluster, type_order: tuple[str, ...]) -> PlanProblem:
        """Return the same problem on another cluster."""
        steps = None if self.step_space is None else self.step_space.on(cluster, type_order)
        return replace(self, cluster=cluster, type_order=type_order, steps=steps)

    @property
    def layers(self) -> int:
        """Number of layers, embedding and output head included."""
        return self.profiles.layers
