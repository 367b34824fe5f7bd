"""A planning problem: cluster, profiles, the model's sizes, and what plans may do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dse.planner.problem.cluster import MixedCluster

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


class ProfileKey(NamedTuple):
    """The case that a profile was taken for: GPU type, tensor degree, batch (sequences of a micro-batch)."""

    type: str
    tp: int
    batch: int

    def __str__(self) -> str:
        """As a profile's file name has it, for messages."""
        return f"{self.type} tp {self.tp} batch {self.batch}"


@dataclass(frozen=True)
class Profile:
    """One profile of L layers.

    `layer_ms` are forward plus backward times; `layer_memory_mb` memories in MB (2^20 bytes); `gap_ms` is the
    forward-backward time less the sum of the layers; the others are times in ms of one optimizer step and one
    batch.
    """

    layer_ms: tuple[float, ...]
    layer_memory_mb: tuple[float, ...]
    gap_ms: float
    optimizer_ms: float
    batch_generator_ms: float


@dataclass(frozen=True)
class ProfileSet:
    """Profiles by key, and the parameters of the model in bytes.

    `first` is the key whose optimizer time, batch generator time and layer weights the compat cost takes for
    all. `parameters_bytes` has an entry per layer. `memory_has_states` says that memories are totals of a GPU
    with weights, gradients and optimizer states; otherwise they are activations alone. `leaves_out` names
    ways to run layers that predictions do not have.
    """

    profiles: Mapping[ProfileKey, Profile]
    first: ProfileKey
    parameters_bytes: tuple[float, ...]
    memory_has_states: bool = True
    source: str = "profiles"
    leaves_out: tuple[str, ...] = ()

    @property
    def layers(self) -> int:
        """Number of layers, embedding and output head included."""
        return len(self.parameters_bytes)


@dataclass(frozen=True)
class ClusterPlan:
    """Stages on consecutive ranks; ranks are dealt out type by type in the order of `types`.

    `groups` are the GPUs of each stage, `strategies` its (dp, tp), `batches` the micro-batches of a step, and
    `partition` has a bound more than there are stages: stage i (from 0) has layers partition[i] up to, not
    including, partition[i + 1]. `costed` stages count in the cost: all, but for truncated plans of the walk.
    `attempt` and `delta` are the walk's: partition attempt, and what the plan adds to the count.

    Plans priced by the model of a step also have `ways`, how each stage runs its layers
    (`dse.planner.problem.steps.way_words`), and `starts`, the first rank of each stage: ranks between may be
    idle. The ways of a plan for equal stages are the same words, with pp, and all else that a sweep says.
    """

    types: tuple[str, ...]
    groups: tuple[int, ...]
    strategies: tuple[tuple[int, int], ...]
    batches: int
    partition: tuple[int, ...]
    costed: int
    attempt: int = 1
    delta: int = 0
    ways: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()


@dataclass(frozen=True)
class StageCost:
    """Cost terms of a stage in ms: all micro-batches share `execution_ms`, the others occur as named."""

    execution_ms: float
    link_ms: float
    reduction_ms: float
    update_ms: float
    memory_bytes: tuple[float, ...] = ()
    """Per GPU of the stage, in rank order; empty under the compat cost, which knows no memory of one GPU."""


@dataclass(frozen=True)
class PlanCost:
    """The cost of a plan: the step in ms, and its terms per costed stage."""

    cost_ms: float
    stages: tuple[StageCost, ...]
    gap_ms: float
    batch_generator_ms: float
    parts: tuple[tuple[str, float], ...] = ()
    """The parts of a step that the model of a step prices, in ms."""


@dataclass(frozen=True)
class PlanResult:
    """A planner's answer.

    `count` is what the walk counts (None if not a walk); `plans` the number of plans that were priced; `best`
    None where nothing fits. `bound_ms` is a proven lower bound on every plan of the space (None if none is
    known), `optimal` whether the best is proven to be one. `ranking` holds the cheapest plans in order, the
    best first. `infeasible` counts reasons why parts of the space fell out. `certificate` is plain data for
    `dse.planner.proofs.certificate`.
    """

    planner: str
    cost_model: str
    count: int | None
    plans: int
    best: ClusterPlan | None
    cost: PlanCost | None
    bound_ms: float | None
    optimal: bool
    seconds: float
    ranking: tuple[tuple[float, ClusterPlan], ...] = ()
    infeasible: Mapping[str, int] = field(default_factory=dict)
    certificate: Mapping[str, Any] | None = None
    homogeneous: tuple[tuple[float, ClusterPlan], ...] = ()
    """Under cost=step, the fastest plan of a sweep over each type alone, with its cost in ms."""


def plain_sum(values: Iterable[float]) -> float:
    """Return the sum from left to right, starting at 0; the built-in one compensates from Python 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total
