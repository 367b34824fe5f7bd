"""Composing conf/ and overrides with Hydra's compose API; Hydra is imported only when it is needed."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError, excerpt
from dse.base.files import conf_folder
from dse.base.records import MisfitError, converted
from dse.base.settings import MISSING
from dse.base.settings.grammar import PlainWord
from dse.base.settings.keywords import checked_overrides
from dse.inputs.accelerators import FRAMEWORK, Accelerator
from dse.inputs.models.huggingface import ModelFile
from dse.inputs.systems.fields import DEFAULT_MEMORY_BYTES
from dse.inputs.systems.settings import complete_cluster, complete_types
from dse.simulation.simulators.settings import SIMULATORS
from dse.simulation.workloads.settings import WORKLOADS
from dse.studies.config.messages import one_line
from dse.studies.config.overrides import choices_of, in_one_study, parsed_overrides
from dse.studies.config.own_files import GROUPS, REFERENCE, add_choice, add_model, is_path, texts_of
from dse.studies.config.plain import plain_values
from dse.studies.config.schema import ConfigSchema, refuse_unused
from dse.studies.config.settings import Config, study_name, to_config
from dse.studies.executors.settings import EXECUTORS
from dse.studies.search.settings import SEARCHES
from dse.studies.space.settings import framework_that_runs

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

_GROUPS_AS_AXES = ("model", "system")
_MODEL_FILE = "model.file"  # chooses a model as model=PATH.json does, whatever the file is called


def compose_configs(
    overrides: Sequence[str], *, command: str = "", folder: Path | None = None
) -> list[Config]:
    """Return a configuration for each combination of comma-separated values: `model=tiny,llama70b`.

    Raises:
        InputError: as `compose_config`.
    """
    parsed = parsed_overrides(overrides)
    if command:
        refuse_unused(parsed, command)
    choices = [choices_of(override) for override in parsed]
    return [
        compose_config(combination, command=command, folder=folder)
        for combination in itertools.product(*choices)
    ]


def compose_config(overrides: Sequence[str], *, command: str = "", folder: Path | None = None) -> Config:
    """Return the configuration that conf/ and the overrides yield.

    Overrides are written in Hydra's grammar: `system=dgx16`, `model.d_ff=1024`, `space.tp=[1,2]`. A choice of
    a group may be a file: `system=mine.yaml`; `model.file=config.json` is one of the Hugging Face Hub. Groups
    are searched in `folder` first, then in conf/. The axes
    `space.axes.model` and `space.axes.system` list files of conf/model and conf/system. Overrides that
    `command` (sweep, point) does not use are refused.

    Raises:
        InputError: in one line, the key, what was got and what is allowed.
    """
    parsed = parsed_overrides(checked_overrides("compose_config", overrides))
    for override in parsed:
        if not isinstance(override, PlainWord) and override.is_sweep_override():
            raise InputError(
                f"override '{override.input_line}' lists several values: add -m for one sweep each"
                f"{in_one_study(override)}"
            )
    if command:
        refuse_unused(parsed, command)
    chosen = {override.key_or_group for override in parsed}
    if {"model", _MODEL_FILE} <= chosen:
        raise InputError("model.file and model choose a model each; leave one of them out")
    if _MODEL_FILE in chosen:
        chosen.add("model")
    source = _Source(parsed, folder)
    values, resolved = source.composed()
    if command in ("sweep", "explore") and (space := _space_of(source, values, chosen)):
        source = _Source([*parsed, *parsed_overrides(space)], folder)
        values, resolved = source.composed()
    variants: dict[str, list[ConfigSchema]] = {}
    for group in _GROUPS_AS_AXES:
        names = values.space.axes.pop(group, None)
        if names is None:
            variants[group] = [values]
            continue
        if group in chosen:
            raise InputError(
                f"{group}=… chooses one {group}, but space.axes.{group} lists {names}; "
                f"write space.axes.{group}=[…] instead"
            )
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise InputError(f"space.axes.{group} is {names}; it must list names of conf/{group}, or files")
        if len(set(names)) < len(names):
            raise InputError(f"space.axes.{group} lists a name more than once; its values must differ")
        variants[group] = [source.composed((group, name))[0] for name in names]
    try:
        config = to_config(values, resolved, variants["model"], variants["system"])
    except InputError as error:
        raise InputError(f"{source.file_of(str(error))}{error}") from None
    return dataclasses.replace(config, notes=source.notes(chosen))


def _space_of(source: _Source, values: ConfigSchema, chosen: Collection[str]) -> list[str]:
    """Return overrides for the space of training plans where points are predicted and no space is chosen.

    On an accelerator without bf16, its plans run in fp16. They are of the framework that must be able to run
    them, or else of the accelerator's.
    """
    if {"space", "experiment"} & set(chosen):
        return []
    first = {}
    for group in _GROUPS_AS_AXES:
        names = values.space.axes.get(group)
        is_listed = isinstance(names, list) and names and isinstance(names[0], str)
        first[group] = source.composed((group, names[0]))[0] if is_listed and names else values
    model, system = first["model"].model, first["system"].system
    if system.accelerator is None or model.fidelity != "realistic":
        return []
    space = ["space=training" if model.experts.count is None else "space=training_moe"]
    chip = Accelerator.named(system.accelerator, "system.accelerator")
    framework = framework_that_runs(values.space.launchable) or chip.framework
    if framework != FRAMEWORK and not {"space.framework", "space.axes.strategy.framework"} & set(chosen):
        space.append(f"space.framework=[{framework}]")
    if "bf16" not in chip.peak_tflops and not {"space.precision", "space.axes.strategy.precision"} & set(
        chosen
    ):
        space.append("space.precision=[fp16]")
    return space


class _Source:
    """Where values come from: conf/, a folder and files of the user, and overrides."""

    def __init__(self, parsed: Sequence[Override | PlainWord], folder: Path | None) -> None:
        """Files that overrides choose become choices of their groups."""
        self._folder = folder
        self._files: dict[str, Path] = {}
        self._models: list[ModelFile] = []
        self._overrides = [self._with_file(override) for override in parsed]

    def composed(self, choice: tuple[str, str] | None = None) -> tuple[ConfigSchema, dict[str, Any]]:
        """Return the checked values, and the same as plain data; `choice` is (group, one more choice).

        Raises:
            InputError: as `compose_config`.
        """
        overrides = self._overrides
        if choice is not None:
            overrides = [*overrides, f"{choice[0]}={self._choice(*choice)}"]
        try:
            return _composed(overrides, self._folder, self._files)
        except InputError as error:
            raise InputError(f"{self.file_of(str(error))}{error}") from None

    def file_of(self, message: str) -> str:
        """Return `"PATH: "` for a message about a key that a file of the user sets, else an empty text."""
        key = message.partition(" ")[0]
        group = key.partition(".")[0]
        files = [str(path) for choice, path in self._files.items() if choice.startswith(f"{group}/")]
        overridden = any(override.lstrip("+").startswith(f"{group}.") for override in self._overrides)
        return f"{' or '.join(files)}: " if files and "." in key and not overridden else ""

    def notes(self, chosen: Collection[str]) -> tuple[str, ...]:
        """Return what to know of configurations of the Hub, but for keys that the user has `chosen`."""
        notes: list[str] = []
        for model in self._models:
            notes += model.notes
            notes += [note for key, note in model.assumed.items() if f"model.{key}" not in chosen]
        return tuple(notes)

    def _with_file(self, override: Override | PlainWord) -> str:
        line, group, value = str(override.input_line), override.key_or_group, override.value()
        if group == _MODEL_FILE and isinstance(value, str):
            return f"model={self._model(value, line)}"
        return f"{group}={self._choice(group, value)}" if group in GROUPS and isinstance(value, str) else line

    def _choice(self, group: str, name: str) -> str:
        """Return the name of a choice; what is a file of the user's becomes one."""
        path = name
        if group == "model" and name.endswith(".json"):
            return self._model(name, f"model={name}")
        if not is_path(name):
            own = None if self._folder is None else self._folder / group / f"{name}.yaml"
            if own is None or not own.is_file():
                return name
            path = str(own)
        choice, file = add_choice(group, path)
        self._files[f"{group}/{choice}"] = file
        return choice

    def _model(self, path: str, where: str) -> str:
        """Return the name of the choice that a configuration of the Hub becomes."""
        choice, file, model = add_model(path, where)
        self._files[f"model/{choice}"] = file
        self._models.append(model)
        return choice


