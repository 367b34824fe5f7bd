"""Problems, plans and costs as plain data for JSON, and back, every float to the bit."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from dse.base.errors import InputError
from dse.base.texts import excerpt
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.plan import ClusterPlan, PlanCost, StageCost
from dse.planner.problem.problem import PlanProblem
from dse.planner.problem.profiles import Profile, ProfileKey, ProfileSet
from dse.planner.problem_check import wrong_in_problem

_MOST = sys.float_info.max
_PLAIN = [
    field.name for field in fields(PlanProblem) if field.name not in ("cluster", "profiles", "type_order")
]


def problem_to_dict(problem: PlanProblem) -> dict[str, Any]:
    """Return a problem as plain data."""
    cluster, profiles = problem.cluster, problem.profiles
    return {
        "cluster": {
            "hosts": [
                [host.address, host.type, host.gpus, host.intra_gbps, host.inter_gbps, host.island]
                for host in cluster.hosts
            ],
            "memory_gib": dict(cluster.memory_gib),
            "price_per_hour": dict(cluster.price_per_hour),
            "between_islands_gbps": cluster.between_islands_gbps,
            "peak_tflops": dict(cluster.peak_tflops),
        },
        "profiles": {
            "first": list(profiles.first),
            "parameters_bytes": list(profiles.parameters_bytes),
            "memory_has_states": profiles.memory_has_states,
            "source": profiles.source,
            "leaves_out": list(profiles.leaves_out),
            "profiles": [
                {
                    "key": list(key),
                    "layer_ms": list(profile.layer_ms),
                    "layer_memory_mb": list(profile.layer_memory_mb),
                    "gap_ms": profile.gap_ms,
                    "optimizer_ms": profile.optimizer_ms,
                    "batch_generator_ms": profile.batch_generator_ms,
                }
                for key, profile in sorted(profiles.profiles.items())
            ],
        },
        "type_order": list(problem.type_order),
        **{name: getattr(problem, name) for name in _PLAIN},
    }


def problem_from_dict(data: Mapping[str, Any]) -> PlanProblem:
    """Return the problem of plain data; files of older releases lack some keys.

    Raises:
        InputError: something is missing, of another type, or cannot be.
    """
    try:
        cluster, profiles = data["cluster"], data["profiles"]
        older = {"flops_per_sequence": None}
        problem = PlanProblem(
            MixedCluster(
                tuple(Host(*host) for host in cluster["hosts"]),
                dict(cluster["memory_gib"]),
                dict(cluster["price_per_hour"]),
                cluster["between_islands_gbps"],
                dict(cluster.get("peak_tflops", {})),
            ),
            ProfileSet(
                _profiles(profiles["profiles"]),
                _key(profiles["first"]),
                _numbers(profiles["parameters_bytes"]),
                profiles["memory_has_states"],
                str(profiles["source"]),
                tuple(str(text) for text in profiles.get("leaves_out", ())),
            ),
            tuple(str(type_) for type_ in data["type_order"]),
            **{name: {**older, **data}[name] for name in _PLAIN},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"problem: {_said(error)}") from None
    wrong = wrong_in_problem(problem)
    if wrong is not None:
        raise InputError(f"problem: {wrong}")
    return problem


def plan_to_dict(plan: ClusterPlan) -> dict[str, Any]:
    """Return a plan as plain data."""
    return {
        "types": list(plan.types),
        "groups": list(plan.groups),
        "strategies": [list(pair) for pair in plan.strategies],
        "batches": plan.batches,
        "partition": list(plan.partition),
        "costed": plan.costed,
        "attempt": plan.attempt,
        "delta": plan.delta,
    }


def plan_from_dict(data: Mapping[str, Any]) -> ClusterPlan:
    """Return the plan of plain data.

    Raises:
        InputError: something is missing or of another type.
    """
    try:
        return ClusterPlan(
            tuple(str(type_) for type_ in data["types"]),
            _integers(data["groups"]),
            tuple(_pair(pair) for pair in data["strategies"]),
            _integer(data["batches"]),
            _integers(data["partition"]),
            _integer(data["costed"]),
            _integer(data["attempt"]),
            _integer(data["delta"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"plan: {_said(error)}") from None


def cost_to_dict(cost: PlanCost) -> dict[str, Any]:
    """Return a cost and its terms as plain data."""
    return {
        "cost_ms": cost.cost_ms,
        "gap_ms": cost.gap_ms,
        "batch_generator_ms": cost.batch_generator_ms,
        "stages": [
            {
                "execution_ms": stage.execution_ms,
                "link_ms": stage.link_ms,
                "reduction_ms": stage.reduction_ms,
                "update_ms": stage.update_ms,
                "memory_bytes": list(stage.memory_bytes),
            }
            for stage in cost.stages
        ],
    }


def cost_from_dict(data: Mapping[str, Any]) -> PlanCost:
    """Return the cost of plain data.

    Raises:
        InputError: something is missing or of another type.
    """
    try:
        stages = tuple(
            StageCost(
                item["execution_ms"],
                item["link_ms"],
                item["reduction_ms"],
                item["update_ms"],
                tuple(item["memory_bytes"]),
            )
            for item in data["stages"]
        )
        return PlanCost(data["cost_ms"], stages, data["gap_ms"], data["batch_generator_ms"])
    except (KeyError, TypeError) as error:
        raise InputError(f"cost: {_said(error)}") from None


def _key(data: Sequence[Any]) -> ProfileKey:
    type_, tp, batch = data
    return ProfileKey(str(type_), _integer(tp), _integer(batch))


def _profiles(data: Sequence[Mapping[str, Any]]) -> dict[ProfileKey, Profile]:
    found: dict[ProfileKey, Profile] = {}
    for item in data:
        key = _key(item["key"])
        if key in found:
            raise ValueError(f"profiles: two of {key}")
        found[key] = Profile(
            _numbers(item["layer_ms"]),
            _numbers(item["layer_memory_mb"]),
            _number(item["gap_ms"]),
            _number(item["optimizer_ms"]),
            _number(item["batch_generator_ms"]),
        )
    return found


def _pair(data: Sequence[Any]) -> tuple[int, int]:
    dp, tp = data
    return _integer(dp), _integer(tp)


def _numbers(data: Sequence[Any]) -> tuple[float, ...]:
    return tuple(_number(value) for value in data)


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not -_MOST <= value <= _MOST:
        raise TypeError(f"'{excerpt(value)}' is no number")
    return float(value)


def _integers(data: Sequence[Any]) -> tuple[int, ...]:
    return tuple(_integer(value) for value in data)


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"'{excerpt(value)}' is no integer")
    return value


def _said(error: Exception) -> str:
    return f"{excerpt(error.args[0])!r} is missing" if isinstance(error, KeyError) else excerpt(error, 200)
