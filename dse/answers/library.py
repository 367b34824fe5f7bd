"""The package as a library: its five questions, and studies; `import dse` has these names.

Each question takes the keys of its command, as keywords or as a list of overrides:
`plan_training(cluster="a100_v100", gbs=512)` is `plan_training(["cluster=a100_v100", "gbs=512"])`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dse.answers.foreign_inputs import foreign_inputs
from dse.base.errors import InputError, naming_paths
from dse.base.lazy import pa
from dse.base.settings.checks import checked_folder, described
from dse.base.settings.keywords import Value, words_of
from dse.studies.config import Config, compose_config
from dse.studies.points import PREDICTION, DesignPoint, point_of
from dse.studies.points import evaluate as evaluate_point
from dse.studies.store import StudyRow, StudyStore, as_rows
from dse.studies.sweeps import Session

if TYPE_CHECKING:
    from dse.answers.explain.predicted_step import PredictedStep
    from dse.base.command_lines import Arguments
    from dse.collectives.question import SynthesizedCollective
    from dse.partition.graphs.sources.attributes import NetworkxGraph
    from dse.partition.question import GraphPartition
    from dse.planner.questions.training_plan import TrainingPlan

_CONFIGURATION = 'dse.compose_config(["system=torus_4x4", "model=tiny"])'


@naming_paths()
def sweep_study(
    config: Config | None = None,
    *,
    overrides: Sequence[str] = (),
    on_row: Callable[[StudyRow], object] | None = None,
    say: Callable[[str], object] | None = None,
    **keys: Value,
) -> StudyStore:
    """Evaluate what a study lacks of its design space, and return the study.

    A configuration names the study, or the keys of `dse sweep` do, such as `system="system1"`. The call is
    quiet and resumable: points that are stored are not computed again, so the same call goes on with a sweep
    that was interrupted. `on_row` gets every new row before it is stored; rows that are evaluated together
    are stored together. `say` gets warnings and notes, a line each.

    Raises:
        InputError: an empty space, a study that cannot be read or written, a wrong key, or an argument of a
            type that it cannot have.
    """
    for name, callback in (("on_row", on_row), ("say", say)):
        if callback is not None and not callable(callback):
            raise InputError(f"sweep_study: {name} is {described(callback)}; it must be a function or None")
    config = _config("sweep_study", "sweep", config, overrides, keys)

    def lines(text: str) -> None:
        if say is not None:
            say(text)

    return (
        Session(config, ["dse.sweep_study"], lines, lambda _: nullcontext(_Listener(on_row)), foreign_inputs)
        .run()
        .store
    )


@naming_paths()
def predict_step(
    config: Config | None = None, *, overrides: Sequence[str] = (), **keys: Value
) -> PredictedStep:
    """Predict the time and memory of a training step on real hardware.

    A configuration names the step, or the keys of `dse point` do, such as `system="dgx_h100"` and
    `strategy={"dp": 8, "tp": 8}`. The system is a cluster, and the model has fidelity=realistic.

    Raises:
        InfeasibleStrategy: the strategy cannot run on the system.
        InputError: a wrong key, a system that no prediction is for, or an argument of a type that it cannot
            have.
    """
    from dse.answers.explain.predicted_step import predicted_step

    config = _config("predict_step", "point", config, overrides, keys)
    point = point_of(config, config.strategy)
    if point.scenario.method is not PREDICTION:
        raise InputError(
            f"predict_step: {config.model.name} on {config.system.name} is simulated, not predicted; take a "
            "cluster such as system=dgx_h100 with model.fidelity=realistic, or call dse.evaluate"
        )
    return predicted_step(point)


@naming_paths()
def synthesize_collective(overrides: Sequence[str] = (), **keys: Value) -> SynthesizedCollective:
    """Search a schedule for a collective on a network, by the keys of `dse synthesize`.

    Keys are such as `topology="torus__dim=[4,4]"`, `collective="all_reduce"`, `time_limit_s=10`.

    Raises:
        InputError: a wrong key or value, a network without a way, or an argument of a type that it cannot
            have.
    """
    from dse.collectives.problem.arguments import NETWORK_KEYS, PROBLEM_KEYS, ROBUST_KEYS, SEARCH_KEYS
    from dse.collectives.question import question_of, synthesized
    from dse.studies.composed import system_of

    known = {**NETWORK_KEYS, **PROBLEM_KEYS, **SEARCH_KEYS, **ROBUST_KEYS}
    given = _arguments("synthesize_collective", known, ("system",), overrides, keys)
    return synthesized(
        question_of(given.values, (lambda: system_of(given.overrides)) if given.overrides else None)
    )


@naming_paths()
def plan_training(overrides: Sequence[str] = (), **keys: Value) -> TrainingPlan:
    """Search the fastest plan that trains a model on a mixed cluster, by the keys of `dse plan`.

    Keys are such as `cluster="a100_v100"`, `model="llama3_8b"`, `gbs=512`, `top=5`.

    Raises:
        InputError: a wrong key, value or file, or an argument of a type that it cannot have.
    """
    from dse.planner.problem.arguments import asked_of
    from dse.planner.problem.keys import CLUSTER_KEYS, COST_KEYS, GROUPS, OUTPUT_KEYS, SEARCH_KEYS
    from dse.planner.questions.training_plan import planned
    from dse.studies.composed import model_of, training_strategies

    known = {**CLUSTER_KEYS, **COST_KEYS, **SEARCH_KEYS, "top": OUTPUT_KEYS["top"]}
    given = _arguments("plan_training", known, GROUPS, overrides, keys)
    return planned(asked_of(given.values, given.overrides, model_of, training_strategies))


@naming_paths()
def partition_graph(
    overrides: Sequence[str] = (), *, graph: Value | NetworkxGraph = None, **keys: Value
) -> GraphPartition:
    """Place the nodes of a model graph on devices, by the keys of `dse partition`.

    Keys are such as `graph="model.json"`, `devices="torus_4x4"`, `partitioner=["fast", "exact"]`. The graph
    may be one of networkx, with the attributes that a GraphML file has.

    Raises:
        InputError: a wrong key, value or file, constraints that no partition keeps, or an argument of a type
            that it cannot have.
    """
    from dse.partition.graphs.sources.attributes import is_networkx, networkx_source
    from dse.partition.problem.arguments import (
        DEVICE_KEYS,
        GRAPH_KEYS,
        GROUPS,
        SEARCH_KEYS,
        STEP_KEYS,
        WEIGHT_KEYS,
    )
    from dse.partition.problem.arguments import question_of as partition_question
    from dse.partition.problem.settings import asked_problems
    from dse.partition.question import partitioned
    from dse.studies.composed import composed

    known = {**GRAPH_KEYS, **DEVICE_KEYS, **WEIGHT_KEYS, **SEARCH_KEYS, **STEP_KEYS}
    source = networkx_source(graph) if is_networkx(graph) else None
    name = cast("Value", graph) if source is None else source.name
    given = _arguments("partition_graph", known, GROUPS, overrides, {"graph": name, **keys})
    asked = partition_question(given.values, given.overrides, source)
    return partitioned(asked_problems(asked, composed()), given.values)


@naming_paths()
def open_study(path: str | Path) -> StudyStore:
    """Return the study in a folder such as `results/llama70b-system1`.

    Raises:
        InputError: the folder is not a study, or a part of it is corrupt or written by a newer version.
    """
    store = StudyStore(checked_folder("open_study: path", path))
    store.parts()
    return store


@naming_paths()
def evaluate(
    point: DesignPoint | Config | None = None, *, overrides: Sequence[str] = (), **keys: Value
) -> StudyRow:
    """Return the row of a design point, of a configuration, or of the keys of `dse point`.

    Infeasible, failed, late and deadlocked points are rows with a status and a reason. Nothing is stored.

    Raises:
        InputError: the input is wrong in a way that concerns every point, such as an unsupported network, or
            an argument has a type that it cannot have.
    """
    if isinstance(point, DesignPoint):
        if overrides or keys:
            raise InputError("evaluate: a point has all of its keys; leave the others out")
        return evaluate_point(point)
    if point is not None and not isinstance(point, Config):
        raise InputError(
            f"evaluate got {described(point)}; it takes a point or a configuration, such as "
            'dse.compose_config(["system=torus_4x4", "model=tiny", "strategy.dp=16"])'
        )
    config = _config("evaluate", "point", point, overrides, keys)
    return evaluate_point(point_of(config, config.strategy))


def _config(
    function: str, command: str, config: Config | None, overrides: Sequence[str], keys: Mapping[str, Value]
) -> Config:
    """The configuration of a call: given, or composed of its keys."""
    if config is None:
        return compose_config(words_of(function, overrides, keys), command=command)
    if not isinstance(config, Config):
        raise InputError(
            f"{function} got {described(config)}; it takes a configuration, such as {_CONFIGURATION}, or "
            'keys, such as overrides=["model=tiny"]'
        )
    if overrides or keys:
        raise InputError(f"{function}: a configuration has all of its keys; leave the others out")
    return config


def _arguments(
    function: str,
    known: Mapping[str, str],
    groups: Sequence[str],
    overrides: Sequence[str],
    keys: Mapping[str, Value],
) -> Arguments:
    """The keys of a call, checked by the parser of command lines."""
    from dse.base.command_lines import CommandLine

    return CommandLine(function, "", {"": known}, groups=groups).parse(
        words_of(function, overrides, keys, groups)
    )


class _Listener:
    """Passes rows on to a callback, if there is one."""

    def __init__(self, on_row: Callable[[StudyRow], object] | None) -> None:
        self._on_row = on_row

    def add(self, found: StudyRow | pa.Table) -> None:
        if self._on_row is not None:
            for row in [found] if isinstance(found, StudyRow) else as_rows(found):
                self._on_row(row)
