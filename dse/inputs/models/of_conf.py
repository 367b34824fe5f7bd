"""The models of conf/model, all at once."""

from __future__ import annotations

from collections.abc import Iterator

from dse.base.settings.group_files import files_of_group
from dse.inputs.models.settings import ModelSchema, model_spec
from dse.inputs.models.spec import ModelSpec


def models_of_conf() -> Iterator[tuple[str, ModelSpec]]:
    """Yield the models of conf/model by the names of their files.

    Raises:
        InputError: a file breaks a rule.
    """
    for name, values in files_of_group("model", ModelSchema):
        yield name, model_spec(ModelSchema(**values))
