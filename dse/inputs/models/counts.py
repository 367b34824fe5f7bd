"""How many parameters a model has: all, those that a token meets, those of each kind of layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import get_args

from dse.inputs.models.matrices import LayerKind, Part, adapter_matrices, blocks_of, layer_kinds, matrices
from dse.inputs.models.spec import ModelSpec

_PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class LayerParameters:
    """Parameters of one layer by part; `experts` are all routed ones, `active_experts` those of a token.

    `feed_forward` is that of a dense layer; `projection` belongs to layers that predict further tokens.
    `biases` are those of all matrices but routed experts, whose are with `experts`. `vectors` are attention
    sinks, and the convolution and the decays of state-space mixers. `adapters` are those of LoRA, which no
    sum has.
    """

    attention: int
    feed_forward: int
    router: int
    experts: int
    active_experts: int
    shared_experts: int
    projection: int
    norms: int
    biases: int
    indexer: int = 0
    state_space: int = 0
    vectors: int = 0
    adapters: int = 0

    @property
    def total(self) -> int:
        """All."""
        return self._common + self.experts

    @property
    def active(self) -> int:
        """The parameters that a token meets."""
        return self._common + self.active_experts

    @property
    def _common(self) -> int:
        return (
            self.attention
            + self.feed_forward
            + self.router
            + self.shared_experts
            + self.projection
            + self.norms
            + self.biases
            + self.indexer
            + self.state_space
            + self.vectors
        )


@dataclass(frozen=True)
class ParameterCounts:
    """Parameters of a model; `layers` has those of one layer, and the number of such layers, by kind.

    `output_embedding` is 0 where embeddings are tied. `positions` are learned. Layers that predict further
    tokens (kind `prediction`) are not in `total` and `active`, as publications count.
    """

    input_embedding: int
    output_embedding: int
    positions: int
    final_norm: int
    layers: tuple[tuple[LayerKind, int, LayerParameters], ...]

    @property
    def embeddings(self) -> int:
        """The embeddings of tokens, input and output, and of positions."""
        return self.input_embedding + self.output_embedding + self.positions

    @property
    def total(self) -> int:
        """All of the main model."""
        return self.embeddings + self.final_norm + sum(n * layer.total for n, layer in self._main)

    @property
    def active(self) -> int:
        """The parameters of the main model that a token meets, embeddings included."""
        return self.embeddings + self.final_norm + sum(n * layer.active for n, layer in self._main)

    @property
    def prediction(self) -> int:
        """All of the layers that predict further tokens; they use the embeddings of the main model."""
        return sum(n * layer.total for kind, n, layer in self.layers if kind == "prediction")

    @property
    def adapters(self) -> int:
        """The parameters of LoRA on all layers."""
        return sum(n * layer.adapters for _, n, layer in self.layers)

    @property
    def trained(self) -> int:
        """All that training updates: the adapters if there are any."""
        return self.adapters or self.total + self.prediction

    @property
    def _main(self) -> list[tuple[int, LayerParameters]]:
        return [(n, layer) for kind, n, layer in self.layers if kind != "prediction"]


def parameters(model: ModelSpec) -> ParameterCounts:
    """Count the parameters of a model, as publications do."""
    numbers: dict[LayerKind, int] = {}
    for kind, count in layer_kinds(model):
        numbers[kind] = numbers.get(kind, 0) + count
    return ParameterCounts(
        input_embedding=model.input_dim * model.d_model,
        output_embedding=0 if model.tied_embeddings else model.output_dim * model.d_model,
        positions=model.learned_positions * model.d_model,
        final_norm=_norm(model),
        layers=tuple([(kind, n, layer_parameters(model, kind)) for kind, n in numbers.items()]),
    )


@lru_cache(maxsize=256)
def layer_parameters(model: ModelSpec, kind: LayerKind) -> LayerParameters:
    """Count the parameters of one layer of a kind that the model has."""
    weights = dict.fromkeys(_PARTS, 0)
    active_experts = biases = 0
    for matrix in matrices(model, kind):
        weights[matrix.part] += matrix.weights
        if matrix.part == "experts":
            weights["experts"] += matrix.biases
            active_experts += matrix.active_weights + matrix.active_biases
        else:
            biases += matrix.biases
    return LayerParameters(
        **weights,
        active_experts=active_experts,
        norms=_norms(model, kind),
        biases=biases,
        vectors=_vectors(model, kind),
        adapters=sum(matrix.weights for matrix in adapter_matrices(model, kind)),
    )


def _norm(model: ModelSpec) -> int:
    """Models with biases normalise with a scale and a bias (LayerNorm), others with a scale (RMSNorm)."""
    return (2 if model.biases and not model.rms_norm else 1) * model.d_model


def _norms(model: ModelSpec, kind: LayerKind) -> int:
    """One before each block, and one behind it with `post_norms`.

    A prediction layer has three more: for both inputs, and before the logits.
    """
    blocks = blocks_of(model, kind)
    each = 2 if model.post_norms else 1
    outer = each * sum(block is not None for block in blocks) + (3 if kind == "prediction" else 0)
    return outer * _norm(model) + _inner_norms(model, blocks.mixer)


def _inner_norms(model: ModelSpec, mixer: str | None) -> int:
    if mixer is None:
        return 0
    if mixer == "state_space" and model.state_space is not None:
        return model.state_space.width
    latent, sparse = model.latent_attention, model.sparse_attention
    inner = latent.key_value_rank + (latent.query_rank or 0) if latent else 0
    if model.query_key_norms:
        inner += 2 * model.key_width
    return inner + (2 * sparse.head_dim if sparse else 0)  # the indexer's key has scale and bias


def _vectors(model: ModelSpec, kind: LayerKind) -> int:
    mixer, states = blocks_of(model, kind).mixer, model.state_space
    if mixer == "state_space" and states is not None:  # the convolution with its bias; decay, step, skip
        return (states.conv + 1) * states.conv_width + 3 * states.heads
    return model.num_heads if mixer is not None and model.attention_sinks else 0
