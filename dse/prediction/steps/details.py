"""One predicted step in its pieces, as the engine has them: passes, pipeline, collectives, layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dse.inputs.accelerators.algorithms import ALGORITHMS
from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.models.matrices import LayerKind, layer_kinds
from dse.inputs.strategies.divisibility import InfeasibleStrategy
from dse.inputs.strategies.schedules.schedule import KINDS
from dse.native import _engine
from dse.prediction.steps.batch import plan_rows, step_predictor
from dse.prediction.steps.checks import value_problem
from dse.prediction.steps.native_inputs import step_cluster, step_model
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import PARTS


@dataclass(frozen=True)
class Passes:
    """Seconds of a micro-batch on a chunk by part: forward, and backward with recomputation.

    `weight_s` of the latter are gradients of weights. `tensor_blocks` of its layers meet after tensor
    parallelism.
    """

    forward: Mapping[str, float]
    backward: Mapping[str, float]
    weight_s: float
    tensor_blocks: int

    @property
    def forward_s(self) -> float:
        """The forward pass."""
        return sum(self.forward.values())

    @property
    def backward_s(self) -> float:
        """The backward pass."""
        return sum(self.backward.values())


class Trained(NamedTuple):
    """Parameters that an NPU trains of a chunk: dense ones, and those of experts."""

    dense: float
    experts: float


@dataclass(frozen=True)
class StepDetails:
    """The passes and trained parameters of stages x chunks, messages between stages, and what follows.

    Equal chunks have the same object. `exposed_s` are gradients and weights that nothing hides, and
    `optimizer_s` is the slowest optimizer.
    """

    passes: tuple[tuple[Passes, ...], ...]
    trained: tuple[tuple[Trained, ...], ...]
    micro_batches: int
    send_s: float
    exposed_s: float
    optimizer_s: float


class StageOperation(NamedTuple):
    """A pass of a micro-batch through a chunk of a stage; then, without these, dp and optimizer."""

    stage: int
    kind: str
    start_s: float
    end_s: float
    chunk: int | None = None
    micro_batch: int | None = None


@dataclass(frozen=True)
class GroupCollective:
    """A collective of the groups of an axis: `size_bytes` over `ranks`, `seconds` where nothing hides it.

    `algorithm` is that of all-reduces as chosen; `auto` says which of ring and tree it comes down to. Gathers
    and scatters of rings and trees move the same bytes.
    """

    axis: str
    ranks: int
    collective: str
    size_bytes: float
    algorithm: str
    seconds: float


@dataclass(frozen=True)
class LayerCosts:
    """Seconds of both passes of a micro-batch, and bytes that each kind of layer keeps meanwhile.

    Nothing is computed again. `memory_bytes_per_s` is the rate that kernels reach.
    """

    of_kind: Mapping[LayerKind, tuple[float, float]]
    embedding_s: float
    head_s: float
    memory_bytes_per_s: float


def step_details(model: ModelSpec, plan: Plan, cluster: Cluster) -> StepDetails:
    """Return the pieces of the step that `dse.prediction.steps.predict.predict` times; raises as it does."""
    step = _planned(model, plan, cluster)
    known = [
        Passes(_by_part(forward), _by_part(backward), weight_s, blocks)
        for forward, backward, weight_s, blocks in step.chunks
    ]
    return StepDetails(
        passes=tuple([tuple([known[chunk] for chunk in stage]) for stage in step.stages]),
        trained=tuple([tuple([Trained(*own) for own in stage]) for stage in step.trained]),
        micro_batches=step.micro_batches,
        send_s=step.send_s,
        exposed_s=step.exposed_s,
        optimizer_s=step.optimizer_s,
    )


def stage_operations(model: ModelSpec, plan: Plan, cluster: Cluster) -> list[StageOperation]:
    """Return what all stages run, in order of time; the last one ends with the step.

    Reduction of gradients and the optimiser follow the pipeline on all stages at once, as `predict` has them.

    Raises:
        InfeasibleStrategy: as `predict`.
    """
    step = _planned(model, plan, cluster)
    made = [
        StageOperation(stage, KINDS[kind], start_s, end_s, chunk, micro_batch)
        for stage, kind, chunk, micro_batch, start_s, end_s in step.operations
    ]
    begin_s = step.pipeline_s
    reduced_s = begin_s + step.exposed_s
    end_s = reduced_s + step.optimizer_s
    for stage in range(plan.pp):
        made.append(StageOperation(stage, "dp", begin_s, reduced_s))
        made.append(StageOperation(stage, "optimizer", reduced_s, end_s))
    return sorted(made, key=lambda each: (each.start_s, each.stage, each.end_s))


def collectives_used(model: ModelSpec, plan: Plan, cluster: Cluster) -> tuple[GroupCollective, ...]:
    """Return those of tensor parallelism, and of gradients and sharded weights; of stages the largest.

    Raises:
        InfeasibleStrategy: as `predict`.
    """
    return tuple(
        [
            GroupCollective(axis, ranks, collective, size_bytes, ALGORITHMS[algorithm], seconds)
            for axis, ranks, collective, size_bytes, algorithm, seconds in _planned(
                model, plan, cluster
            ).collectives
        ]
    )


def listed_stages(model: ModelSpec, plan: Plan, cluster: Cluster) -> tuple[int, ...]:
    """Return the layers of each part of the pipeline that the plan or `stages=balanced` lists.

    Other rules list none.

    Raises:
        InfeasibleStrategy: as `predict`.
    """
    return tuple(_planned(model, plan, cluster).listed)


def layer_costs(model: ModelSpec, plan: Plan, cluster: Cluster) -> LayerCosts:
    """Return what the layers of a plan cost one by one.

    Raises:
        InfeasibleStrategy: as `predict`.
    """
    step = _planned(model, plan, cluster)
    kinds = dict.fromkeys(kind for kind, _ in layer_kinds(model))
    return LayerCosts(
        of_kind=dict(zip(kinds, step.kinds, strict=True)),
        embedding_s=step.embedding_s,
        head_s=step.head_s,
        memory_bytes_per_s=step.memory_bytes_per_s,
    )


def layer_seconds(model: ModelSpec, plan: Plan, cluster: Cluster) -> tuple[float, ...]:
    """Return the seconds of both passes of a micro-batch of each layer, as `stages=balanced` shares them out.

    The embedding is with the first layer, and with the last are the head and the layers of prediction.

    Raises:
        InfeasibleStrategy: as `predict`.
    """
    return tuple(_planned(model, plan, cluster).layers)


def stage_memory(model: ModelSpec, plan: Plan, cluster: Cluster) -> tuple[float, ...]:
    """Return the peak bytes of an NPU of each stage.

    Raises:
        InfeasibleStrategy: as `predict`.
    """
    return tuple(_planned(model, plan, cluster).memory)


def _planned(model: ModelSpec, plan: Plan, cluster: Cluster) -> _engine.PlannedStep:
    reason = value_problem(plan)
    if reason is None:
        rows, own, texts = plan_rows([plan])
        found = _engine.PlannedStep(
            step_predictor(),
            step_model(model),
            step_cluster(cluster),
            rows[0].tolist(),
            own[0].tolist(),
            texts,
        )
        if not found.reason:
            return found
        reason = found.reason
    raise InfeasibleStrategy(reason)


def _by_part(seconds: list[float]) -> Mapping[str, float]:
    return dict(zip(PARTS, seconds, strict=True))