def _with_installed(compose: Callable[[], Any]) -> Any:
    """Compose; where a choice is missing, again with the choices that installed packages add.

    A package that adds a simulator needs no file for it: its choice is `name`, and it has `options`.
    """
    from hydra.core.config_store import ConfigStore
    from hydra.errors import MissingConfigException

    try:
        return compose()
    except MissingConfigException:
        for choices in (SIMULATORS, WORKLOADS, SEARCHES, EXECUTORS):
            for name in choices.installed():
                ConfigStore.instance().store(name, {"name": name}, group=choices.group)
        return compose()


def _composed(
    overrides: Sequence[str], folder: Path | None, files: Mapping[str, Path]
) -> tuple[ConfigSchema, dict[str, Any]]:
    """Return the checked values, and the same as plain data."""
    values = _plainly(overrides) if folder is None and not files else None
    values = values or _by_hydra(overrides, folder, files)
    values.study = study_name(values)
    says_memory = values.system.accelerator is not None or values.system.npu_types
    if values.memory_cap is None and not says_memory and "system" not in values.space.axes:
        values.memory_cap = f"{DEFAULT_MEMORY_BYTES // 10**9}GB"
    written = dataclasses.asdict(values)
    written["run"] = {name: text for name, text in written["run"].items() if text is not None}
    return values, written


