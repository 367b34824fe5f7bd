"""The frozen configuration that the rest of the package sees, converted once from the schema."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from dse.config.schema import (
    ConfigSchema,
    ExecutorSchema,
    SearchSchema,
    SimulatorSchema,
    SpaceSchema,
    WorkloadSchema,
)
from dse.config.schema_system import SystemSchema
from dse.errors import InputError
from dse.models import ModelSpec, Repairs
from dse.results import TRANSIENT_STATUSES
from dse.simulators.native import EngineMethod
from dse.space import DesignSpace
from dse.strategies import Strategy
from dse.suggestions import did_you_mean
from dse.systems import CollectiveAlgorithms, Derating, Dimension, LinkFault, RemoteMemory, SystemSpec
from dse.units import parse_bytes

DIVISIBILITIES = ("stage", "strict")
FORMATS = ("table", "json")
SEARCHES = ("exhaustive", "random", "optuna")
SAMPLERS = ("nsga2", "tpe")
EXECUTORS = ("auto", "local", "ray")
SIMULATORS = ("native", "astrasim")
WORKLOADS = ("native", "stage")
ENGINES: tuple[EngineMethod, ...] = ("auto", "general")
_Group: TypeAlias = ExecutorSchema | SearchSchema | SimulatorSchema | WorkloadSchema
_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}", re.ASCII)


@dataclass(frozen=True)
class SearchSettings:
    """Which points to evaluate.

    exhaustive takes all of them, with `prune` only those that may win; random takes `samples` of them, drawn
    with `seed`; optuna lets `sampler` (nsga2, tpe) propose `samples` of them, a `batch` at a time, to
    minimise the `objectives` where the `budgets` hold (docs/search.md).
    """

    name: str
    samples: int | None = None
    seed: int = 0
    prune: bool = False
    sampler: str = "nsga2"
    batch: int = 8
    objectives: tuple[str, ...] = ("wall_time_ns",)
    budgets: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExecutorSettings:
    """Where points are evaluated.

    local uses `threads` of this process (None: one for each core); ray uses the cluster at `address`, or
    starts one on this machine with `workers` processes (None: one for each core), where a point may take
    `point_timeout_s`; auto chooses between them (docs/executors.md).
    """

    name: str
    threads: int | None = None
    address: str | None = None
    workers: int | None = None
    point_timeout_s: float = 3600.0


@dataclass(frozen=True)
class SimulatorSettings:
    """What evaluates a point.

    native has an `engine`: auto (by classes of ranks where proven) or general (every rank); astrasim has the
    program `binary`, which may run for `timeout_s` a point, and a folder for its logs.
    """

    name: str
    engine: EngineMethod = "auto"
    binary: Path | None = None
    timeout_s: float = 3600
    log_dir: Path | None = None


@dataclass(frozen=True)
class WorkloadSettings:
    """What generates the workload of a point; `divisibility` is stage or strict.

    stage runs the file `entry` of the folder `checkout` with the interpreter `python` (None: ours), which may
    take `timeout_s` a point.
    """

    name: str
    divisibility: Literal["stage", "strict"]
    checkout: Path | None = None
    entry: str = "main.py"
    python: str | None = None
    timeout_s: float = 3600


@dataclass(frozen=True)
class Config:
    """The configuration of one command.

    `memory_cap` is the cap as the user wrote it, `memory_cap_bytes` its value; `strategy` and `export` are
    for a single point, `space` and `search` for a sweep, where `models` and `systems` are all of its models
    and systems, `model` and `system` the first of each; points whose status is in `recompute` are evaluated
    again; `output_format` (the key `format`) is table or json.
    `resolved` is the configuration as YAML, with all defaults and overrides in place.
    """

    study: str
    results_dir: Path
    memory_cap: str
    memory_cap_bytes: int
    recompute: tuple[str, ...]
    workload: WorkloadSettings
    output_format: Literal["table", "json"]
    export: Path | None
    models: tuple[ModelSpec, ...]
    systems: tuple[SystemSpec, ...]
    strategy: Strategy
    space: DesignSpace
    search: SearchSettings
    executor: ExecutorSettings
    simulator: SimulatorSettings
    resolved: str

    @property
    def model(self) -> ModelSpec:
        """The first model."""
        return self.models[0]

    @property
    def system(self) -> SystemSpec:
        """The first system."""
        return self.systems[0]

    @property
    def divisibility(self) -> Literal["stage", "strict"]:
        """What happens to sizes that do not divide."""
        return self.workload.divisibility


def resolved_yaml(config: Config) -> str:
    """Return the whole configuration as YAML, for storing with a study."""
    return config.resolved


def study_name(values: ConfigSchema) -> str:
    """Return the study's name, which is by default `<model>-<system>`; several are joined by "+".

    Raises:
        InputError: the name cannot be that of a folder.
    """
    name = values.study
    if name is None:
        models = values.space.axes.get("model") or [values.model.name]
        systems = values.space.axes.get("system") or [values.system.name]
        name = f"{'+'.join(map(str, models))}-{'+'.join(map(str, systems))}"
    if not _FOLDER_NAME.fullmatch(name):
        raise InputError(
            f"study is '{name}'; it names a folder: a letter or digit, then letters, digits or any of ._+-"
        )
    return name


def to_config(
    values: ConfigSchema,
    resolved: str,
    of_models: Sequence[ConfigSchema],
    of_systems: Sequence[ConfigSchema],
) -> Config:
    """Check all values and convert them to frozen specifications; `resolved` is the same as YAML.

    The models and systems are those of the configurations `of_models` and `of_systems`.

    Raises:
        InputError: a value breaks a rule; names the key, what was got and what is allowed.
    """
    _choice("format", values.format, FORMATS)
    for status in values.recompute:
        _choice("recompute", status, TRANSIENT_STATUSES)
    if not values.results_dir or values.export == "":
        raise InputError(
            f"{'export' if values.results_dir else 'results_dir'} is empty; it must name a folder"
        )
    return Config(
        study=str(values.study),
        results_dir=Path(values.results_dir),
        memory_cap=values.memory_cap,
        memory_cap_bytes=parse_bytes(values.memory_cap, "memory_cap"),
        recompute=tuple(values.recompute),
        workload=_workload(values),
        output_format=cast(Literal["table", "json"], values.format),
        export=None if values.export is None else Path(values.export),
        models=tuple(_model(variant) for variant in of_models),
        systems=tuple(_system(variant.system) for variant in of_systems),
        strategy=Strategy(**asdict(values.strategy)),
        space=_space(values.space),
        search=_search(values),
        executor=_executor(values.executor),
        simulator=_simulator(values),
        resolved=resolved,
    )


def _space(values: SpaceSchema) -> DesignSpace:
    fields = {key: _frozen(value) for key, value in asdict(values).items()}
    fields["axes"] = tuple((key, _frozen(listed)) for key, listed in fields["axes"].items())
    return DesignSpace(**fields)


def _model(values: ConfigSchema) -> ModelSpec:
    fields = asdict(values.model)
    model = ModelSpec(**{**fields, "repairs": Repairs(**fields["repairs"])})
    if values.workload.name == "stage" and not model.is_reference:
        raise InputError(
            "workload.name is 'stage', which models what model.fidelity=stage models; write workload=native "
            "for any repair"
        )
    return model


def _system(values: SystemSchema) -> SystemSpec:
    fields = asdict(values)
    fields["network"] = tuple(
        Dimension(**{**dimension, "shape": tuple(dimension["shape"])}) for dimension in fields["network"]
    )
    fields["faults"] = tuple(LinkFault(**fault) for fault in fields["faults"])
    fields["deratings"] = tuple(Derating(**derating) for derating in fields["deratings"])
    collectives = {key: tuple(names) for key, names in fields["collectives"].items()}
    fields["collectives"] = CollectiveAlgorithms(**collectives)
    fields["remote_memory"] = RemoteMemory(**fields["remote_memory"])
    return SystemSpec(**fields)


def _search(values: ConfigSchema) -> SearchSettings:
    search = values.search
    _choice("search.name", search.name, SEARCHES)
    if search.name != "exhaustive" and (search.samples is None or search.samples < 1):
        raise InputError(f"search.samples is {search.samples}; it must be an integer of at least 1")
    if search.name == "exhaustive" and search.samples is not None:
        raise InputError(
            f"search.samples is {search.samples}, but search is exhaustive; write search=random too"
        )
    if search.name != "exhaustive" and search.prune:
        raise InputError(f"search.prune is true, but search is {search.name}; write search=exhaustive too")
    if search.name != "optuna":
        _unused("search", search, "optuna", ("sampler", "batch", "objectives", "budgets"))
        return SearchSettings(search.name, search.samples, search.seed, search.prune)
    if not 0 <= search.seed < 2**32:
        raise InputError(f"search.seed is {search.seed}; it must be an integer from 0 to {2**32 - 1}")
    _choice("search.sampler", str(search.sampler), SAMPLERS)
    if search.batch is None or search.batch < 1:
        raise InputError(f"search.batch is {search.batch}; it must be an integer of at least 1")
    if not search.objectives:
        raise InputError("search.objectives is empty; it must list at least one, such as [wall_time_ns]")
    return SearchSettings(
        search.name,
        search.samples,
        search.seed,
        sampler=str(search.sampler),
        batch=search.batch,
        objectives=tuple(search.objectives),
        budgets=tuple(search.budgets),
    )


def _executor(values: ExecutorSchema) -> ExecutorSettings:
    _choice("executor.name", values.name, EXECUTORS)
    for key in ("threads", "workers"):
        count = getattr(values, key)
        if count is not None and count < 1:
            raise InputError(f"executor.{key} is {count}; it must be at least 1, or null")
    if values.name == "local":
        _unused("executor", values, "ray", ("address", "workers", "point_timeout_s"))
        return ExecutorSettings("local", values.threads)
    if values.name == "ray":
        _unused("executor", values, "local", ("threads",))
    if values.address is not None and values.workers is not None:
        raise InputError(
            f"executor.workers is {values.workers}, but executor.address names a cluster, which has its own"
        )
    return ExecutorSettings(
        values.name,
        values.threads,
        None if values.address is None else _text("executor.address", values.address, "be an address"),
        values.workers,
        _seconds("executor.point_timeout_s", values.point_timeout_s),
    )


def _workload(values: ConfigSchema) -> WorkloadSettings:
    workload = values.workload
    _choice("workload.name", workload.name, WORKLOADS)
    _choice("workload.divisibility", workload.divisibility, DIVISIBILITIES)
    divisibility = cast(Literal["stage", "strict"], workload.divisibility)
    if workload.name == "native":
        _unused("workload", workload, "stage", ("checkout", "entry", "python", "timeout_s"))
        return WorkloadSettings("native", divisibility)
    return WorkloadSettings(
        workload.name,
        divisibility,
        checkout=_path("workload.checkout", workload.checkout),
        entry=_text("workload.entry", workload.entry, "name a file of the checkout"),
        python=workload.python or None,
        timeout_s=_seconds("workload.timeout_s", workload.timeout_s),
    )


def _simulator(values: ConfigSchema) -> SimulatorSettings:
    simulator = values.simulator
    _choice("simulator.name", simulator.name, SIMULATORS)
    if simulator.name == "native":
        _unused("simulator", simulator, "astrasim", ("binary", "timeout_s", "log_dir"))
        _choice("simulator.engine", str(simulator.engine), ENGINES)
        return SimulatorSettings("native", cast(EngineMethod, simulator.engine))
    _unused("simulator", simulator, "native", ("engine",))
    return SimulatorSettings(
        simulator.name,
        binary=_path("simulator.binary", simulator.binary),
        timeout_s=_seconds("simulator.timeout_s", simulator.timeout_s),
        log_dir=_path("simulator.log_dir", simulator.log_dir),
    )


def _unused(group: str, values: _Group, choice: str, keys: tuple[str, ...]) -> None:
    """Refuse keys that the choice of the group does not know: they belong to another one."""
    for key in keys:
        value = getattr(values, key)
        if value is not None and value != []:
            raise InputError(
                f"{group}.{key} is '{value}', but {group} is {values.name}; write {group}={choice} too"
            )


def _path(key: str, value: str | None) -> Path | None:
    return None if value is None else Path(_text(key, value, "be a path, or null"))


def _text(key: str, value: str | None, expected: str) -> str:
    if not value:
        raise InputError(f"{key} is {'null' if value is None else 'empty'}; it must {expected}")
    return value


def _seconds(key: str, value: float | None) -> float:
    if value is None or not 0 < value < math.inf:
        raise InputError(f"{key} is {'null' if value is None else value}; it must be a number above 0")
    return value


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _choice(key: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        hint = did_you_mean(value, allowed)
        raise InputError(f"{key} is '{value}'; allowed are {', '.join(allowed)}{hint}")
