"""Problems, plans and costs as plain data for JSON, and back, every float to the bit."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar, get_args, get_origin

from dse.base.errors import InputError, excerpt
from dse.base.records import hints_of, is_record
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem, Profile, ProfileKey, ProfileSet
from dse.planner.problem.ranks import types_in_order
from dse.planner.problem.steps import StepInputs
from dse.planner.problem_check import wrong_in_problem

_Record = TypeVar("_Record")
_MOST = sys.float_info.max
_PARTS = ("cluster", "profiles", "type_order", "steps", "step_space")
_OPTIONS = [field.name for field in fields(PlanProblem) if field.name not in _PARTS]
_SINCE_STEPS: Mapping[str, Any] = {"ways": [], "starts": []}
"""Fields that plans of older files lack."""


def problem_to_dict(problem: PlanProblem) -> dict[str, Any]:
    """Return a problem as plain data."""
    cluster, profiles = _plain(problem.cluster), _plain(problem.profiles)
    cluster["hosts"] = [list(host.values()) for host in cluster["hosts"]]
    by_key: Mapping[ProfileKey, Profile] = profiles.pop("profiles")
    profiles["profiles"] = [{"key": list(key), **_plain(profile)} for key, profile in sorted(by_key.items())]
    return {
        "cluster": cluster,
        "profiles": profiles,
        "type_order": list(problem.type_order),
        **{name: getattr(problem, name) for name in _OPTIONS},
        **({} if problem.steps is None else {"steps": steps_to_dict(problem.steps)}),
    }


def steps_to_dict(steps: StepInputs) -> dict[str, Any]:
    """Return what a step is priced from as plain data; the plans of sweeps are left out."""
    # Tens of thousands of plans would take seconds.
    found = _plain(replace(steps, types=tuple(replace(type_, uniform=()) for type_ in steps.types)))
    for type_ in found["types"]:
        del type_["uniform"]
        type_["cluster"] = json.loads(type_["cluster"])
    return {**found, "model": json.loads(steps.model)}


def _steps(data: Mapping[str, Any]) -> StepInputs:
    types = [{**type_, "cluster": json.dumps(type_["cluster"]), "uniform": ()} for type_ in data["types"]]
    found: StepInputs = _built(StepInputs, {**data, "model": json.dumps(data["model"]), "types": types})
    return found


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
            **{name: {**older, **data}[name] for name in _OPTIONS},
            steps=None if data.get("steps") is None else _steps(data["steps"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"problem: {_said(error)}") from None
    wrong = wrong_in_problem(problem)
    if wrong is not None:
        raise InputError(f"problem: {wrong}")
    return problem


def plan_to_dict(plan: ClusterPlan) -> dict[str, Any]:
    """Return a plan as plain data; what only plans of predicted steps have is left out of others."""
    return {name: value for name, value in _plain(plan).items() if value or name not in _SINCE_STEPS}


def shown_plan(cluster: MixedCluster, plan: ClusterPlan) -> dict[str, Any]:
    """Return a plan as plain data for readers, with the types of its stages where ranks do not say them."""
    found = plan_to_dict(plan)
    return {**found, "stage_types": types_in_order(cluster, plan)} if plan.starts else found


def plan_from_dict(data: Mapping[str, Any]) -> ClusterPlan:
    """Return the plan of plain data.

    Raises:
        InputError: something is missing or of another type.
    """
    return _read("plan", ClusterPlan, {**_SINCE_STEPS, **data})


def cost_to_dict(cost: PlanCost) -> dict[str, Any]:
    """Return a cost and its terms as plain data."""
    found = _plain(cost)
    found["stages"] = found.pop("stages")  # behind the terms of the whole step
    return {name: value for name, value in found.items() if value or name != "parts"}


def cost_from_dict(data: Mapping[str, Any]) -> PlanCost:
    """Return the cost of plain data.

    Raises:
        InputError: something is missing or of another type.
    """
    return _read("cost", PlanCost, {"parts": [], **data})


def _plain(record: Any) -> dict[str, Any]:
    """The fields of a record by name, with tuples as lists."""
    return {field.name: _listed(getattr(record, field.name)) for field in fields(record)}


def _listed(value: Any) -> Any:
    if is_record(type(value)):
        return _plain(value)
    if isinstance(value, tuple):
        return [_listed(entry) for entry in value]
    return dict(value) if isinstance(value, Mapping) else value


def _read(what: str, record: type[_Record], data: Mapping[str, Any]) -> _Record:
    try:
        found: _Record = _built(record, data)
        return found
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{what}: {_said(error)}") from None


def _built(record: Any, data: Mapping[str, Any]) -> Any:
    """A record of all its fields, each as it is declared."""
    return record(**{name: _typed(hint, data[name]) for name, hint in hints_of(record).items()})


def _typed(hint: Any, value: Any) -> Any:
    if is_record(hint):
        return _built(hint, value)
    if get_origin(hint) is not tuple:
        return _SCALARS[hint](value)
    entries = get_args(hint)
    if entries[-1] is Ellipsis:
        return tuple(_typed(entries[0], entry) for entry in value)
    return tuple(_typed(each, entry) for each, entry in zip(entries, value, strict=True))


def _key(data: Sequence[Any]) -> ProfileKey:
    type_, tp, batch = data
    return ProfileKey(str(type_), _integer(tp), _integer(batch))


def _profiles(data: Sequence[Mapping[str, Any]]) -> dict[ProfileKey, Profile]:
    found: dict[ProfileKey, Profile] = {}
    for item in data:
        key = _key(item["key"])
        if key in found:
            raise ValueError(f"profiles: two of {key}")
        found[key] = _built(Profile, item)
    return found


def _numbers(data: Sequence[Any]) -> tuple[float, ...]:
    return tuple(_number(value) for value in data)


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not -_MOST <= value <= _MOST:
        raise TypeError(f"'{excerpt(value)}' is no number")
    return float(value)


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"'{excerpt(value)}' is no integer")
    return value


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"'{excerpt(value)}' is neither true nor false")
    return value


_SCALARS: Mapping[Any, Callable[[Any], Any]] = {int: _integer, float: _number, str: str, bool: _switch}


def _said(error: Exception) -> str:
    return f"{excerpt(error.args[0])!r} is missing" if isinstance(error, KeyError) else excerpt(error, 200)
