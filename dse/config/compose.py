"""Composing conf/ and overrides with Hydra's compose API; Hydra is imported only when it is needed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dse
from dse.config.grammar import parse_problem
from dse.config.messages import one_line
from dse.config.own_files import GROUPS, add_choice, is_path
from dse.config.schema import ConfigSchema
from dse.config.settings import Config, study_name, to_config
from dse.config.uses import refuse_unused
from dse.errors import InputError
from dse.executors.settings import EXECUTORS
from dse.search.settings import SEARCHES
from dse.simulators.settings import SIMULATORS
from dse.workloads.settings import WORKLOADS

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

_PLAIN = (str, int, float, bool, list, dict, type(None))
_MAX_LISTED = 1000
_GROUPS_AS_AXES = ("model", "system")


def conf_folder() -> Path:
    """Return the folder of the configuration: inside an installed package, or next to it in a source tree.

    Raises:
        InputError: neither exists.
    """
    package = Path(dse.__file__).resolve().parent
    for folder in (package / "conf", package.parent / "conf"):
        if (folder / "config.yaml").is_file():
            return folder
    raise InputError(
        f"no configuration: neither {package / 'conf'} nor {package.parent / 'conf'} has config.yaml"
    )


def compose_configs(
    overrides: Sequence[str], *, command: str = "", folder: Path | None = None
) -> list[Config]:
    """Return a configuration for each combination of comma-separated values: `model=tiny,llama70b`.

    Raises:
        InputError: as `compose_config`.
    """
    parsed = _parsed(overrides)
    if command:
        refuse_unused(parsed, command)
    choices = [_choices(override) for override in parsed]
    return [
        compose_config(combination, command=command, folder=folder)
        for combination in itertools.product(*choices)
    ]


def compose_config(overrides: Sequence[str], *, command: str = "", folder: Path | None = None) -> Config:
    """Return the configuration that conf/ and the overrides yield.

    Overrides are written in Hydra's grammar: `system=dgx16`, `model.d_ff=1024`, `space.tp=[1,2]`. A choice of
    a group may be a file: `system=mine.yaml`; groups are searched in `folder` first, then in conf/. The axes
    `space.axes.model` and `space.axes.system` list files of conf/model and conf/system. Overrides that
    `command` (sweep, point) does not use are refused.

    Raises:
        InputError: in one line, the key, what was got and what is allowed.
    """
    parsed = _parsed(overrides)
    for override in parsed:
        if override.is_sweep_override():
            raise InputError(
                f"override '{override.input_line}' lists several values: add -m for one sweep each; "
                f"one study over all of them is an axis, {_as_axis(override)}"
            )
    if command:
        refuse_unused(parsed, command)
    source = _Source(parsed, folder)
    values, resolved = source.composed()
    chosen = {override.key_or_group for override in parsed}
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
        return to_config(values, resolved, variants["model"], variants["system"])
    except InputError as error:
        raise InputError(f"{source.file_of(str(error))}{error}") from None


class _Source:
    """Where values come from: conf/, a folder and files of the user, and overrides."""

    def __init__(self, parsed: Sequence[Override], folder: Path | None) -> None:
        """Files that overrides choose become choices of their groups."""
        self._folder = folder
        self._files: dict[str, Path] = {}
        self._overrides = [self._with_file(override) for override in parsed]

    def composed(self, choice: tuple[str, str] | None = None) -> tuple[ConfigSchema, str]:
        """Return the checked values, and the same as YAML; `choice` is a group and one more choice of it.

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

    def _with_file(self, override: Override) -> str:
        line, group, value = str(override.input_line), override.key_or_group, override.value()
        return f"{group}={self._choice(group, value)}" if group in GROUPS and isinstance(value, str) else line

    def _choice(self, group: str, name: str) -> str:
        """Return the name of a choice; what is a file of the user's becomes one."""
        path = name
        if not is_path(name):
            own = None if self._folder is None else self._folder / group / f"{name}.yaml"
            if own is None or not own.is_file():
                return name
            path = str(own)
        choice, file = add_choice(group, path)
        self._files[f"{group}/{choice}"] = file
        return choice


