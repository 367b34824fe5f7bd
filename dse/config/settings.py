"""The frozen configuration that the rest of the package sees, converted once from the schema."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

from dse.config.schema import ConfigSchema, SimulatorSchema, SystemSchema, WorkloadSchema
from dse.errors import InputError
from dse.models import ModelSpec, Repairs
from dse.simulators.native import EngineMethod
from dse.strategies import DesignSpace, Strategy
from dse.suggestions import did_you_mean
from dse.systems import CollectiveAlgorithms, Derating, Dimension, LinkFault, RemoteMemory, SystemSpec
from dse.units import parse_bytes

DIVISIBILITIES = ("stage", "strict")
FORMATS = ("table", "json")
SEARCHES = ("exhaustive", "random")
EXECUTORS = ("local",)
SIMULATORS = ("native", "astrasim")
WORKLOADS = ("native", "stage")
ENGINES: tuple[EngineMethod, ...] = ("auto", "general")
_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}", re.ASCII)


@dataclass(frozen=True)
class SearchSettings:
    """Which points to evaluate: all (`exhaustive`), or `samples` of them drawn with `seed` (`random`)."""

    name: str
    samples: int | None
    seed: int


@dataclass(frozen=True)
class ExecutorSettings:
    """Where points are evaluated; `threads` None means one for each core."""

    name: str
    threads: int | None


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
    for a single point, `space` and `search` for a sweep; `output_format` (the key `format`) is table or json.
    `resolved` is the configuration as YAML, with all defaults and overrides in place.
    """

    study: str
    results_dir: Path
    memory_cap: str
    memory_cap_bytes: int
    workload: WorkloadSettings
    output_format: Literal["table", "json"]
    export: Path | None
    model: ModelSpec
    system: SystemSpec
    strategy: Strategy
    space: DesignSpace
    search: SearchSettings
    executor: ExecutorSettings
    simulator: SimulatorSettings
    resolved: str

    @property
    def divisibility(self) -> Literal["stage", "strict"]:
        """What happens to sizes that do not divide."""
        return self.workload.divisibility


def resolved_yaml(config: Config) -> str:
    """Return the whole configuration as YAML, for storing with a study."""
    return config.resolved


def study_name(values: ConfigSchema) -> str:
    """Return the study's name, which is by default `<model>-<system>`.

    Raises:
        InputError: the name cannot be that of a folder.
    """
    name = f"{values.model.name}-{values.system.name}" if values.study is None else values.study
    if not _FOLDER_NAME.fullmatch(name):
        raise InputError(
            f"study is '{name}'; it names a folder: a letter or digit, then letters, digits or any of ._+-"
        )
    return name


def to_config(values: ConfigSchema, resolved: str) -> Config:
    """Check all values and convert them to frozen specifications; `resolved` is the same as YAML.

    Raises:
        InputError: a value breaks a rule; names the key, what was got and what is allowed.
    """
    _choice("format", values.format, FORMATS)
    _choice("executor.name", values.executor.name, EXECUTORS)
    if values.executor.threads is not None and values.executor.threads < 1:
        raise InputError(f"executor.threads is {values.executor.threads}; it must be at least 1, or null")
    if not values.results_dir or values.export == "":
        raise InputError(
            f"{'export' if values.results_dir else 'results_dir'} is empty; it must name a folder"
        )
    return Config(
        study=study_name(values),
        results_dir=Path(values.results_dir),
        memory_cap=values.memory_cap,
        memory_cap_bytes=parse_bytes(values.memory_cap, "memory_cap"),
        workload=_workload(values),
        output_format=cast(Literal["table", "json"], values.format),
        export=None if values.export is None else Path(values.export),
        model=_model(values),
        system=_system(values.system),
        strategy=Strategy(**asdict(values.strategy)),
        space=DesignSpace(**{key: _frozen(value) for key, value in asdict(values.space).items()}),
        search=_search(values),
        executor=ExecutorSettings(**asdict(values.executor)),
        simulator=_simulator(values),
        resolved=resolved,
    )


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
    if search.name == "random" and (search.samples is None or search.samples < 1):
        raise InputError(f"search.samples is {search.samples}; it must be an integer of at least 1")
    if search.name == "exhaustive" and search.samples is not None:
        raise InputError(
            f"search.samples is {search.samples}, but search is exhaustive; write search=random too"
        )
    return SearchSettings(search.name, search.samples, search.seed)


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


def _unused(group: str, values: SimulatorSchema | WorkloadSchema, choice: str, keys: tuple[str, ...]) -> None:
    """Refuse keys that the choice of the group does not know: they belong to another one."""
    for key in keys:
        value = getattr(values, key)
        if value is not None:
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
