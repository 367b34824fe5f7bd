"""Parts of a model that execution traces cannot show, and only predictions can."""

from __future__ import annotations

from dse.base.errors import InputError
from dse.inputs.models.spec import ModelSpec

_GROUPS = ("windows", "sparse_attention", "layer_pattern", "lora")


def untraceable(model: ModelSpec) -> tuple[str, ...]:
    """Return the fields of a model that change its layers in a way that no generated trace has."""
    has = {
        "experts": model.experts is not None,
        "latent_attention": model.latent_attention is not None,
        "head_dim": model.head_dim is not None and model.head_dim * model.num_heads != model.d_model,
        "prediction_layers": model.prediction_layers > 0,
        **{key: getattr(model, key) is not None for key in _GROUPS},
    }
    return tuple([key for key, is_there in has.items() if is_there])


def refuse_untraceable(model: ModelSpec) -> None:
    """Refuse a model of which a trace would show another one.

    Raises:
        InputError: names what traces lack, and what does not.
    """
    fields = [f"model.{key}" for key in untraceable(model)]
    if fields:
        named = " and ".join(filter(None, (", ".join(fields[:-1]), fields[-1])))
        raise InputError(
            f"model {model.name} has {named}, which no execution trace can show; only predictions can: "
            "model.fidelity=realistic on a cluster of accelerators, such as system=dgx_h100"
        )
