"""The schema of conf/: the keys of the top, and the groups that the nouns declare. Values stand in conf/."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.base.settings import group, key
from dse.base.settings.grammar import PlainWord
from dse.inputs.models.settings import ModelSchema
from dse.inputs.strategies.settings import StrategySchema
from dse.inputs.systems.settings import SystemSchema
from dse.prediction.runs.settings import RunSchema
from dse.simulation.simulators.settings import SimulatorSchema
from dse.simulation.workloads.settings import WorkloadSchema
from dse.studies.executors.settings import ExecutorSchema
from dse.studies.search.settings import SearchSchema
from dse.studies.space.settings import SpaceSchema

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override


@dataclass
class ConfigSchema:
    """The whole configuration, conf/config.yaml."""

    study: str | None = key(
        "name of the study and of its folder; null: `<model>-<system>`, where these are axes "
        "with all their names, joined by `+`",
        only="sweep",
        instead="which stores nothing; leave it out, or write python -m dse.sweep",
    )
    results_dir: str = key(
        "folder of studies",
        only="sweep explore",
        instead="which stores nothing; leave it out, or write python -m dse.sweep",
    )
    memory_cap: str | None = key(
        "largest peak memory of a rank, with a unit: B, kB, MB, GB, TB (powers of 1000), KiB,"
        " MiB, GiB, TiB (powers of 1024); null: the memory of the accelerator, 80GB on systems without one",
        only="sweep explore",
        instead="which prints the peak memory of its point, whatever it is; leave it out",
    )
    recompute: list[str] = key(
        "`failed`, `timeout`, or both: points of the study with this status are evaluated "
        "[again](results.md#columns)",
        factory=list,
        only="sweep",
        instead="which always evaluates anew; leave it out",
    )
    export: str | None = key(
        "folder for traces and ASTRA-sim's files",
        only="point",
        instead="which writes no traces; write python -m dse point strategy.dp=… export={value}",
    )
    format: str = key(
        "table or json",
        only="point",
        instead="which has no other format; for JSON write python -m dse best results/STUDY --json",
    )
    objective: str = key(
        "the figure by which the answer names the best: `step`, or of the run that `run` describes"
        " `expected_time`, `cost` or `energy`, see [runs.md](runs.md)",
        "step",
        only="sweep",
        instead="which ranks nothing; leave it out, or write python -m dse.sweep",
    )
    run: RunSchema = group(
        RunSchema,
        only="sweep explore",
        instead="which evaluates one step; write dse run {name}={value}",
    )
    workload: WorkloadSchema = group(WorkloadSchema)
    strategy: StrategySchema = group(  # type: ignore[valid-type]
        StrategySchema,
        only="point",
        instead="which takes every strategy of the space; write space.{name}=[{value}]",
    )
    system: SystemSchema = group(SystemSchema)
    model: ModelSchema = group(ModelSchema)
    space: SpaceSchema = group(
        SpaceSchema,
        only="sweep explore",
        instead="which evaluates one strategy; write strategy.dp=…, strategy.tp=…, or python -m dse.sweep",
    )
    search: SearchSchema = group(
        SearchSchema,
        only="sweep",
        instead="which searches nothing; leave it out, or write python -m dse.sweep",
    )
    executor: ExecutorSchema = group(
        ExecutorSchema,
        only="sweep",
        instead="which needs no workers; leave it out, or write python -m dse.sweep",
    )
    simulator: SimulatorSchema = group(SimulatorSchema)


_WORDS = {"int": "integer", "float": "number", "str": "text", "bool": "true or false", "NoneType": "null"}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A key of the configuration."""

    name: str
    kind: str
    meaning: str
    astrasim: str
    default: Any


def entries(schema: type, prefix: str = "") -> Iterator[Entry]:
    """Every key of a schema, those of groups and of entries of lists included."""
    hints = typing.get_type_hints(schema)
    for field in dataclasses.fields(schema):
        hint = hints[field.name]
        (inner,) = typing.get_args(hint) if typing.get_origin(hint) is list else (hint,)
        name = f"{prefix}{field.name}"
        if dataclasses.is_dataclass(inner):
            assert isinstance(inner, type)
            yield from entries(inner, f"{name}." if inner is hint else f"{name}.N.")
            continue
        factory = field.default_factory
        default = field.default if factory is dataclasses.MISSING else factory()
        meaning, astrasim = field.metadata["meaning"], field.metadata["astrasim"]
        if not prefix and field.metadata["only"]:
            meaning = f"{commands_text(field.metadata['only'].split())} only: {meaning}"
        yield Entry(name, _kind(hint), meaning, astrasim, default)


def commands_text(commands: Sequence[str]) -> str:
    """Name commands, as "`dse sweep` and `dse explore`"."""
    return " and ".join(f"`dse {command}`" for command in commands)


def _kind(hint: Any) -> str:
    arguments = typing.get_args(hint)
    if isinstance(hint, types.UnionType):
        return ", ".join(_kind(argument) for argument in arguments)
    if typing.get_origin(hint) is list:
        return f"list of {_kind(arguments[0])}".replace("list of integer", "list of integers")
    if typing.get_origin(hint) is dict:
        return "values by name" if arguments[1] is Any else "lists by name"
    return _WORDS[hint.__name__]


def refuse_unused(overrides: Sequence[Override | PlainWord], command: str) -> None:
    """Refuse what the user overrides although the command does not use it; files of conf/ may set anything.

    Raises:
        InputError: names the override, the command, and what to write instead.
    """
    for override in overrides:
        line = str(override.input_line)
        only, instead = use_of(override.key_or_group)
        if only and command not in only:
            name, value = override.key_or_group.rpartition(".")[2], line.partition("=")[2]
            if name == "strategy" or not value:  # a group of keys, or a key that is removed
                name, value = "dp" if name == "strategy" else name, "…"
            raise InputError(
                f"{line} has no effect on dse {command}, {instead.format(name=name, value=value)}"
            )


def use_of(name: str) -> tuple[tuple[str, ...], str]:
    """Return the commands that use a key or group (empty: all do), and what others say instead."""
    only: tuple[str, ...] = ()
    instead = ""
    schema: Any = ConfigSchema
    for part in name.split("."):
        if not dataclasses.is_dataclass(schema):
            break
        found = next((field for field in dataclasses.fields(schema) if field.name == part), None)
        if found is None:
            break
        only = tuple(found.metadata.get("only", "").split()) or only
        instead = found.metadata.get("instead") or instead
        schema = typing.get_type_hints(schema)[part]
    return only, instead
