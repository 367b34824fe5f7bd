"""The frozen configuration that the rest of the package sees, converted once from the schema."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

from dse.config.schema import ConfigSchema, SystemSchema
from dse.errors import InputError
from dse.models import ModelSpec
from dse.simulators.native import EngineMethod
from dse.strategies import DesignSpace, Strategy
from dse.suggestions import did_you_mean
from dse.systems import CollectiveAlgorithms, Derating, Dimension, LinkFault, RemoteMemory, SystemSpec
from dse.units import parse_bytes

DIVISIBILITIES = ("stage", "strict")
FORMATS = ("table", "json")
SEARCHES = ("exhaustive", "random")
EXECUTORS = ("local",)
SIMULATORS = ("native",)
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
    """What evaluates a point; `engine` is auto (by classes of ranks where proven) or general (every rank)."""

    name: str
    engine: EngineMethod


@dataclass(frozen=True)
class Config:
    """The configuration of one command.

    `memory_cap` is the cap as the user wrote it, `memory_cap_bytes` its value; `divisibility` is stage or
    strict; `strategy` and `export` are for a single point, `space` and `search` for a sweep; `output_format`
    (the key `format`) is table or json. `resolved` is the configuration as YAML, with all defaults and
    overrides in place.
    """

    study: str
    results_dir: Path
    memory_cap: str
    memory_cap_bytes: int
    divisibility: Literal["stage", "strict"]
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
    _choice("workload.divisibility", values.workload.divisibility, DIVISIBILITIES)
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
        divisibility=cast(Literal["stage", "strict"], values.workload.divisibility),
        output_format=cast(Literal["table", "json"], values.format),
        export=None if values.export is None else Path(values.export),
        model=ModelSpec(**asdict(values.model)),
        system=_system(values.system),
        strategy=Strategy(**asdict(values.strategy)),
        space=DesignSpace(**{key: _frozen(value) for key, value in asdict(values.space).items()}),
        search=_search(values),
        executor=ExecutorSettings(**asdict(values.executor)),
        simulator=_simulator(values),
        resolved=resolved,
    )


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


def _simulator(values: ConfigSchema) -> SimulatorSettings:
    simulator = values.simulator
    _choice("simulator.name", simulator.name, SIMULATORS)
    for engine in ENGINES:
        if simulator.engine == engine:
            return SimulatorSettings(simulator.name, engine)
    raise InputError(f"simulator.engine is '{simulator.engine}'; allowed are {', '.join(ENGINES)}")


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _choice(key: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        hint = did_you_mean(value, allowed)
        raise InputError(f"{key} is '{value}'; allowed are {', '.join(allowed)}{hint}")
