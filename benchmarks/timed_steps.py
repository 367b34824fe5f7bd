"""Predicted steps as structures whose collectives are part of computing, and the network that times them."""

from __future__ import annotations

from dse.base.errors import InputError
from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.systems import Dimension, SystemSpec
from dse.prediction.steps.details import Passes, step_details
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.structure import ChunkWork, Compute, StepStructure
from dse.prediction.steps.structured import message_bytes, ring_system, whole_ns


def timed_structure(model: ModelSpec, plan: Plan, cluster: Cluster) -> StepStructure:
    """Return a predicted step whose collectives are part of its computing, as long as predicted.

    Ranks of a stage do the same and exchange nothing that is not timed, so one stands for each stage. On
    `timed_network` the step takes what `predict` says, but for rounding each pass to nanoseconds.

    Raises:
        InfeasibleStrategy: as `predict`.
    """
    step = step_details(model, plan, cluster)
    known = {id(own): _timed(own) for stage in step.passes for own in stage}
    return StepStructure(
        schedule=plan.schedule,
        stages=tuple(tuple(known[id(own)] for own in stage) for stage in step.passes),
        micro_batches=step.micro_batches,
        message_bytes=message_bytes(model, plan),
        after=((Compute(whole_ns(step.exposed_s + step.optimizer_s)),),) * plan.pp,
    )


def timed_network(model: ModelSpec, plan: Plan, cluster: Cluster) -> SystemSpec:
    """Return a ring of the stages on which a message takes what is predicted.

    Raises:
        InputError: a step without pipeline stages has no network.
    """
    if plan.pp == 1:
        raise InputError(
            "pp is 1: without pipeline stages there is no network between them; use pp 2 or more"
        )
    send_s = step_details(model, plan, cluster).send_s
    ring = Dimension("Ring", plan.pp, bandwidth_gbps=1e9, latency_ns=float(whole_ns(send_s)))
    return ring_system(f"{cluster.name} between stages", (ring,), cluster)


def _timed(own: Passes) -> ChunkWork:
    weight_ns = whole_ns(own.weight_s)
    backward_ns = whole_ns(own.backward_s)
    return ChunkWork((Compute(whole_ns(own.forward_s)),), (Compute(backward_ns - weight_ns),), weight_ns)
