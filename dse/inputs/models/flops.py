"""How many floating-point operations a training step needs, whatever the system: what MFU is a share of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dse.inputs.models.matrices import (
    LayerKind,
    Matrix,
    adapter_matrices,
    blocks_of,
    layer_kinds,
    matrices,
    mean_keys,
)
from dse.inputs.models.spec import ModelSpec

Mask = Literal["causal", "full"]
_PASSES = 3  # a forward pass, and twice its operations backwards
_STATE_OPERATIONS = 6  # per element of a state: decay, input and output, a multiply-add each


@dataclass(frozen=True)
class TrainingFlops:
    """Operations of forward and backward pass for one token, a multiply-add as two, nothing recomputed.

    `matrix_products` are those with the weights of layers (6 for each that the token meets), `scores` those
    of queries with keys and of weights with values, of indexers and of states, `logits` those with the
    output embedding.
    """

    matrix_products: float
    scores: float
    logits: float

    @property
    def total(self) -> float:
        """All."""
        return self.matrix_products + self.scores + self.logits


def training_flops_per_token(model: ModelSpec, mask: Mask = "causal") -> TrainingFlops:
    """Return the operations that training on one token needs, as a mean over its sequence.

    6 N + 6 L H (d_k + d_v) keys, where N are the weights of the products that a token meets, so neither
    those of the input embedding nor norms and biases (Kaplan et al. 2020, https://arxiv.org/abs/2001.08361,
    section 2.1; Chowdhery et al. 2022, https://arxiv.org/abs/2204.02311, appendix B). A token sees `seq_len`
    keys, with a `causal` mask half of them (Dao 2023, https://arxiv.org/abs/2307.08691, section 4.1), or as
    many as a window or an indexer leaves. Frozen weights have no gradients: 4 N, and 6 for adapters.
    """
    kinds = layer_kinds(model)
    passes = _PASSES if model.lora is None else _PASSES - 1
    weights = sum(n * _active(matrices(model, kind)) for kind, n in kinds)
    adapters = sum(n * _active(adapter_matrices(model, kind)) for kind, n in kinds)
    return TrainingFlops(
        matrix_products=passes * 2.0 * weights + _PASSES * 2.0 * adapters,
        scores=_PASSES * sum(n * _mixed(model, kind, mask) for kind, n in kinds),
        logits=passes * 2.0 * model.d_model * model.output_dim * (1 + model.prediction_layers),
    )


def _active(found: tuple[Matrix, ...]) -> int:
    return sum(matrix.active_weights for matrix in found)


def _mixed(model: ModelSpec, kind: LayerKind, mask: Mask) -> float:
    """Operations of a forward pass for a token where it meets others: scores of one layer, or its states."""
    mixer, states, sparse = blocks_of(model, kind).mixer, model.state_space, model.sparse_attention
    if mixer == "state_space" and states is not None:
        return float(_STATE_OPERATIONS * states.state_elements)
    if mixer is None:
        return 0.0
    all_keys = model.seq_len / 2 if mask == "causal" else float(model.seq_len)
    is_limited = mixer == "window" or sparse is not None
    keys = mean_keys(model, kind) if is_limited else all_keys
    found = 2 * keys * model.num_heads * (model.key_width + model.value_width)
    return found + (2 * all_keys * sparse.heads * sparse.head_dim if sparse else 0.0)


def training_flops(model: ModelSpec, mask: Mask = "causal") -> float:
    """Return the operations of a step on a whole batch."""
    return training_flops_per_token(model, mask).total * model.seq_len * model.batch_size
