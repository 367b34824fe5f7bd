"""The weight matrices of each kind of layer: what parameters, operations and shards are counted from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from dse.inputs.models.spec import ModelSpec

LayerKind = Literal["dense", "expert", "prediction"]
Part = Literal["attention", "feed_forward", "router", "experts", "shared_experts", "projection"]


@dataclass(frozen=True)
class Matrix:
    """`count` equal matrices that map `inputs` to `outputs` features; a token passes through `active`."""

    name: str
    part: Part
    inputs: int
    outputs: int
    count: int = 1
    active: int = 1
    has_bias: bool = False

    @property
    def weights(self) -> int:
        """Elements of all of them, without biases."""
        return self.count * self.inputs * self.outputs

    @property
    def active_weights(self) -> int:
        """Elements that a token meets, without biases."""
        return self.active * self.inputs * self.outputs

    @property
    def biases(self) -> int:
        """Elements of all biases."""
        return self.count * self.outputs if self.has_bias else 0

    @property
    def active_biases(self) -> int:
        """Elements of the biases that a token meets."""
        return self.active * self.outputs if self.has_bias else 0


def layer_kinds(model: ModelSpec) -> tuple[tuple[LayerKind, int], ...]:
    """How many layers there are of each kind, in the order in which they run.

    Kinds without layers are left out; prediction layers, which predict further tokens, stand last.
    """
    dense = model.num_layers if model.experts is None else model.experts.dense_layers
    counts: tuple[tuple[LayerKind, int], ...] = (
        ("dense", dense),
        ("expert", model.num_layers - dense),
        ("prediction", model.prediction_layers),
    )
    return tuple([(kind, count) for kind, count in counts if count])


@lru_cache(maxsize=256)
def matrices(model: ModelSpec, kind: LayerKind) -> tuple[Matrix, ...]:
    """Return the matrices of one layer, in the order of its forward pass.

    A prediction layer (DeepSeek-V3, https://arxiv.org/abs/2412.19437, section 2.2) joins hidden state and
    embedding of the next token by a projection, and goes on as the model's last kind of layer.
    """
    if kind == "prediction":
        inner: LayerKind = "dense" if model.experts is None else "expert"
        return (Matrix("projection", "projection", 2 * model.d_model, model.d_model), *matrices(model, inner))
    blocks = _experts(model) if kind == "expert" else _feed_forward(model, "feed_forward", model.d_ff)
    return (*_attention(model), *blocks)


def _attention(model: ModelSpec) -> tuple[Matrix, ...]:
    latent = model.latent_attention
    with_bias = model.biases
    output = Matrix(
        "output", "attention", model.num_heads * model.value_width, model.d_model, has_bias=with_bias
    )
    if latent is None:
        qkv = with_bias or model.qkv_biases
        keys = model.key_value_heads * model.key_width
        return (
            Matrix("query", "attention", model.d_model, model.num_heads * model.key_width, has_bias=qkv),
            Matrix("key", "attention", model.d_model, keys, has_bias=qkv),
            Matrix("value", "attention", model.d_model, keys, has_bias=qkv),
            output,
        )
    queries = model.num_heads * model.key_width
    rank = latent.query_rank
    query = (
        (Matrix("query", "attention", model.d_model, queries, has_bias=with_bias),)
        if rank is None
        else (
            Matrix("query_down", "attention", model.d_model, rank, has_bias=with_bias),
            Matrix("query_up", "attention", rank, queries),
        )
    )
    width = latent.key_value_rank + latent.rope_dim
    heads = model.num_heads * (latent.nope_dim + latent.value_dim)
    return (
        *query,
        Matrix("key_value_down", "attention", model.d_model, width, has_bias=with_bias),
        Matrix("key_value_up", "attention", latent.key_value_rank, heads),
        output,
    )


def _feed_forward(
    model: ModelSpec, part: Part, width: int, count: int = 1, active: int = 1
) -> tuple[Matrix, ...]:
    names = ("gate", "up") if model.gated_mlp else ("up",)
    inwards = [
        Matrix(name, part, model.d_model, width, count, active, has_bias=model.biases) for name in names
    ]
    return (*inwards, Matrix("down", part, width, model.d_model, count, active, has_bias=model.biases))


def _experts(model: ModelSpec) -> tuple[Matrix, ...]:
    experts = model.experts
    if experts is None:
        raise ValueError(f"{model.name} has no experts")
    router = Matrix("router", "router", model.d_model, experts.count)
    shared = _feed_forward(model, "shared_experts", experts.shared_width) if experts.shared else ()
    return (
        router,
        *shared,
        *_feed_forward(model, "experts", experts.d_ff, experts.count, experts.top_k),
    )
