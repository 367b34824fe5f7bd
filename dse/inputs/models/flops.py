"""How many floating-point operations a training step needs, whatever the system: what MFU is a share of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dse.inputs.models.matrices import layer_kinds, matrices
from dse.inputs.models.spec import ModelSpec

Mask = Literal["causal", "full"]
_PASSES = 3  # a forward pass, and twice its operations backwards


@dataclass(frozen=True)
class TrainingFlops:
    """Operations of forward and backward pass for one token, a multiply-add as two, nothing recomputed.

    `matrix_products` are those with the weights of layers (6 for each that the token meets), `scores` those
    of queries with keys and of weights with values, `logits` those with the output embedding.
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
    keys, with a `causal` mask half of them (Dao 2023, https://arxiv.org/abs/2307.08691, section 4.1).
    """
    keys = model.seq_len / 2 if mask == "causal" else float(model.seq_len)
    scores_per_layer = 2 * keys * model.num_heads * (model.key_width + model.value_width)
    kinds = layer_kinds(model)
    weights = sum(n * sum(matrix.active_weights for matrix in matrices(model, kind)) for kind, n in kinds)
    layers = sum(n for _, n in kinds)
    return TrainingFlops(
        matrix_products=_PASSES * 2.0 * weights,
        scores=_PASSES * layers * scores_per_layer,
        logits=_PASSES * 2.0 * model.d_model * model.output_dim * (1 + model.prediction_layers),
    )


def training_flops(model: ModelSpec, mask: Mask = "causal") -> float:
    """Return the operations of a step on a whole batch."""
    return training_flops_per_token(model, mask).total * model.seq_len * model.batch_size