def _plainly(overrides: Sequence[str]) -> ConfigSchema | None:
    """Return the values without Hydra; None where it is needed, and where it has to say what is wrong."""
    plain = plain_values(overrides)
    if plain is None:
        return None
    try:
        _complete(plain, None)
        found: ConfigSchema = converted(plain, ConfigSchema, "")
    except (InputError, AttributeError, LookupError, TypeError, ValueError, OverflowError):
        return None  # a value of another type, which no schema has checked here
    unknown = any(REFERENCE in text or text == MISSING for _, text in texts_of(plain))
    return None if unknown else found


def _by_hydra(overrides: Sequence[str], folder: Path | None, files: Mapping[str, Path]) -> ConfigSchema:
    """Return the checked values."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    from dse.studies.config.own_folder import check_search_path

    _store_schema()
    try:
        with initialize_config_dir(str(conf_folder()), version_base="1.3"):
            check_search_path(GlobalHydra.instance().config_loader().get_search_path(), folder)
            again = "hydra.searchpath=[]"  # makes Hydra look at its search path again
            composed = _with_installed(lambda: compose("config", overrides=[*overrides, again]))
        plain: Any = OmegaConf.to_container(composed, resolve=True)
        _complete(plain, folder)
        _refuse_references(plain)  # the next step would follow them
        return _typed(plain)
    except (HydraException, OmegaConfBaseException, YAMLError, TypeError, ValueError, OverflowError) as error:
        raise InputError(one_line(error, overrides, folder, files)) from None
    except OSError as error:  # Hydra looks for a file of a choice's name
        raise InputError(
            f"{excerpt(Path(str(error.filename)).stem)} cannot be used: {error.strerror}"
        ) from None


@functools.cache
def _store_schema() -> None:
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store(name="schema", node=ConfigSchema)


def _typed(plain: dict[str, Any]) -> ConfigSchema:
    """Return values as the schema declares them.

    OmegaConf takes a tenth of a second, and is asked only where something does not fit: it converts it, or
    says what is wrong. Hydra lets +key=value add keys that the schema does not have.
    """
    from omegaconf import OmegaConf

    if MISSING not in (text for _, text in texts_of(plain)):
        with contextlib.suppress(MisfitError):
            found: ConfigSchema = converted(plain, ConfigSchema, "")
            return found
    values = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(ConfigSchema), plain))
    assert isinstance(values, ConfigSchema)
    return values


def _refuse_references(values: dict[str, Any]) -> None:
    for key, text in texts_of(values):
        if REFERENCE in text:
            raise InputError(f"{excerpt(key)} is '{excerpt(text)}'; a value cannot have the characters ${{")


def _complete(values: dict[str, Any], folder: Path | None) -> None:
    """Find accelerators of the user's own, and fill in what follows from that of the system."""
    named = values["space"]["axes"].get("system.accelerator")
    system = values["system"]
    system["accelerator"] = _own_accelerator(system["accelerator"], folder)
    if isinstance(named, list):
        values["space"]["axes"]["system.accelerator"] = [_own_accelerator(name, folder) for name in named]
    complete_cluster(system)
    complete_types(system)


def _own_accelerator(name: Any, folder: Path | None) -> Any:
    """The path of a file of the user's folder, where there is one of this name."""
    if folder is None or not isinstance(name, str) or is_path(name):
        return name
    path = folder / "accelerator" / f"{name}.yaml"
    return str(path) if path.is_file() else name
