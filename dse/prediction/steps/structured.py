"""Predicted steps written down as structures: to be simulated node by node, here or by other simulators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dse.base.errors import InputError
from dse.inputs.accelerators.cluster import Cluster, Tier
from dse.inputs.models import ModelSpec
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.prediction.steps.details import Passes, StepDetails, Trained, step_details
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.structure import ChunkWork, Collective, Compute, Part, StepStructure

_NS = 1e9


def exchanged_structure(model: ModelSpec, plan: Plan, cluster: Cluster) -> StepStructure:
    """Return a predicted step on all ranks; collectives over tp and of gradients are nodes with their bytes.

    A simulator gives them the time of its network. Collectives of context and expert parallelism stay part of
    computing, as do those of ZeRO-2 and 3. The gradients of a chunk are reduced when all its micro-batches
    are through, which hides less than reducing them in buckets, as `predict` assumes.

    Raises:
        InfeasibleStrategy: as `predict`.
        InputError: ranks of a stage do not follow each other, or experts are placed otherwise than over dp.
    """
    if not plan.order.endswith("pp"):
        raise InputError(
            f"order is {plan.order}; traces need the stages outermost: write pp last, as in tp-cp-ep-dp-pp"
        )
    if plan.ep > 1 and (plan.cp > 1 or plan.dp % plan.ep or plan.expert_degree != plan.tp):
        raise InputError(
            f"ep is {plan.ep}: traces place experts over dp, {plan.dp}, with the tensor degree of the rest; "
            "use an ep that divides dp, cp 1 and no expert_tp"
        )
    step = step_details(model, plan, cluster)
    writer = _Exchange(model, plan, step)
    return StepStructure(
        schedule=plan.schedule,
        stages=tuple(
            tuple(map(writer.work, passes, trained))
            for passes, trained in zip(step.passes, step.trained, strict=True)
        ),
        micro_batches=step.micro_batches,
        axes=writer.axes,
        message_bytes=message_bytes(model, plan),
        overlap_gradients=plan.overlap_dp,
        after=tuple(map(writer.after, step.trained)),
    )


def exchange_network(plan: Plan, cluster: Cluster) -> SystemSpec:
    """Return the network of a cluster as dimensions for the axes of `exchanged_structure`.

    An axis has the links of the innermost tier that joins it with those inside it: a switch for ranks of a
    stage, a ring for the stages. Ranks of a collective that share a node bring their links to other nodes
    along. Each collective is one chunk: ASTRA-sim's congestion-unaware network gives every chunk the whole
    link, so that four at a time would be faster than the link.

    Raises:
        InputError: the plan has one NPU.
    """
    dimensions: list[Dimension] = []
    joined = 1
    for axis, degree in (*_axes(plan), ("pp", plan.pp)):
        inside, joined = joined, joined * degree
        if degree == 1:
            continue
        # A message passes two hops of a switch, one of a ring.
        topology, hops = ("Ring", 1) if axis == "pp" else ("Switch", 2)
        tier, gbps = _links(cluster, inside, joined, is_shared=axis != "pp")
        dimensions.append(Dimension(topology, degree, gbps * 1e9 / 2**30, 1000 * tier.latency_us / hops))
    if not dimensions:
        raise InputError("the plan has one NPU; a network has at least 2")
    system = ring_system(cluster.name, tuple(dimensions), cluster)
    return replace(system, preferred_dataset_splits=1, active_chunks_per_dimension=1)


def _links(cluster: Cluster, inside: int, joined: int, *, is_shared: bool) -> tuple[Tier, float]:
    """The tier that joins ranks, and the GB/s of one; a ring leaves a domain by the links of all members."""
    at = next(at for at, tier in enumerate(cluster.tiers) if tier.npus >= joined)
    tier = cluster.tiers[at]
    if at == 0 or not is_shared:
        return tier, tier.bandwidth_gbps
    within = cluster.tiers[at - 1]
    members = max(1, within.npus // inside)
    return tier, min(tier.bandwidth_gbps * members, max(within.bandwidth_gbps, tier.bandwidth_gbps))


class _Exchange:
    """Collectives of a plan as nodes."""

    def __init__(self, model: ModelSpec, plan: Plan, step: StepDetails) -> None:
        self.plan = plan
        self.step = step
        self.axes = _axes(plan)
        self._repeated = _repeated_share(model, plan)
        self._hidden = round(2 * plan.micro_batch * model.seq_len / plan.cp * model.d_model)

    def work(self, own: Passes, trained: Trained) -> ChunkWork:
        """Return a chunk with its collectives spread over its layers."""
        weight_ns = whole_ns(own.weight_s)
        meeting = self._tensor_collectives()
        again = round(own.tensor_blocks * self._repeated)
        return ChunkWork(
            forward=_spread(own.forward, 0, [meeting] * own.tensor_blocks),
            backward=_spread(
                own.backward,
                weight_ns,
                [meeting] * again + [(*meeting, *self._gathered_again())] * own.tensor_blocks,
            ),
            weight_ns=weight_ns,
            gradients=self._gradients(trained) if self.plan.zero_stage < 2 else (),
        )

    def after(self, trained: Sequence[Trained]) -> tuple[Part, ...]:
        """Return the optimizer of a stage, and the parameters that it gathers."""
        if self.plan.zero_stage >= 2:
            return (Compute(whole_ns(self.step.exposed_s + self.step.optimizer_s)),)
        optimizer: tuple[Part, ...] = (Compute(whole_ns(self.step.optimizer_s)),)
        if self.plan.zero_stage == 0:
            return optimizer
        dense, experts = sum(own.dense for own in trained), sum(own.experts for own in trained)
        return (*optimizer, *self._reduced(dense, experts, 2.0, "all_gather"))

    def _tensor_collectives(self) -> tuple[Collective, ...]:
        """Collectives between a layer's halves: an all-reduce, or its two parts (Korthikanti et al. 2022)."""
        if self.plan.tp == 1:
            return ()
        if not self.plan.sequence_parallel:
            return (Collective("tp", "all_reduce", self._hidden),)
        return (
            Collective("tp", "reduce_scatter", self._hidden),
            Collective("tp", "all_gather", self._hidden // self.plan.tp),
        )

    def _gathered_again(self) -> tuple[Collective, ...]:
        """Inputs that sequence parallelism has sharded meet again for the gradients of weights."""
        return self._tensor_collectives()[1:]

    def _gradients(self, trained: Trained) -> tuple[Collective, ...]:
        kind = "reduce_scatter" if self.plan.zero_stage else "all_reduce"
        each = framework_named(self.plan.framework).gradient_bytes
        return self._reduced(trained.dense, trained.experts, each, kind)

    def _reduced(self, dense: float, experts: float, each: float, kind: str) -> tuple[Collective, ...]:
        """Return the collectives of `each` bytes for each of the parameters, over those who have the same."""
        everywhere = [axis for axis, degree in self.axes if axis != "tp" and degree > 1]
        if self.plan.ep == 1:
            dense, experts = dense + experts, 0.0
        made = []
        for parameters, axes in (
            (dense, everywhere),
            (experts, [axis for axis in everywhere if axis != "ep"]),
        ):
            size = math.prod(dict(self.axes)[axis] for axis in axes)
            held = parameters * each / (size if kind == "all_gather" else 1)
            if axes and held >= 1:
                made.append(Collective("-".join(axes), kind, round(held)))
        return tuple(made)


def _spread(
    parts: Mapping[str, float], weight_ns: int, meetings: Sequence[tuple[Collective, ...]]
) -> tuple[Part, ...]:
    """Return computing cut into equal pieces, with collectives over tp after each."""
    rest = whole_ns(sum(parts.values())) - weight_ns
    if not any(meetings):
        return (Compute(max(1, rest)),)
    pieces = len(meetings)
    rest = max(pieces, rest - whole_ns(parts["tp"]))
    made: list[Part] = []
    for piece, meeting in enumerate(meetings):
        made += [Compute(rest * (piece + 1) // pieces - rest * piece // pieces), *meeting]
    return tuple(made)


def _repeated_share(model: ModelSpec, plan: Plan) -> float:
    """The share of layers whose forward pass, collectives too, is part of the backward pass."""
    if plan.recompute != "full":
        return 0.0
    return min(1.0, plan.recompute_layers * plan.pp / model.num_layers) if plan.recompute_layers else 1.0


def _axes(plan: Plan) -> tuple[tuple[str, int], ...]:
    """Return the degrees inside a stage in the order of the ranks; experts divide dp."""
    degrees = {"tp": plan.tp, "cp": plan.cp, "ep": plan.ep, "dp": plan.dp // plan.ep}
    return tuple((axis, degrees[axis]) for axis in plan.order.split("-") if axis != "pp")


def message_bytes(model: ModelSpec, plan: Plan) -> int:
    """Return the bytes between stages for each rank: those of a tensor-parallel group send a share each."""
    return max(1, round(2 * plan.micro_batch * model.seq_len / plan.cp * model.d_model / plan.tp))


def whole_ns(seconds: float) -> int:
    """Return seconds as whole nanoseconds, at least one."""
    return max(1, round(seconds * _NS))


def ring_system(name: str, network: tuple[Dimension, ...], cluster: Cluster) -> SystemSpec:
    """Return a system of a network whose collectives are rings, with the peak of a cluster."""
    ring = ("ring",) * len(network)
    chip = cluster.accelerator
    return SystemSpec(
        name=name,
        network=network,
        collectives=CollectiveAlgorithms(ring, ring, ring, ring),
        peak_tflops=chip.peak_tflops[chip.format_16bit],
        memory_bandwidth_gbps=chip.memory_bandwidth_gbps,
        track_local_memory=False,
    )
