"""The parameters that one NPU holds of a layer and of a stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from dse.inputs.models import ModelSpec
from dse.inputs.models.counts import layer_parameters
from dse.inputs.models.matrices import LayerKind, adapter_matrices, matrices
from dse.prediction.steps.native_inputs import ROW_SPLIT, WHOLE
from tests.references.prediction.layout import Chunk
from tests.references.prediction.sharded_sizes import Local


@dataclass(frozen=True)
class Weights:
    """Parameters of one NPU: dense ones, which all data-parallel ranks have, and those of experts.

    `low` of them are in products that low precisions run in their own format. Frozen ones have no gradients
    and no states of the optimiser.
    """

    dense: float
    experts: float
    low: float = 0.0
    frozen_dense: float = 0.0
    frozen_experts: float = 0.0

    @property
    def total(self) -> float:
        """Both."""
        return self.dense + self.experts

    @property
    def trained(self) -> Weights:
        """The weights that training updates."""
        return Weights(self.dense - self.frozen_dense, self.experts - self.frozen_experts)

    def frozen(self) -> Weights:
        """Return the same weights, all of them frozen."""
        return Weights(self.dense, self.experts, self.low, self.dense, self.experts)

    def plus(self, other: Weights, times: float = 1.0) -> Weights:
        """Return the sum with another, `times` over."""
        return Weights(
            self.dense + times * other.dense,
            self.experts + times * other.experts,
            self.low + times * other.low,
            self.frozen_dense + times * other.frozen_dense,
            self.frozen_experts + times * other.frozen_experts,
        )


def layer_weights(local: Local, kind: LayerKind) -> Weights:
    """Parameters of a layer on one NPU.

    Norms, routers, latent down-projections and biases after a sum are copied over tp; so are heads of keys
    where tp exceeds them.
    """
    plan = local.plan
    return _layer_weights(local.model, kind, plan.tp, plan.ep * local.expert_tp, local.key_width)


@lru_cache(maxsize=1024)
def _layer_weights(
    model: ModelSpec, kind: LayerKind, tp: int, expert_ranks: int, key_width: float
) -> Weights:
    own = layer_parameters(model, kind)
    dense, experts = own.vectors / tp, 0.0
    copied = float(own.norms)
    for matrix in matrices(model, kind):
        if matrix.part == "experts":
            experts += (matrix.weights + matrix.biases) / expert_ranks
        elif matrix.part == "router":
            copied += matrix.weights + matrix.biases
        elif matrix.name in WHOLE:
            dense += matrix.weights + matrix.biases
        elif matrix.name in ("key", "value"):
            dense += key_width * (matrix.inputs + matrix.has_bias)
        else:
            dense += matrix.weights / tp + matrix.biases / (1 if matrix.name in ROW_SPLIT else tp)
    found = Weights(dense + copied, experts, dense + experts)
    return found if model.lora is None else found.frozen().plus(_adapters(model, kind, tp, expert_ranks))


def _adapters(model: ModelSpec, kind: LayerKind, tp: int, expert_ranks: int) -> Weights:
    """Parameters of LoRA: of a pair, the matrix on the side that tensor parallelism splits is split too."""
    dense = experts = 0.0
    for matrix in adapter_matrices(model, kind):
        base, _, way = matrix.name.rsplit("_", 2)
        is_split = (base in ROW_SPLIT) == (way == "down")
        if matrix.part == "experts":
            experts += matrix.weights / expert_ranks
        else:
            dense += matrix.weights / (tp if is_split and base not in WHOLE else 1)
    return Weights(dense, experts)


def stage_weights(local: Local, chunks: Sequence[Chunk]) -> list[Weights]:
    """Parameters of each chunk of a stage on one NPU; tables that they share count with the first of them.

    The head comes with the final norm, the embedding with learned positions. Prediction layers embed tokens
    too (DeepSeek-V3, section 2.2).
    """
    model, counts = local.model, local.parameters
    output = "input" if model.tied_embeddings else "output"
    sizes = {"input": model.input_dim * model.d_model, "output": model.output_dim * model.d_model}
    found = []
    held: set[str] = set()
    for chunk in chunks:
        own = Weights(counts.positions * chunk.has_embedding + counts.final_norm * chunk.has_head, 0.0)
        own = own if model.lora is None else own.frozen()
        for kind, count in chunk.layers:
            own = own.plus(layer_weights(local, kind), count)
        needed = {"input"} if chunk.has_embedding or (chunk.has_head and model.prediction_layers) else set()
        needed |= {output} if chunk.has_head else set()
        tables = sum(sizes[name] for name in needed - held)
        shared = Weights(tables / local.plan.tp, 0.0)
        found.append(own.plus(shared if model.lora is None else shared.frozen()))
        held |= needed
    return found
