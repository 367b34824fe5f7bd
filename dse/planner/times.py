"""Where the times of layers are from: measured, predicted of a model, or predicted and scaled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.base.settings.values import flag, listed
from dse.planner.problem.cluster import MixedCluster
from dse.planner.problem.keys import COSTS
from dse.planner.problem.problem import ProfileKey, ProfileSet

if TYPE_CHECKING:
    from dse.inputs.models import ModelSpec
    from dse.planner.problem.steps import StepInputs

Notes = tuple[str, ...]


def times_of(
    values: Mapping[str, str],
    model: ModelSpec | None,
    cluster: MixedCluster,
    accelerators: Mapping[str, str],
    order: tuple[str, ...],
    max_tp: int,
    max_batch: int,
    cost_model: str,
) -> tuple[ProfileSet, Notes]:
    """Return the profiles that keys ask for, and what people should know of them.

    Raises:
        InputError: a wrong key or file, one without effect, or too few.
    """
    costs = _costs(values, model, cost_model)
    if cost_model == "step":
        from dse.planner.problem.costs_from_model import parameter_bytes

        assert model is not None
        profiles = ProfileSet({}, ProfileKey(order[0], 1, 1), parameter_bytes(model), False, "model")
        return profiles, ()  # `step_intervals` knows how sure they are, by what the ways to run layers are
    measured, notes = _measured(values, cost_model) if "profiles" in values else (None, ())
    if costs == "profiles":
        assert measured is not None  # as `_costs` saw to
        return measured, notes
    from dse.planner.problem.costs_from_model import calibrated_profiles, model_profiles

    assert model is not None
    modelled = model_profiles(
        model,
        cluster,
        accelerators,
        max_tp=max_tp,
        max_batch=max_batch,
        type_order=order,
        sequence_parallel=flag(values, "sequence_parallel", False),
    )
    if model.experts is not None:
        notes = (
            *notes,
            f"{model.name}: experts are not spread over GPUs (no expert parallelism): every tensor group "
            f"holds all {model.experts.count} of a layer",
        )
    if measured is None:
        from dse.prediction.steps.plan import Plan

        asked = [(type_, str(Plan().framework), 1) for type_ in order or cluster.types]
        return modelled, (*notes, *_intervals(model, accelerators, asked))
    scaled, fits = calibrated_profiles(modelled, measured)
    fitted = [
        f"{fit.type}: predicted layers x {fit.layers:.3g}, embedding x {fit.embedding:.3g}, head x "
        f"{fit.head:.3g}, from {fit.keys} profiles, of which one is {100 * (fit.worst - 1):.0f} % off"
        for fit in fits
    ]
    return scaled, (*notes, *fitted, *_predicted_alone(order, {fit.type for fit in fits}))


def _costs(values: Mapping[str, str], model: ModelSpec | None, cost_model: str) -> str:
    """The key `costs`, or what follows from what is given."""
    has = {"model": model is not None, "profiles": "profiles" in values}
    if not any(has.values()):
        raise InputError("times are missing; write model=NAME (predicted), profiles=DIR (measured), or both")
    default = "calibrated" if all(has.values()) else "model" if has["model"] else "profiles"
    costs = values.get("costs", default)
    check_choice("costs", costs, COSTS)
    needed = {"profiles": ("profiles",), "model": ("model",), "calibrated": ("model", "profiles")}[costs]
    for key in needed:
        if not has[key]:
            raise InputError(f"{key} is missing; costs={costs} needs it: write {key}=…")
    if costs == "model" and "profiles" in values:
        raise InputError("profiles has no effect with costs=model; write costs=calibrated, or leave it out")
    if costs != "profiles" and "first_profile" in values:
        raise InputError(f"first_profile has no effect with costs={costs}; leave it out")
    if costs == "profiles" and "sequence_parallel" in values:
        raise InputError(
            "sequence_parallel has no effect with costs=profiles, whose layers are as they were measured; "
            "leave it out, or write costs=calibrated"
        )
    if costs != "model" and cost_model == "step":
        raise InputError(
            f"cost=step prices predicted steps, but costs is {costs}; write cost=strict, or costs=model"
        )
    if costs == "model" and cost_model == "compat":
        raise InputError(
            "cost is compat, which takes the gap of predicted profiles, 0, for an error as Metis does; write "
            "cost=strict, or profiles=DIR"
        )
    return costs


def _measured(values: Mapping[str, str], cost_model: str) -> tuple[ProfileSet, Notes]:
    """The profiles in files; gaps below 0, which Metis takes as they are, count as 0 under strict."""
    from dse.planner.problem.inputs import read_profiles
    from dse.planner.problem.inputs.profile_files import overlap_note, without_overlaps

    folders = [Path(name).expanduser() for name in listed("profiles", values["profiles"])]
    found = read_profiles(folders, values.get("first_profile"), compat=cost_model == "compat")
    told = overlap_note(found)
    if told is None:
        return found, ()
    if cost_model == "compat":
        return found, (f"{told}: cost=compat takes that off the step, as Metis does",)
    return without_overlaps(found), (f"{told}: their gap counts as 0",)


def step_intervals(model: ModelSpec, accelerators: Mapping[str, str], steps: StepInputs) -> list[str]:
    """Return how sure steps of the plans' frameworks are, on the GPUs of each type by itself."""
    from dse.planner.problem.steps import way_of

    asked = [
        (type_.name, str(framework), type_.gpus)
        for type_ in steps.types
        for framework in dict.fromkeys(way_of(way).framework for way in type_.ways)
    ]
    return _intervals(model, accelerators, asked)


def _intervals(
    model: ModelSpec, accelerators: Mapping[str, str], asked: Sequence[tuple[str, str, int]]
) -> list[str]:
    """How sure steps are on each accelerator by itself (none of a mixed cluster was measured).

    `asked` are types, frameworks and numbers of GPUs.
    """
    from dse.inputs.accelerators import Accelerator
    from dse.prediction.intervals.interval import interval_of
    from dse.prediction.intervals.kinds import Kind, scale_of

    blocks = "dense" if model.experts is None else "experts"
    found = []
    for type_, framework, gpus in asked:
        name = Accelerator.named(accelerators[type_]).name
        interval = interval_of(Kind(name, 16, blocks, False, framework, scale_of(gpus)))
        found += [f"{name} alone: {interval.note}"] if interval else []
    return list(dict.fromkeys(found))


def _predicted_alone(order: Sequence[str], measured: set[str]) -> list[str]:
    return [
        f"{type_}: no profiles; its times are predicted alone" for type_ in order if type_ not in measured
    ]