def _choices(override: Override) -> list[str]:
    from hydra.core.override_parser.types import ChoiceSweep, RangeSweep

    if not override.is_sweep_override():
        return [str(override.input_line)]
    values = override.value()
    if not isinstance(values, ChoiceSweep | RangeSweep) or (
        isinstance(values, ChoiceSweep) and not all(isinstance(entry, _PLAIN) for entry in values.list)
    ):
        raise InputError(
            f"override '{override.input_line}' is no list of values; write KEY=A,B,C or KEY=range(1,9)"
        )
    return [f"{override.get_key_element()}={value}" for value in _listed(override)]


def _listed(override: Override) -> list[str]:
    from hydra.errors import HydraException

    try:
        values = list(itertools.islice(override.sweep_string_iterator(), _MAX_LISTED + 1))
    except (HydraException, NotImplementedError, ValueError, ArithmeticError):  # glob(*), a step of 0
        values = []
    if not 0 < len(values) <= _MAX_LISTED:
        raise InputError(f"override '{override.input_line}' must list 1 to {_MAX_LISTED} values, as A,B,C")
    return values


def _as_axis(override: Override) -> str:
    key = override.key_or_group
    try:
        values = ",".join(_listed(override))
    except InputError:
        values = "…"
    return f"space.axes={{{key}:[{values}]}}"


def _parsed(overrides: Sequence[str]) -> list[Override]:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parsed: list[Override] = []
    for override in overrides:
        try:
            parsed += OverridesParser.create().parse_overrides([override])
        except HydraException as error:
            raise InputError(parse_problem(error, override)) from None
        key = parsed[-1].key_or_group
        if not key or "@" in override.partition("=")[0]:
            raise InputError(f"override '{override}' names no key; write key=value, such as model.d_ff=1024")
        if key in ("hydra.searchpath", "hydra/searchpath"):
            raise InputError(f"unknown key {key}; for a folder of your own write --config-dir DIR")
        if parsed[-1].is_delete():
            raise InputError(f"override '{override}': {key} cannot be removed; write {key}=VALUE")
        if key in GROUPS and not override.startswith(key):
            raise InputError(f"override '{override}': {key} needs no +; write {override.lstrip('+')}")
        if re.match(r"hydra\b", key):
            raise InputError(f"unknown key {key}; of Hydra only the grammar of overrides is used")
    return parsed


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
) -> tuple[ConfigSchema, str]:
    """Return the checked values, and the same as YAML."""
    from hydra import compose, initialize_config_dir
    from hydra.core.config_store import ConfigStore
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    ConfigStore.instance().store(name="schema", node=ConfigSchema)
    again: list[str] = []
    try:
        with initialize_config_dir(str(conf_folder()), version_base="1.3"):
            if folder is not None:
                search_path = GlobalHydra.instance().config_loader().get_search_path()
                search_path.prepend("the user", f"file://{folder}")
                again = ["hydra.searchpath=[]"]  # makes Hydra look at its search path again
            composed = _with_installed(lambda: compose("config", overrides=[*overrides, *again]))
        # Hydra lets +key=value add keys that the schema does not have; a merge into a fresh schema does not.
        plain = OmegaConf.to_container(composed, resolve=True)
        config = OmegaConf.merge(OmegaConf.structured(ConfigSchema), plain)
        values = OmegaConf.to_object(config)
    except (HydraException, OmegaConfBaseException, YAMLError, TypeError, ValueError) as error:
        raise InputError(one_line(error, overrides, folder, files)) from None
    assert isinstance(values, ConfigSchema)
    values.study = config.study = study_name(values)
    return values, OmegaConf.to_yaml(config)
