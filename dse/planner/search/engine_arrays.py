"""A planning problem as the engine's flat arrays, checked for what every search takes for granted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.base.errors import InputError
from dse.base.lazy import NDArray
from dse.planner.problem.problem import ClusterPlan, PlanProblem, Profile, ProfileKey, ProfileSet, plain_sum
from dse.planner.search.space import check_types

if TYPE_CHECKING:
    from dse.base.solvers import PlanningProblem

MIB_PER_GIB = 1024

_MOST = 2**31 - 1
_LEAST = {
    "gbs": 1,
    "hidden": 1,
    "sequence": 1,
    "vocabulary": 1,
    "max_tp": 1,
    "max_batch": 1,
    "group_scale": 0,
    "permutation_limit": 1,
    "bytes_per_element": 1,
}


def engine_problem(problem: PlanProblem) -> PlanningProblem:
    """Return the problem for the engine; types are numbered in the type order.

    Raises:
        InputError: a number that cannot be, too many types, a type order that is not that of the hosts'
            types, a type without memory, or without the profile that gives the layer weights.
    """
    from dse.base.solvers import PlanningProblem

    _check_numbers(problem)
    _check_types(problem)
    number = {type_: i for i, type_ in enumerate(problem.type_order)}
    memory_mb = [MIB_PER_GIB * problem.cluster.memory_gib[type_] for type_ in problem.type_order]
    native = PlanningProblem(
        list(problem.type_order), _doubles(memory_mb), problem.cluster.between_islands_gbps or 0.0
    )
    hosts = problem.cluster.hosts
    native.set_hosts(
        _indices([number[host.type] for host in hosts]),
        _indices([host.gpus for host in hosts]),
        _doubles([host.intra_gbps for host in hosts]),
        _doubles([host.inter_gbps for host in hosts]),
        _indices([host.island for host in hosts]),
    )
    _set_profiles(native, problem, number)
    first = problem.profiles.profiles[problem.profiles.first]
    native.set_model(
        _doubles(layer_weights(problem.profiles)),
        _doubles(problem.profiles.parameters_bytes),
        first.optimizer_ms,
        first.batch_generator_ms,
        problem.gbs,
        problem.hidden,
        problem.sequence,
        problem.vocabulary,
    )
    native.set_options(
        problem.max_tp,
        problem.max_batch,
        problem.group_scale,
        problem.permutation_limit,
        problem.allow_mixed_stages,
        problem.profiles.memory_has_states,
        problem.shard_optimizer,
        problem.memory_reserve,
        problem.bytes_per_element,
    )
    return native


def layer_weights(profiles: ProfileSet) -> list[float]:
    """Return each layer's share of the model's time: of the first profile's type, tp 1, batch 1.

    Raises:
        InputError: there is no such profile, or its layers take no time.
    """
    key = ProfileKey(profiles.first.type, 1, 1)
    profile = profiles.profiles.get(key)
    if profile is None:
        raise InputError(f"{profiles.source}: no profile of {key}, which weighs the layers")
    total = plain_sum(profile.layer_ms)
    if total <= 0:
        raise InputError(f"{profiles.source}: the layers of {key} take no time, so they cannot be weighed")
    return [layer / total for layer in profile.layer_ms]


def _check_numbers(problem: PlanProblem) -> None:
    for key, least in _LEAST.items():
        value = getattr(problem, key)
        if not least <= value <= _MOST:
            raise InputError(f"{key}={value}: must be {least} to {_MOST}")


def _check_types(problem: PlanProblem) -> None:
    order, types = problem.type_order, problem.cluster.types
    check_types(order)
    if sorted(order) != sorted(types):
        raise InputError(
            f"type_order={list(order)}: must list the types of the hosts, {', '.join(types)}, each once"
        )
    for type_ in types:
        if type_ not in problem.cluster.memory_gib:
            raise InputError(f"type {type_}: has hosts but no memory; give the memory of one GPU")


def _set_profiles(native: PlanningProblem, problem: PlanProblem, number: dict[str, int]) -> None:
    """Hand over the profiles that plans can ask for: types of hosts, degrees that are powers of two."""
    chosen = sorted(
        (key, profile)
        for key, profile in problem.profiles.profiles.items()
        if key.type in number and key.tp.bit_count() == 1 and key.batch <= problem.gbs
    )
    keys, profiles = [key for key, _ in chosen], [profile for _, profile in chosen]
    native.set_profiles(
        problem.layers,
        _indices([number[key.type] for key in keys]),
        _indices([key.tp.bit_length() - 1 for key in keys]),
        _indices([key.batch for key in keys]),
        _doubles([ms for profile in profiles for ms in profile.layer_ms]),
        _doubles([mb for profile in profiles for mb in profile.layer_memory_mb]),
        *(_doubles(times) for times in _times(profiles)),
    )


def _times(profiles: list[Profile]) -> tuple[list[float], list[float], list[float]]:
    return (
        [profile.gap_ms for profile in profiles],
        [profile.optimizer_ms for profile in profiles],
        [profile.batch_generator_ms for profile in profiles],
    )


def _doubles(values: Any) -> NDArray[np.float64]:
    return np.ascontiguousarray(values, dtype=np.float64)


def _indices(values: list[int]) -> NDArray[np.int32]:
    return np.ascontiguousarray(values, dtype=np.int32)


def plan_of(
    problem: PlanProblem, sequence: Sequence[int], batches: int, stages: Sequence[tuple[int, int, int]]
) -> ClusterPlan:
    """Return the engine's plan: stages are (GPUs, tensor degree, first layer after it)."""
    return ClusterPlan(
        tuple(problem.type_order[i] for i in sequence),
        tuple(gpus for gpus, _, _ in stages),
        tuple((gpus // tp, tp) for gpus, tp, _ in stages),
        batches,
        (0, *(end for _, _, end in stages)),
        len(stages),
    )
