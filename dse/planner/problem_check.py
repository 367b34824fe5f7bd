"""Checks of a problem that a file holds: numbers out of range, types without memory, other layers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from dse.base.errors import excerpt
from dse.base.texts import is_whole
from dse.planner.problem.cluster import MixedCluster
from dse.planner.problem.problem import PlanProblem, ProfileSet
from dse.planner.problem.steps import StepInputs

_WHOLE = {
    **dict.fromkeys(("gbs", "hidden", "sequence", "vocabulary", "max_tp", "max_batch"), 1),
    **dict.fromkeys(("permutation_limit", "bytes_per_element"), 1),
    "group_scale": 0,
}
"""The least that each may be."""
_MOST_WHOLE = 2**31 - 1
_MOST_GPUS = 2**24
_MOST = sys.float_info.max
_FLAGS = ("allow_mixed_stages", "shard_optimizer")


def wrong_in_problem(problem: PlanProblem) -> str | None:
    """Return the first thing that cannot be, with its place; None where all can."""
    has_profiles = problem.steps is None or bool(problem.profiles.profiles)
    checks = (
        _in_cluster(problem.cluster),
        _in_options(problem),
        _in_profiles(problem.profiles, is_measured=has_profiles),
        iter(()) if problem.steps is None else _in_steps(problem.steps),
    )
    for found in checks:
        first = next(found, None)
        if first is not None:
            return first
    return None


def _in_cluster(cluster: MixedCluster) -> Iterator[str]:
    if not cluster.hosts:
        yield "cluster.hosts: there is none"
    for number, host in enumerate(cluster.hosts):
        place = f"cluster.hosts[{number}]"
        if not all(isinstance(text, str) and is_whole(text) for text in (host.address, host.type)):
            yield f"{place}: address and type must be texts"
        if not _is_whole(host.gpus, 1) or not _is_whole(host.island, 0):
            yield f"{place}: GPUs and island must be whole numbers, from 1 and from 0"
        for name in ("intra_gbps", "inter_gbps"):
            yield from _unless_above_0(getattr(host, name), f"{place}.{name}")
    gpus = sum(host.gpus for host in cluster.hosts)
    if gpus > _MOST_GPUS:
        yield f"cluster.hosts: {gpus} GPUs; at most {_MOST_GPUS} are planned"
    if cluster.between_islands_gbps is not None:
        yield from _unless_above_0(cluster.between_islands_gbps, "cluster.between_islands_gbps")
    for type_ in cluster.types:
        if type_ not in cluster.memory_gib:
            yield f"cluster.memory_gib: none of type {excerpt(type_)}"
        for name in ("price_per_hour", "peak_tflops"):
            if getattr(cluster, name) and type_ not in getattr(cluster, name):
                yield f"cluster.{name}: none of type {excerpt(type_)}"
    yield from _unless_all_above_0(cluster.memory_gib, "cluster.memory_gib")
    yield from _unless_all_above_0(cluster.peak_tflops, "cluster.peak_tflops")
    for type_, price in cluster.price_per_hour.items():
        yield from _unless_from_0(price, f"cluster.price_per_hour of {excerpt(type_)}")


def _in_options(problem: PlanProblem) -> Iterator[str]:
    if sorted(problem.type_order) != sorted(problem.cluster.types):
        yield f"type_order: must have each of {', '.join(map(excerpt, problem.cluster.types))} once"
    for name, least in _WHOLE.items():
        value = getattr(problem, name)
        if not _is_whole(value, least):
            yield f"{name}: '{excerpt(value)}', must be a whole number from {least} to {_MOST_WHOLE}"
    for name in _FLAGS:
        if not isinstance(getattr(problem, name), bool):
            yield f"{name}: '{excerpt(getattr(problem, name))}', must be true or false"
    reserve = problem.memory_reserve
    if not _is_number(reserve) or not 0 <= reserve < 1:
        yield f"memory_reserve: '{excerpt(reserve)}', must be a number of at least 0 and below 1"
    if problem.flops_per_sequence is not None:
        yield from _unless_above_0(problem.flops_per_sequence, "flops_per_sequence")


def _in_steps(steps: StepInputs) -> Iterator[str]:
    pairs = len(steps.types) ** 2
    if len(steps.between_gbps) != pairs:
        count = len(steps.between_gbps)
        yield f"steps.between_gbps: has {count} numbers; {pairs} pairs of types need {pairs}"
    for number, rate in enumerate(steps.between_gbps):
        yield from _unless_from_0(rate, f"steps.between_gbps[{number}]")
    for number, type_ in enumerate(steps.types):
        for name in ("gpus", "node_gpus"):
            if not _is_whole(getattr(type_, name), 1):
                yield f"steps.types[{number}].{name}: must be a whole number from 1"


def _in_profiles(profiles: ProfileSet, *, is_measured: bool) -> Iterator[str]:
    if not isinstance(profiles.memory_has_states, bool):
        yield "profiles.memory_has_states: must be true or false"
    if is_measured and profiles.first not in profiles.profiles:
        yield f"profiles.first: there is no profile of {excerpt(profiles.first)}"
    if not profiles.parameters_bytes:
        yield "profiles.parameters_bytes: there is no layer"
    for layer, value in enumerate(profiles.parameters_bytes):
        yield from _unless_from_0(value, f"profiles.parameters_bytes[{layer}]")
    for key, profile in profiles.profiles.items():
        place = f"profile of {excerpt(key)}"
        if key.tp < 1 or key.batch < 1:
            yield f"{place}: tensor degree and batch must be at least 1"
        for name in ("layer_ms", "layer_memory_mb"):
            values = getattr(profile, name)
            if len(values) != profiles.layers:
                yield f"{place}: {name} has {len(values)} layers, parameters_bytes has {profiles.layers}"
            if values and min(values) < 0:
                yield f"{place}: {name} has {min(values):g}; it must have numbers from 0"
        for name in ("optimizer_ms", "batch_generator_ms"):
            yield from _unless_from_0(getattr(profile, name), f"{place}: {name}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -_MOST <= value <= _MOST


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST_WHOLE


def _unless_above_0(value: Any, place: str) -> Iterator[str]:
    if not _is_number(value) or value <= 0:
        yield f"{place}: '{excerpt(value)}', must be a number above 0"


def _unless_from_0(value: Any, place: str) -> Iterator[str]:
    if not _is_number(value) or value < 0:
        yield f"{place}: '{excerpt(value)}', must be a number from 0"


def _unless_all_above_0(values: Mapping[str, Any], place: str) -> Iterator[str]:
    for type_, value in values.items():
        yield from _unless_above_0(value, f"{place} of {excerpt(type_)}")
