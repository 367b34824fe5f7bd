"""The question that the keys of `dse plan` ask: a problem, a planner, a cost model and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.base.settings.values import Values, flag, listed, number, whole
from dse.inputs.accelerators import Accelerator, TierSpec, accelerator
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.planner.problem.cluster import MixedCluster
from dse.planner.problem.inputs import read_cluster
from dse.planner.problem.keys import COST_MODELS, GROUPS, WALKS
from dse.planner.problem.named_clusters import named_cluster
from dse.planner.problem.problem import PlanProblem, ProfileSet
from dse.planner.problem.step_space import StepSpace
from dse.planner.search.planner import Limits
from dse.planner.times import step_intervals, times_of

_MOST = 2**20


@dataclass(frozen=True)
class Asked:
    """A command line's question. `accelerators` names that of each known type; `notes` are for people."""

    problem: PlanProblem
    planner: str
    cost_model: str
    limits: Limits
    cluster_name: str
    model_name: str
    accelerators: Mapping[str, str]
    notes: tuple[str, ...] = ()


def asked_of(
    values: Values,
    overrides: Sequence[str],
    model_of: Callable[[Sequence[str]], ModelSpec],
    strategies_of: Callable[..., Sequence[Strategy]],
) -> Asked:
    """Return what keys ask; `overrides` are those of cluster and model, which `model_of` composes.

    `strategies_of` returns the strategies of a sweep for a model, a system, and `launchable`, a framework.

    Raises:
        InputError: a wrong key or file, one without effect, or too few.
    """
    from dse.planner.search.automatic import planner_for
    from dse.planner.search.planners import PLANNERS, planner_named

    groups = {name: [word for word in overrides if _group(word) == name] for name in GROUPS}
    planner = planner_named(values.get("planner", "auto")).name
    cost_model = values.get("cost", _default_cost(values, planner, has_model=bool(groups["model"])))
    COST_MODELS.check(cost_model)
    _refuse_idle(values, planner, cost_model)
    name, cluster, accelerators, tiers = _cluster(values, groups["cluster"], cost_model)
    cluster = replace(cluster, price_per_hour=_prices(values, cluster))
    order = _type_order(values, cluster)
    limits = _limits(values)
    options = _options(values, cost_model)
    model = model_of(groups["model"]) if groups["model"] else None
    _refuse_sizes(values, model)
    max_tp, max_batch = options["max_tp"], options["max_batch"]
    profiles, notes = times_of(values, model, cluster, accelerators, order, max_tp, max_batch, cost_model)
    profiles = replace(profiles, source=_in_utf8(profiles.source))
    notes = (*PLANNERS.notes(values.get("planner", "auto")), *notes)
    if "num_layers" in values and _count(values, "num_layers", 1) != profiles.layers:
        raise InputError(
            f"num_layers is {values['num_layers']}, but the profiles have {profiles.layers} layers "
            "(embedding and head included); write that, or name other profiles"
        )
    if cost_model == "strict" and "first_profile" in values:
        notes = (*notes, "first_profile has no effect under cost=strict: every stage has its own times")
    if model is not None:
        cluster = replace(cluster, peak_tflops=_peaks(cluster, accelerators))
    problem = PlanProblem(
        cluster,
        profiles,
        order,
        gbs=_count(values, "gbs", model.batch_size if model else 128),
        hidden=model.d_model if model else _count(values, "hidden_size", 4096),
        sequence=model.seq_len if model else _count(values, "sequence_length", 1024),
        vocabulary=model.output_dim if model else _count(values, "vocabulary", 51200),
        flops_per_sequence=_flops_per_sequence(model, profiles),
        **options,
    )
    if cost_model == "step":
        assert model is not None  # as `times_of` saw to
        space = StepSpace(
            replace(model, batch_size=problem.gbs, micro_batches=None),
            accelerators,
            tiers,
            partial(strategies_of, launchable=values.get("launchable")),
            options["memory_reserve"],
            max_tp,
            max_batch,
            flag(values, "uniform", False) or "launchable" in values,
        )
        steps = space.on(cluster, order)
        problem = replace(problem, step_space=space, steps=steps)
        notes = (*notes, *step_intervals(model, accelerators, steps))
    if "gap" in values and planner == "auto" and planner_for(planner, problem, cost_model).name == "exact":
        notes = (
            *notes,
            f"gap={values['gap']} has no effect: planner=auto chose exact, which ends when its plan is "
            "proven optimal; write planner=fast for a search that ends earlier",
        )
    model_name = model.name if model else profiles.source
    return Asked(
        problem, planner, cost_model, limits, _in_utf8(name), _in_utf8(model_name), accelerators, notes
    )


