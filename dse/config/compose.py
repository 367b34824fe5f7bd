"""Composing conf/ and overrides with Hydra's compose API; Hydra is imported only when it is needed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import dse
from dse.config.messages import one_line
from dse.config.schema import ConfigSchema
from dse.config.settings import Config, study_name, to_config
from dse.errors import InputError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override

_PLAIN = (str, int, float, bool, list, dict, type(None))
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


def compose_configs(overrides: Sequence[str]) -> list[Config]:
    """Return a configuration for each combination of comma-separated values: `model=tiny,llama70b`.

    Raises:
        InputError: as `compose_config`.
    """
    parsed = _parsed(overrides)
    choices = [_choices(override) for override in parsed]
    return [compose_config(combination) for combination in itertools.product(*choices)]


def compose_config(overrides: Sequence[str]) -> Config:
    """Return the configuration that conf/ and the overrides yield.

    Overrides are written in Hydra's grammar: `system=dgx16`, `model.d_ff=1024`, `space.tp=[1,2]`. The axes
    `space.axes.model` and `space.axes.system` list files of conf/model and conf/system.

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
    values, resolved = _composed(overrides)
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
            raise InputError(f"space.axes.{group} is {names}; it must list names of conf/{group}")
        if odd := [name for name in names if "/" in name or "\\" in name]:
            raise InputError(f"space.axes.{group} lists '{odd[0]}'; it must list names of conf/{group}")
        if len(set(names)) < len(names):
            raise InputError(f"space.axes.{group} lists a name more than once; its values must differ")
        variants[group] = [_composed([*overrides, f"{group}={name}"])[0] for name in names]
    return to_config(values, resolved, variants["model"], variants["system"])


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
    return [f"{override.get_key_element()}={value}" for value in override.sweep_string_iterator()]


def _as_axis(override: Override) -> str:
    key, values = override.key_or_group, ",".join(override.sweep_string_iterator())
    return f"space.axes={{{key}:[{values}]}}"


def _parsed(overrides: Sequence[str]) -> list[Override]:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        return list(OverridesParser.create().parse_overrides(list(overrides)))
    except HydraException as error:
        raise InputError(one_line(error, overrides)) from None


def _composed(overrides: Sequence[str]) -> tuple[ConfigSchema, str]:
    """Return the checked values, and the same as YAML."""
    from hydra import compose, initialize_config_dir
    from hydra.core.config_store import ConfigStore
    from hydra.errors import HydraException
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    ConfigStore.instance().store(name="schema", node=ConfigSchema)
    try:
        with initialize_config_dir(str(conf_folder()), version_base="1.3"):
            composed = compose("config", overrides=list(overrides))
        # Hydra lets +key=value add keys that the schema does not have; a merge into a fresh schema does not.
        plain = OmegaConf.to_container(composed, resolve=True)
        config = OmegaConf.merge(OmegaConf.structured(ConfigSchema), plain)
        values = OmegaConf.to_object(config)
    except (HydraException, OmegaConfBaseException, YAMLError, TypeError, ValueError) as error:
        raise InputError(one_line(error, overrides)) from None
    assert isinstance(values, ConfigSchema)
    values.study = config.study = study_name(values)
    return values, OmegaConf.to_yaml(config)
