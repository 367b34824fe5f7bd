"""All models and systems of conf/ at once, without Hydra, which takes a tenth of a second for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dse.base.files import conf_folder
from dse.base.records import converted
from dse.inputs.models import ModelSpec
from dse.inputs.models.settings import ModelSchema, model_spec
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.settings import SystemSchema, complete_cluster, complete_types


def models_of_conf() -> Iterator[tuple[str, ModelSpec]]:
    """Yield the models of conf/model by the names of their files, as `compose_config` makes them.

    Raises:
        InputError: a file breaks a rule.
    """
    for name, values in _choices("model", ModelSchema):
        yield name, model_spec(ModelSchema(**values))


def systems_of_conf() -> Iterator[tuple[str, SystemSpec]]:
    """The same of conf/system.

    Raises:
        InputError: a file breaks a rule.
    """
    for name, values in _choices("system", SystemSchema):
        complete_cluster(values)
        complete_types(values)
        yield name, converted(values, SystemSpec, "system")


def _choices(group: str, schema: type) -> Iterator[tuple[str, dict[str, Any]]]:
    """Files of a group, over what config.yaml says of it and over the schema."""
    import yaml
    from omegaconf import OmegaConf

    common = yaml.safe_load((conf_folder() / "config.yaml").read_text(encoding="utf-8")).get(group)
    base = OmegaConf.merge(OmegaConf.structured(schema), common or {})
    for path in sorted((conf_folder() / group).glob("*.yaml")):
        values: Any = OmegaConf.to_container(OmegaConf.merge(base, OmegaConf.load(path)))
        yield path.stem, values