def _in_utf8(text: str) -> str:
    """The text with question marks for the bytes of a file's name that are no text."""
    return text.encode("utf-8", "replace").decode()


def _peaks(cluster: MixedCluster, accelerators: Mapping[str, str]) -> Mapping[str, float]:
    """The peak of each type in dense 16-bit products; none where one is unknown."""
    if not all(type_ in accelerators for type_ in cluster.types):
        return {}
    found = {type_: Accelerator.named(accelerators[type_]) for type_ in cluster.types}
    peaks = {type_: one.peak_tflops.get(one.format_16bit) for type_, one in found.items()}
    known = {type_: peak for type_, peak in peaks.items() if peak is not None}
    return known if len(known) == len(peaks) else {}


def _flops_per_sequence(model: ModelSpec | None, profiles: ProfileSet) -> float | None:
    """The operations of training on a sequence; None means that the profiles are of another model or none."""
    from dse.inputs.models.flops import training_flops_per_token
    from dse.planner.problem.costs_from_model import parameter_bytes

    if model is None or profiles.layers != len(parameter_bytes(model)):
        return None
    return training_flops_per_token(model).total * model.seq_len


def _default_cost(values: Values, planner: str, *, has_model: bool) -> str:
    """The cost model of a question that names none: steps where all times are predicted."""
    if planner in WALKS:
        return "compat"
    is_predicted = has_model and "profiles" not in values and values.get("costs", "model") == "model"
    return "step" if is_predicted else "strict"


def _options(values: Values, cost_model: str) -> dict[str, Any]:
    """Fields of the problem that neither cluster nor model decide."""
    _count(values, "gbs", 128)
    return {
        "max_tp": _count(values, "max_tp", 128),
        "max_batch": _count(values, "max_batch", 128),
        "group_scale": whole(values, "group_scale", 1, most=_MOST),
        "permutation_limit": _count(values, "permutation_limit", 128),
        "allow_mixed_stages": flag(values, "allow_mixed_stages", True),
        "memory_reserve": number(values, "memory_reserve", 0.0 if cost_model == "step" else 0.1, below=1.0),
        "shard_optimizer": flag(values, "shard_optimizer", False),
    }


def _count(values: Values, key: str, default: int) -> int:
    return whole(values, key, default, least=1, most=_MOST)


def _limits(values: Values) -> Limits:
    time_limit_s = number(values, "time_limit", None, above=0, below=1e9)
    gap = number(values, "gap", None, below=1.0)
    return Limits(time_limit_s, _count(values, "top", 10), gap)


def _group(word: str) -> str:
    return word.removeprefix("+").partition("=")[0].partition(".")[0]


def _refuse_idle(values: Values, planner: str, cost_model: str) -> None:
    """Refuse keys that change nothing with this planner and cost model."""
    asked = values.get("planner", "auto")
    only_step = cost_model != "step" and f"cost={cost_model}; it is a key of cost=step"
    idle = {
        "group_scale": cost_model != "compat" and f"cost={cost_model}; it is a key of cost=compat",
        "permutation_limit": planner not in WALKS and f"planner={asked}; it is a key of planner=metis",
        "allow_mixed_stages": (
            planner in WALKS
            and f"planner={asked}, whose stages are what its walk visits; it is a key of planner=exact"
        )
        or (cost_model == "step" and "cost=step, whose stages have one type each; write cost=strict"),
        "gap": (planner not in ("auto", "anytime") or cost_model == "compat")
        and f"planner={asked} and cost={cost_model}; it is a key of planner=fast",
        "uniform": only_step,
        "launchable": only_step,
        "sequence_parallel": cost_model == "step"
        and "cost=step, which tries each way to run a layer; write cost=strict",
        "memory_reserve": cost_model == "compat" and "cost=compat, which reserves nothing; write cost=strict",
        "shard_optimizer": cost_model != "strict"
        and f"cost={cost_model}, which "
        + ("counts no states" if cost_model == "compat" else "tries each stage of ZeRO")
        + "; write cost=strict",
    }
    for key, why in idle.items():
        if key in values and why:
            raise InputError(f"{key}={values[key]} has no effect with {why}, or leave {key} out")


