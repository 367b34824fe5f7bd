"""Settings of a model: keys, types, meanings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from dse.base.errors import InputError
from dse.base.records import converted
from dse.base.settings.group_files import files_of_group
from dse.base.settings.schemas import schema_of
from dse.inputs.models.spec import ModelSpec

ModelSchema: Any = schema_of(ModelSpec)
"""The keys of conf/model/*.yaml."""


def model_spec(values: Any) -> ModelSpec:
    """Return the model that the settings describe.

    Raises:
        InputError: a value breaks a rule; names the key, what was got and what is allowed.
    """
    plain = asdict(values)
    for name in ("experts", "windows", "sparse_attention", "state_space", "lora"):
        plain[name] = _group(plain[name])
    latent = _group(plain["latent_attention"])
    plain["latent_attention"] = None if latent is None else {"query_rank": None, **latent}
    spec: ModelSpec = converted(plain, ModelSpec, "model")
    check_head_width(spec)
    return spec


def check_head_width(spec: ModelSpec) -> None:
    """Refuse a realistic model whose heads have no whole width, as no framework trains it.

    Raises:
        InputError: its heads do not divide d_model, and nothing else says their width.
    """
    has_width = spec.head_dim is not None or spec.latent_attention is not None
    if spec.fidelity == "realistic" and not has_width and spec.d_model % spec.num_heads:
        raise InputError(  # a step would be that of narrower heads
            f"model.d_model is {spec.d_model}, which model.num_heads, {spec.num_heads}, does not divide; "
            "change one, or write model.head_dim, the width of a head"
        )


def _group(values: dict[str, Any]) -> dict[str, Any] | None:
    """The keys that have a value: others are what the specification says; None if none has."""
    return {name: value for name, value in values.items() if value is not None} or None


def models_of_conf() -> Iterator[tuple[str, ModelSpec]]:
    """Yield the models of conf/model by the names of their files.

    Raises:
        InputError: a file breaks a rule.
    """
    for name, values in files_of_group("model", ModelSchema):
        yield name, model_spec(ModelSchema(**values))
