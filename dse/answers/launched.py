"""Answers as jobs that a training framework can run: points, the best of studies, plans of equal stages."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from dse.answers.caps import Cap
from dse.answers.subjects import subjects
from dse.base.errors import InputError, NothingFits
from dse.base.files import conf_names
from dse.base.lazy import np
from dse.base.machine import usable_cores
from dse.base.texts import counted
from dse.inputs.accelerators import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.strategies.columns import Strategies
from dse.inputs.systems import SystemSpec
from dse.planner.files.answer import read_answer
from dse.planner.problem.problem import ClusterPlan
from dse.planner.problem.steps import way_of
from dse.prediction.frameworks.checks.check import cluster_of_gpu, cluster_of_name
from dse.prediction.frameworks.job import Job
from dse.prediction.frameworks.models import model_from, model_values
from dse.prediction.steps.details import listed_stages
from dse.prediction.steps.plan import Plan, text_of_layers
from dse.prediction.steps.predict import Prediction, predict
from dse.prediction.steps.predicted_strategies import predict_strategies
from dse.prediction.steps.strategies import Refusals, plan_of
from dse.studies.composed import training_strategies
from dse.studies.points import PREDICTION, DesignPoint
from dse.studies.points.methods.prediction import prediction_inputs
from dse.studies.points.stored import point_of_row
from dse.studies.space.constraints import launched
from dse.studies.store import StudyStore


class LaunchedJob(NamedTuple):
    """A job, and the cluster that it fills.

    `step_s` is its step where its accelerators are of several types, which `cluster` does not show.
    """

    job: Job
    cluster: Cluster
    step_s: float | None = None

    def prediction(self) -> Prediction:
        """Return the step of the job, with the parts of one on `cluster` where several types share it."""
        found = predict(self.job.model, self.job.plan, self.cluster)
        if self.step_s is None:
            return found
        longer = self.step_s / found.step_s
        parts_s = {name: seconds * longer for name, seconds in found.parts_s.items()}
        return replace(found, step_s=self.step_s, parts_s=parts_s)


def job_of_point(point: DesignPoint) -> LaunchedJob:
    """Return the job of a predicted point, and the cluster that it fills.

    Raises:
        InputError: the point is simulated, so that no hardware runs it as it is.
    """
    if point.scenario.method.name != PREDICTION.name:
        raise InputError(
            f"{point.strategy.label()} on {point.scenario.system.name} is simulated, not predicted: "
            "frameworks run on a cluster (system=dgx_h100) with model.fidelity=realistic"
        )
    model, plan, cluster = prediction_inputs(point)
    if plan.stages == "balanced":
        plan = replace(plan, stages=text_of_layers(listed_stages(model, plan, cluster)))
    return LaunchedJob(Job(model, plan), cluster)


def best_job(model: ModelSpec, system: SystemSpec, framework: str | None = None) -> LaunchedJob:
    """Return the fastest job that fits of those that a sweep tries; `framework` must be able to run it.

    Raises:
        InputError: the system is no cluster, or no strategy divides the model.
        NothingFits: no strategy fits.
    """
    cluster = system.cluster
    if cluster is None or model.fidelity != "realistic":
        raise InputError(
            f"{model.name} on {system.name} is simulated, not predicted: frameworks run on a cluster "
            "(system=dgx_h100) with model.fidelity=realistic"
        )
    strategies = _strategies(model, system, framework)
    refused = Refusals(len(strategies))
    figures = predict_strategies(model, strategies, cluster, refused, threads=usable_cores())
    peaks = figures.memory_bytes.sum(axis=1)
    steps_s = np.where(peaks <= cluster.accelerator.memory_bytes, figures.step_s, np.inf)
    that = f" that {framework} can run" if framework is not None else ""
    where = f"{model.name} on {counted(system.npus, 'NPU')} of {system.name}"
    if not len(strategies):
        if framework is not None and len(others := _strategies(model, system, None)):
            _, obstacle = launched(others, model, framework)
            raise InputError(f"{framework} cannot run {where}, as {obstacle}")
        raise InputError(
            f"no strategy{that} divides {where}: change model.batch_size, which is {model.batch_size}, or the"
            " number of NPUs"
        )
    if not len(steps_s) or not np.isfinite(steps_s.min()):
        raise NothingFits(
            f"none of {len(strategies)} strategies{that} fits {where}: take more NPUs, or name a strategy by "
            "strategy.dp=… and so on"
        )
    strategy = strategies[int(figures.places[int(np.argmin(steps_s))])]
    return LaunchedJob(Job(model, plan_of(model, strategy)), cluster)


def _strategies(model: ModelSpec, system: SystemSpec, framework: str | None) -> Strategies:
    found = training_strategies(model, system, framework)
    return found if isinstance(found, Strategies) else Strategies.of(list(found))


def job_of_study(path: Path, cap: Cap | None, key: str | None, number: int | None) -> LaunchedJob:
    """Return the job of a point of a study: the best of its only group, of group `number`, or by `key`.

    Raises:
        InputError: no such point, or there are several groups.
        NothingFits: no point is ok.
    """
    found = subjects(StudyStore(path), cap, key=key, number=number).found
    if len(found) > 1:
        titles = "; ".join(f"group={one.number}: {one.title}" for one in found)
        raise InputError(f"{path} has several groups; write one of {titles}")
    if not found or found[0].row is None:
        raise NothingFits(f"{path} has no point that is ok")
    return job_of_point(point_of_row(found[0].row))


def job_of_plan(path: Path) -> LaunchedJob:
    """Return the job of the best plan of `dse plan ... -o`, whose stages must be alike but for their layers.

    Raises:
        InputError: the file is no plan, or no framework runs it.
        NothingFits: no plan fits.
    """
    answer = read_answer(path)
    plan, steps = answer.plan, answer.problem.steps
    if plan is None:
        raise NothingFits(f"{path}: no plan fits, so there is nothing to launch")
    if steps is None or not plan.ways:
        raise InputError(
            f"{path}: was not priced by the model of a step (cost=step): it lacks what a job needs"
        )
    used = {name for stage in answer.document["best"]["stages"] for name in stage["types"]}
    on = [one for one in steps.types if one.name in used]
    if len(set(plan.ways)) > 1 or len(set(plan.strategies)) > 1 or len({one.node_gpus for one in on}) > 1:
        raise InputError(
            f"{path}: its stages differ in their degrees, ways or nodes, and no framework here runs that: "
            "dse plan launchable=megatron-lm finds plans that one runs"
        )
    told = answer.document["provenance"]["configuration"]
    named = model_values(str(told.get("model", "")))
    model = model_from({**named, "batch_size": answer.problem.gbs, "micro_batches": None})
    found = _plan_of_stages(plan, model)
    name, assumed = str(told.get("cluster", "")), list[str]()
    is_system = name in conf_names("system")
    chip = json.loads(on[0].cluster)["accelerator"]["name"]
    place, named_by = (cluster_of_name, name) if is_system else (cluster_of_gpu, chip)
    cluster = place(named_by, found.npus, assumed)
    step_s = answer.document["best"]["cost_ms"] / 1e3
    return LaunchedJob(Job(model, found), cluster, None if len(on) == 1 else step_s)


def _plan_of_stages(plan: ClusterPlan, model: ModelSpec) -> Plan:
    """The plan of stages that are alike: all that a sweep says, or a way with the layers of each stage."""
    way, (dp, tp) = way_of(plan.ways[0]), plan.strategies[0]
    stages = len(plan.groups)
    found = replace(way, dp=dp, tp=tp, pp=stages)
    if way.pp == stages and stages > 1:  # a plan of a sweep says its schedule, too
        return found
    if stages == 1:
        return found
    counts = [after - before for before, after in pairwise(plan.partition)]
    counts[0] -= 1  # the embedding
    counts[-1] -= model.prediction_layers + 1  # layers that predict further tokens, and the head
    if sum(counts) != model.num_layers:
        raise InputError(f"the stages of the plan have {sum(counts)} layers; the model {model.num_layers}")
    return replace(found, stages=text_of_layers(counts))