def _refuse_sizes(values: Values, model: ModelSpec | None) -> None:
    keys = {
        "hidden_size": "model.d_model",
        "sequence_length": "model.seq_len",
        "vocabulary": "model.output_dim",
        "num_layers": "model.num_layers",
    }
    for key, instead in keys.items():
        if model is not None and key in values:
            raise InputError(
                f"{key}={values[key]} has no effect beside model={model.name}, which has its own; "
                f"write {instead}=…"
            )


def _cluster(
    values: Values, overrides: Sequence[str], cost_model: str
) -> tuple[str, MixedCluster, dict[str, str], Mapping[str, tuple[TierSpec, ...]]]:
    """Name, cluster, the accelerator of each type that conf/accelerator knows, and tiers of systems."""
    files = [key for key in ("hostfile", "clusterfile") if key in values]
    if overrides and files:
        raise InputError(f"cluster and {files[0]} are two clusters; write one of them")
    if overrides:
        chosen = [word for word in overrides if word.partition("=")[0] == "cluster"]
        if len(chosen) != 1:
            raise InputError(f"cluster is named {len(chosen)} times; write cluster=NAME once")
        name = chosen[0].partition("=")[2]
        found = named_cluster(name, [word for word in overrides if word not in chosen])
        return found.name, found.cluster, dict(found.accelerators), found.tiers
    if len(files) < 2:
        missing = "clusterfile" if files == ["hostfile"] else "hostfile" if files else "cluster"
        raise InputError(
            f"{missing} is missing; write cluster=NAME, or hostfile=FILE clusterfile=FILE; see --help"
        )
    path = Path(values["hostfile"]).expanduser()
    cluster = read_cluster(path, Path(values["clusterfile"]).expanduser(), compat=cost_model == "compat")
    return path.name, cluster, _known_accelerators(cluster.types), {}


def _known_accelerators(types: Sequence[str]) -> dict[str, str]:
    found = {}
    for type_ in types:
        try:
            found[type_] = accelerator(type_).name
        except InputError:
            continue  # whoever needs it says so
    return found


def _prices(values: Values, cluster: MixedCluster) -> Mapping[str, float]:
    """Prices by type.

    Raises:
        InputError: a type that the cluster lacks, one without a price, or one that is no number.
    """
    if "prices" not in values:
        return cluster.price_per_hour
    found: dict[str, float] = {}
    for entry in listed("prices", values["prices"].removeprefix("{").removesuffix("}")):
        type_, _, text = entry.partition(":")
        check_choice("prices", type_, cluster.types)
        if type_ in found:
            raise InputError(f"prices has {type_} twice; write one price for each type")
        found[type_] = number({f"prices of {type_}": text}, f"prices of {type_}", 0.0, below=1e9)
    for type_ in cluster.types:
        if type_ not in found:
            raise InputError(f"prices has no {type_}; write a price for each of {', '.join(cluster.types)}")
    return found


def _type_order(values: Values, cluster: MixedCluster) -> tuple[str, ...]:
    if "type_order" not in values:
        return cluster.types
    order = tuple(listed("type_order", values["type_order"]))
    if sorted(order) != sorted(cluster.types):
        raise InputError(
            f"type_order is {values['type_order']}; it must have each of {', '.join(cluster.types)} once"
        )
    return order
