"""The frozen configuration that the commands see: what the nouns make of their groups of the schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

from dse.base.errors import InputError
from dse.base.lazy import yaml
from dse.base.records import converted
from dse.base.settings import check_choice
from dse.base.units import parse_bytes
from dse.inputs.models import ModelSpec
from dse.inputs.models.huggingface import name_of_file
from dse.inputs.models.settings import model_spec
from dse.inputs.strategies import Divisibility, Strategy, check_values
from dse.inputs.systems import SystemSpec
from dse.prediction.runs.asked import AskedRun
from dse.prediction.runs.settings import check_objective, run_settings
from dse.simulation.simulators.settings import SimulatorSettings, simulator_settings
from dse.simulation.workloads.settings import WorkloadSettings, check_model, workload_settings
from dse.studies.config.own_files import is_path
from dse.studies.config.schema import ConfigSchema
from dse.studies.executors.settings import ExecutorSettings, executor_settings
from dse.studies.search.settings import SearchSettings, search_settings
from dse.studies.space import DesignSpace
from dse.studies.space.settings import design_space
from dse.studies.store import TRANSIENT_STATUSES

_FORMATS = ("table", "json")
_FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}", re.ASCII)


@dataclass(frozen=True)
class Config:
    """The configuration of one command.

    `memory_cap` is the cap as the user wrote it, `memory_cap_bytes` its value; where it is None, the smallest
    memory of an NPU of these systems, each of which is its own cap. `strategy` and `export` are
    for a single point, `space` and `search` for a sweep, where `models` and `systems` are all of its models
    and systems, `model` and `system` the first of each; points whose status is in `recompute` are evaluated
    again; `output_format` (the key `format`) is table or json.
    `run` is the training run that rows have figures of, and `objective` the figure that names the best.
    `resolved` is the configuration as plain data, with all defaults and overrides in place, `notes` what
    users should know of it.
    """

    study: str
    results_dir: Path
    memory_cap: str | None
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
    run: AskedRun | None
    objective: str
    resolved: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def chosen_cap_bytes(self) -> int | None:
        """The cap that the user chose; None means the memory of each system."""
        return None if self.memory_cap is None else self.memory_cap_bytes

    @property
    def divisibility(self) -> Divisibility | None:
        """The rule for sizes that do not divide; None means the rule of the model's fidelity."""
        return self.workload.divisibility

    @property
    def model(self) -> ModelSpec:
        """The first model."""
        return self.models[0]

    @property
    def system(self) -> SystemSpec:
        """The first system."""
        return self.systems[0]


def study_name(values: ConfigSchema) -> str:
    """Return the study's name, by default `<model>-<system>`.

    Several are joined by "+"; what a folder's name cannot have becomes "_".

    Raises:
        InputError: the name that the user chose cannot be that of a folder.
    """
    name = values.study
    if name is None:
        models = values.space.axes.get("model") or [values.model.name]
        systems = values.space.axes.get("system") or [values.system.name]
        joined = ["+".join(map(_stem, names)) for names in (models, systems)]
        return re.sub(r"[^A-Za-z0-9._+-]+", "_", "-".join(joined)).lstrip("._+-")[:200] or "study"
    return checked_study(name)


def checked_study(name: str) -> str:
    """Return the name of a study.

    Raises:
        InputError: it cannot be that of a folder.
    """
    if not _FOLDER_NAME.fullmatch(name):
        raise InputError(
            f"study is '{name}'; it names a folder: a letter or digit, then letters, digits or any of ._+-"
        )
    return name


def _stem(name: object) -> str:
    """Return the name of a choice, which may be a file."""
    return name_of_file(Path(str(name))) if is_path(name) else str(name)


def to_config(
    values: ConfigSchema,
    resolved: Mapping[str, Any],
    of_models: Sequence[ConfigSchema],
    of_systems: Sequence[ConfigSchema],
) -> Config:
    """Check all values and convert them to frozen specifications; `resolved` is the same as plain data.

    The models and systems are those of the configurations `of_models` and `of_systems`.

    Raises:
        InputError: a value breaks a rule; names the key, what was got and what is allowed.
    """
    check_choice("format", values.format, _FORMATS)
    for status in values.recompute:
        check_choice("recompute", status, TRANSIENT_STATUSES)
    if not values.results_dir or values.export == "":
        raise InputError(
            f"{'export' if values.results_dir else 'results_dir'} is empty; it must name a folder"
        )
    strategy: Strategy = converted(asdict(values.strategy), Strategy, "strategy")
    if strategy.beyond_traces():
        check_values(strategy)
    systems = tuple([converted(asdict(variant.system), SystemSpec, "system") for variant in of_systems])
    memory_cap_bytes = (
        min(system.memory_bytes for system in systems)
        if values.memory_cap is None
        else parse_bytes(values.memory_cap, "memory_cap")
    )
    workload = workload_settings(values.workload)
    run = run_settings(values.run)
    check_objective(values.objective, run)
    return Config(
        study=str(values.study),
        results_dir=Path(values.results_dir),
        memory_cap=values.memory_cap,
        memory_cap_bytes=memory_cap_bytes,
        recompute=tuple(values.recompute),
        workload=workload,
        output_format=cast("Literal['table', 'json']", values.format),
        export=None if values.export is None else Path(values.export),
        models=tuple(_model(variant, workload) for variant in of_models),
        systems=systems,
        strategy=strategy,
        space=design_space(values.space),
        search=search_settings(values.search),
        executor=executor_settings(values.executor),
        simulator=simulator_settings(values.simulator),
        run=run,
        objective=values.objective,
        resolved=resolved,
    )


def _model(values: ConfigSchema, workload: WorkloadSettings) -> ModelSpec:
    model = model_spec(values.model)
    check_model(workload, model)
    return model


def resolved_yaml(config: Config) -> str:
    """Return the whole configuration as YAML."""
    return as_yaml(config.resolved)


def as_yaml(values: Mapping[str, Any]) -> str:
    """Return values as OmegaConf writes them: texts that a program may take for others stand in quotes."""

    class Dumper(yaml.SafeDumper):
        pass

    def text_node(dumper: Any, text: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if _is_quoted(text) else None)

    Dumper.add_representer(str, text_node)
    return yaml.dump(values, allow_unicode=True, sort_keys=False, Dumper=Dumper)


def _is_quoted(text: str) -> bool:
    """Whether a text looks like a number, or like yes or no in a letter."""
    if text in ("y", "Y", "n", "N"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True
