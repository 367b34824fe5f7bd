"""The algorithm that the groups of a plan use for collectives, with what bytes, and how long one takes."""

from __future__ import annotations

from collections.abc import Iterator

from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.prediction.steps.details import GroupCollective
from dse.prediction.steps.plan import Plan
from tests.references.prediction.balance import balanced
from tests.references.prediction.groups import groups_of
from tests.references.prediction.layout import layers_in_order, stages
from tests.references.prediction.sharded_sizes import Local
from tests.references.prediction.step import Timer
from tests.references.prediction.weights import Weights, layer_weights, stage_weights


def collectives_used(model: ModelSpec, plan: Plan, cluster: Cluster) -> tuple[GroupCollective, ...]:
    """Return those of tensor parallelism, and of gradients and sharded weights; of stages the largest.

    Raises:
        InfeasibleStrategy: the plan cannot run.
    """
    plan = balanced(model, plan, cluster)
    local = Local(model, plan)
    timer = Timer(local, cluster, groups_of(plan))
    found = []
    for axis, collective, size_bytes in _sizes(local):
        links = timer.links(axis)
        if links.size == 1 or not size_bytes:
            continue
        if collective == "all-reduce":
            algorithm, seconds = links.used(size_bytes), links.all_reduce_s(size_bytes)
        else:
            algorithm = "ring" if links.algorithm == "auto" else links.algorithm
            seconds = links.gather_s(size_bytes)
        found.append(GroupCollective(axis, links.size, collective, size_bytes, algorithm, seconds))
    return tuple(found)


def _sizes(local: Local) -> Iterator[tuple[str, str, float]]:
    """Axis, collective and bytes."""
    model, plan = local.model, local.plan
    hidden = 2 * local.tokens * model.d_model
    yield "tp", "reduce-scatter and all-gather" if plan.sequence_parallel else "all-reduce", hidden
    if model.experts is not None and local.expert_tp > 1 and (plan.ep > 1 or plan.sequence_parallel):
        sent = hidden * model.experts.top_k * local.expert_load / plan.tp * local.expert_tp
        yield "expert_tp", "all-gather and reduce-scatter", sent
    gradient = float(local.framework.gradient_bytes)
    weights = _weights(local)
    trained = weights.trained
    if plan.zero_stage == 3:
        yield "dp_cp", "all-gather of a layer's weights", 2 * weights.dense
        yield "expert_dp", "all-gather of a layer's weights", 2 * weights.experts
        if plan.shard_ranks:
            yield "replicas", "all-reduce", gradient * trained.dense / plan.shard_ranks
        return
    collective = "reduce-scatter" if plan.zero_stage else "all-reduce"
    yield "dp_cp", collective, gradient * trained.dense
    yield "expert_dp", collective, gradient * trained.experts


def _weights(local: Local) -> Weights:
    """Of the largest chunk of a stage; with ZeRO-3 of the largest layer."""
    if local.plan.zero_stage == 3:
        kinds = dict.fromkeys(layers_in_order(local.model))
        return max((layer_weights(local, kind) for kind in kinds), key=lambda own: own.total)
    chunks = [own for stage in stages(local.model, local.plan) for own in stage_weights(local, stage)]
    return max(chunks, key=lambda own: own.total)
