"""Layer profiles without measurements: predictions of a model per type, tensor degree and batch.

A block is timed as predictions time one (docs/reality.md): kernels by roofline with the efficiencies of its
accelerator, tensor-parallel collectives over the links of the type's own nodes. Embedding and head are layers
of their own. Memories are activations alone; planners add weights, gradients and optimizer states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.numbers import powers_of_two
from dse.inputs.accelerators import Accelerator, Cluster, TierSpec, cluster
from dse.inputs.models import ModelSpec
from dse.inputs.models.counts import layer_parameters
from dse.inputs.models.matrices import LayerKind, layer_kinds
from dse.inputs.strategies.divisibility import InfeasibleStrategy
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.problem import Profile, ProfileKey, ProfileSet
from dse.planner.problem.step_space import LATENCY_US
from dse.prediction.steps.details import layer_costs
from dse.prediction.steps.frameworks import framework_named
from dse.prediction.steps.plan import Plan

_MB = 2**20
_LOGITS_BYTES = 6
"""Per logit that the head keeps: 16 bit, and its softmax in fp32."""

PARAMETER_BYTES = 2
"""Bytes of a parameter in the bytes of profiles: weights are in half precision."""


def model_profiles(
    model: ModelSpec,
    mixed: MixedCluster,
    accelerators: Mapping[str, str],
    *,
    max_tp: int = 128,
    max_batch: int = 128,
    type_order: Sequence[str] = (),
    sequence_parallel: bool = False,
) -> ProfileSet:
    """Return predicted profiles for all powers of two up to `max_tp` and `max_batch`.

    `accelerators` names that of each type. Degrees that do not divide the model's heads or its feed-forward
    have no profile: plans with them are infeasible. Layers are the embedding, the model's, and the head. With
    `sequence_parallel` tensor groups also share out the activations between their products (Korthikanti et
    al. 2022).

    Raises:
        InputError: a type has no accelerator, or no tensor degree fits the model.
    """
    types = tuple(type_order) or mixed.types
    profiles: dict[ProfileKey, Profile] = {}
    for type_ in types:
        if type_ not in accelerators:
            raise InputError(f"type {type_} has no accelerator; costs=model needs one of conf/accelerator")
        found = Accelerator.named(accelerators[type_], f"accelerator of {type_}")
        node = _node_of(mixed, type_)
        for tp in powers_of_two(min(max_tp, mixed.gpus)):
            for batch in powers_of_two(max_batch):
                profile = _profile(model, found, node, tp, batch, sequence_parallel)
                if profile is None:
                    break  # of this degree none fits
                profiles[ProfileKey(type_, tp, batch)] = profile
    if not profiles:
        raise InputError(f"no tensor degree up to {max_tp} fits model {model.name}; see docs/planner.md")
    first = next(iter(profiles))
    return ProfileSet(
        profiles,
        first,
        parameter_bytes(model),
        memory_has_states=False,
        source="model",
        leaves_out=left_out(model, sequence_parallel),
    )


def left_out(model: ModelSpec, sequence_parallel: bool) -> tuple[str, ...]:
    """Return the names of ways to run a layer that these profiles do not have, the most used first."""
    sequences = () if sequence_parallel else ("sequence parallelism (sequence_parallel=true has it)",)
    experts = () if model.experts is None else ("expert parallelism",)
    return (*sequences, "recomputation", *experts, "context parallelism")


def parameter_bytes(model: ModelSpec) -> tuple[float, ...]:
    """Bytes of the parameters of embedding, layers and head in half precision; tied tables are counted twice.

    A pipeline whose first and last stage differ holds both copies (Narayanan et al. 2021).
    """
    table = PARAMETER_BYTES * (model.input_dim + model.learned_positions) * model.d_model
    head = PARAMETER_BYTES * model.output_dim * model.d_model
    layers = [float(PARAMETER_BYTES * layer_parameters(model, kind).total) for kind in _kinds(model)]
    return (float(table), *layers, float(head))


def expert_bytes(model: ModelSpec) -> tuple[float, ...]:
    """Bytes of the parameters of experts alone, of the same layers."""
    layers = [float(PARAMETER_BYTES * layer_parameters(model, kind).experts) for kind in _kinds(model)]
    return (0.0, *layers, 0.0)


def _kinds(model: ModelSpec) -> list[LayerKind]:
    return [kind for kind, count in layer_kinds(model) for _ in range(count)]


def _node_of(mixed: MixedCluster, type_: str) -> Host:
    """The node of a type that tensor parallelism is slowest on: the fewest GPUs, the slowest links."""
    hosts = [host for host in mixed.hosts if host.type == type_]
    return replace(
        hosts[0],
        gpus=min(host.gpus for host in hosts),
        intra_gbps=min(host.intra_gbps for host in hosts),
        inter_gbps=min(host.inter_gbps for host in hosts),
    )


def _links_for(node: Host, found: Accelerator, tp: int) -> Cluster:
    """Enough nodes for a tensor group, which share their uplinks among their GPUs."""
    inner = min(node.gpus, tp)
    tiers = [
        TierSpec("node", LATENCY_US[0], bandwidth_gbps=node.intra_gbps),
        TierSpec("nodes", LATENCY_US[1], bandwidth_gbps=node.inter_gbps / node.gpus),
    ]
    return cluster(node.type, found, math.ceil(tp / inner), inner, tiers)


def _profile(
    model: ModelSpec, found: Accelerator, node: Host, tp: int, batch: int, sequence_parallel: bool
) -> Profile | None:
    """A profile, or None where the degree does not fit the model."""
    if tp > node.gpus and tp % node.gpus:
        return None
    plan = Plan(
        tp=tp,
        micro_batch=batch,
        zero=0,
        sequence_parallel=sequence_parallel and tp > 1,
        precision=found.format_16bit,
    )
    try:
        costs = layer_costs(
            replace(model, batch_size=batch, micro_batches=None), plan, _links_for(node, found, tp)
        )
    except InfeasibleStrategy:
        return None
    kinds = [costs.of_kind[kind] for kind in _kinds(model)]
    logits_mb = _LOGITS_BYTES * batch * model.seq_len * model.output_dim / tp / _MB
    framework = framework_named(plan.framework)
    held = sum(parameter_bytes(model)) / PARAMETER_BYTES / tp
    ends = 1000 * costs.embedding_s, 1000 * costs.head_s
    return Profile(
        layer_ms=(ends[0], *(1000 * seconds for seconds, _ in kinds), ends[1]),
        layer_memory_mb=(0.0, *(kept / _MB for _, kept in kinds), logits_mb),
        gap_ms=0.0,
        optimizer_ms=1000 * (framework.adam_bytes + framework.scale_bytes) * held / costs.memory_bytes_per_s,
        batch_generator_ms=0.0,
    )


class Fit(NamedTuple):
    """How a type's predictions were scaled: factors of embedding, layers, head and optimizer.

    `worst` is the largest ratio, either way, between a measured profile and its scaled prediction; `keys` are
    those that were compared.
    """

    type: str
    embedding: float
    layers: float
    head: float
    optimizer: float
    worst: float
    keys: int


def calibrated_profiles(modelled: ProfileSet, measured: ProfileSet) -> tuple[ProfileSet, tuple[Fit, ...]]:
    """Scale predictions to measurements: a factor per type for embedding, layers, head and optimizer.

    A factor is the geometric mean, over the keys that both have, of measured by predicted time (of the
    layers: of their mean). Types without measurements stay as predicted. What predictions do not have, the
    gap and the batch generator, is the mean of the type's measurements. Memories and parameters stay as
    predicted.

    Raises:
        InputError: no key is in both.
    """
    fits = []
    scaled: dict[ProfileKey, Profile] = dict(modelled.profiles)
    for type_ in dict.fromkeys(key.type for key in modelled.profiles):
        keys = [key for key in modelled.profiles if key.type == type_ and key in measured.profiles]
        if not keys:
            continue
        pairs = [(measured.profiles[key], modelled.profiles[key]) for key in keys]
        own = [key for key in modelled.profiles if key.type == type_]
        fit, found = _scaled(type_, pairs, [modelled.profiles[key] for key in own])
        scaled.update(zip(own, found, strict=True))
        fits.append(fit)
    if not fits:
        raise InputError(
            "costs=calibrated: the profiles have no type, tensor degree and batch of the predictions; "
            f"they have {', '.join(sorted({key.type for key in measured.profiles}))}"
        )
    return replace(modelled, profiles=scaled, source="calibrated"), tuple(fits)


def _scaled(
    type_: str, pairs: Sequence[tuple[Profile, Profile]], own: Sequence[Profile]
) -> tuple[Fit, list[Profile]]:
    first = _factor(pairs, lambda profile: profile.layer_ms[0])
    inner = _factor(pairs, _mean_layer_ms)
    last = _factor(pairs, lambda profile: profile.layer_ms[-1])
    optimizer = _factor(pairs, lambda profile: profile.optimizer_ms)
    gap_ms = sum(measured.gap_ms for measured, _ in pairs) / len(pairs)
    generator_ms = sum(measured.batch_generator_ms for measured, _ in pairs) / len(pairs)
    found = []
    for profile in own:
        times = profile.layer_ms
        found.append(
            replace(
                profile,
                layer_ms=(first * times[0], *(inner * time for time in times[1:-1]), last * times[-1]),
                gap_ms=gap_ms,
                optimizer_ms=optimizer * profile.optimizer_ms,
                batch_generator_ms=generator_ms,
            )
        )
    ratios = [_mean_layer_ms(measured) / (inner * _mean_layer_ms(predicted)) for measured, predicted in pairs]
    worst = max(max(ratio, 1 / ratio) for ratio in ratios)
    return Fit(type_, first, inner, last, optimizer, worst, len(pairs)), found


def _mean_layer_ms(profile: Profile) -> float:
    inner = profile.layer_ms[1:-1]
    return math.fsum(inner) / len(inner)


def _factor(pairs: Sequence[tuple[Profile, Profile]], of: Callable[[Profile], float]) -> float:
    """Geometric mean of measured by predicted; of pairs in which one is 0 nothing can be learnt."""
    logs = [math.log(of(one) / of(other)) for one, other in pairs if of(one) > 0 and of(other) > 0]
    return math.exp(math.fsum(logs) / len(logs)) if logs else 1.0
