"""Composing conf/ and overrides with Hydra's compose API; Hydra is imported only when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import dse
from dse.config.messages import one_line
from dse.config.schema import ConfigSchema
from dse.config.settings import Config, study_name, to_config
from dse.errors import InputError


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


def compose_config(overrides: Sequence[str]) -> Config:
    """Return the configuration that conf/ and the overrides yield.

    Overrides are written in Hydra's grammar: `system=dgx16`, `model.d_ff=1024`, `space.tp=[1,2]`.

    Raises:
        InputError: in one line, the key, what was got and what is allowed.
    """
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
    config.study = study_name(values)
    return to_config(values, OmegaConf.to_yaml(config))
