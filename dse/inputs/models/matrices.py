"""The weight matrices of each kind of layer: what parameters, operations and shards are counted from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Literal, NamedTuple

from dse.inputs.models.mixers import mean_latest_keys
from dse.inputs.models.spec import ModelSpec

LayerKind = Literal[
    "dense",
    "expert",
    "dense_window",
    "expert_window",
    "state_space",
    "attention",
    "feed_forward",
    "experts",
    "prediction",
]
Mixer = Literal["attention", "window", "state_space"]
Part = Literal[
    "attention",
    "indexer",
    "state_space",
    "feed_forward",
    "router",
    "experts",
    "shared_experts",
    "projection",
]


class Blocks(NamedTuple):
    """The blocks of a layer: what mixes tokens, and what works on each; None is none."""

    mixer: Mixer | None
    feed_forward: Literal["feed_forward", "experts"] | None


_BLOCKS: Mapping[LayerKind, Blocks] = {
    "dense": Blocks("attention", "feed_forward"),
    "expert": Blocks("attention", "experts"),
    "dense_window": Blocks("window", "feed_forward"),
    "expert_window": Blocks("window", "experts"),
    "state_space": Blocks("state_space", None),
    "attention": Blocks("attention", None),
    "feed_forward": Blocks(None, "feed_forward"),
    "experts": Blocks(None, "experts"),
}
_OF_LETTER: Mapping[str, LayerKind] = {
    "M": "state_space",
    "*": "attention",
    "-": "feed_forward",
    "E": "experts",
}


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


def blocks_of(model: ModelSpec, kind: LayerKind) -> Blocks:
    """Return the blocks of a kind of layer.

    A prediction layer (DeepSeek-V3, https://arxiv.org/abs/2412.19437, section 2.2) has attention, and experts
    if the model has some.
    """
    if kind == "prediction":
        return _BLOCKS["dense" if model.experts is None else "expert"]
    return _BLOCKS[kind]


@lru_cache(maxsize=256)
def layer_kinds(model: ModelSpec) -> tuple[tuple[LayerKind, int], ...]:
    """Return runs of equal layers, each as kind and number, in the order in which they run.

    A kind can have several runs. Prediction layers, which predict further tokens, stand last.
    """
    kinds = [_kind(model, index) for index in range(model.num_layers)]
    runs: list[tuple[LayerKind, int]] = [(kind, len(list(run))) for kind, run in groupby(kinds)]
    if model.prediction_layers:
        runs.append(("prediction", model.prediction_layers))
    return tuple(runs)


def _kind(model: ModelSpec, index: int) -> LayerKind:
    if model.layer_pattern is not None:
        return _OF_LETTER[model.layer_pattern[index]]
    experts, windows = model.experts, model.windows
    has_experts = experts is not None and index >= experts.dense_layers and (index + 1) % experts.every == 0
    sees_all = windows is None or (windows.full_every is not None and (index + 1) % windows.full_every == 0)
    if sees_all:
        return "expert" if has_experts else "dense"
    return "expert_window" if has_experts else "dense_window"


@lru_cache(maxsize=256)
def mean_keys(model: ModelSpec, kind: LayerKind) -> float:
    """Return how many keys a token's scores are computed with, as a mean over a causal sequence.

    All keys are half the sequence (Dao 2023, https://arxiv.org/abs/2307.08691, section 4.1). 0 without
    attention.
    """
    mixer, tokens = blocks_of(model, kind).mixer, model.seq_len
    if mixer == "window" and model.windows is not None:
        return model.windows.mean_keys(tokens)
    if mixer != "attention":
        return 0.0
    if model.sparse_attention is not None:
        return mean_latest_keys(model.sparse_attention.top_k, tokens)
    return tokens / 2


@lru_cache(maxsize=256)
def matrices(model: ModelSpec, kind: LayerKind) -> tuple[Matrix, ...]:
    """Return the matrices of one layer, in the order of its forward pass.

    A prediction layer joins hidden state and embedding of the next token by a projection first.
    """
    mixer, feed_forward = blocks_of(model, kind)
    found: tuple[Matrix, ...] = ()
    if kind == "prediction":
        found = (Matrix("projection", "projection", 2 * model.d_model, model.d_model),)
    if mixer == "state_space":
        found += _state_space(model)
    elif mixer is not None:
        found += _attention(model)
    if feed_forward == "experts":
        found += _experts(model)
    elif feed_forward == "feed_forward":
        found += _feed_forward(model, "feed_forward", model.d_ff)
    return found


def adapter_matrices(model: ModelSpec, kind: LayerKind) -> tuple[Matrix, ...]:
    """Return the low-rank adapters of one layer: for each product that has one, a way down and a way up.

    Matrices with the same input that run as one product share an adapter.
    """
    lora = model.lora
    if lora is None:
        return ()
    found: list[Matrix] = []
    adapted = [matrix for matrix in matrices(model, kind) if lora.adapts(matrix.part, matrix.name)]
    for _, run in groupby(adapted, lambda one: (one.part, one.inputs, one.name in ("output", "down"))):
        fused = list(run)
        first, outputs = fused[0], sum(matrix.outputs for matrix in fused)
        shapes = (("down", first.inputs, lora.rank), ("up", lora.rank, outputs))
        found += [
            Matrix(f"{first.name}_adapter_{way}", first.part, inputs, width, first.count, first.active)
            for way, inputs, width in shapes
        ]
    return tuple(found)


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
        *_indexer(model, rank or 0),
        output,
    )


def _indexer(model: ModelSpec, rank: int) -> tuple[Matrix, ...]:
    """Three products make the indexer's queries, its key and the weights of its heads."""
    sparse = model.sparse_attention
    if sparse is None:
        return ()
    return (
        Matrix("index_query", "indexer", rank, sparse.heads * sparse.head_dim),
        Matrix("index_key", "indexer", model.d_model, sparse.head_dim),
        Matrix("index_weights", "indexer", model.d_model, sparse.heads),
    )


def _state_space(model: ModelSpec) -> tuple[Matrix, ...]:
    """One product makes the gate, what the convolution takes, and the step of each head."""
    mixer = model.state_space
    if mixer is None:
        raise ValueError(f"{model.name} has no state-space layers")
    made = mixer.width + mixer.conv_width + mixer.heads
    return (
        Matrix("state_in", "state_space", model.d_model, made),
        Matrix("state_out", "state_space", mixer.width, model.d_model),
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
    router = Matrix("router", "router", model.d_model, experts.count, has_bias=model.biases)
    shared = _feed_forward(model, "shared_experts", experts.shared_width) if experts.shared else ()
    return (
        router,
        *shared,
        *_feed_forward(model, "experts", experts.d_ff, experts.count, experts.top_k),
    )
