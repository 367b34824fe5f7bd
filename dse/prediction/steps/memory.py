"""Peak memory of one NPU of a stage, by category, in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from dse.inputs.accelerators.placement import Group
from dse.inputs.models import ModelSpec
from dse.inputs.models.counts import layer_parameters
from dse.inputs.models.matrices import LayerKind, matrices
from dse.prediction.steps.layout import Chunk
from dse.prediction.steps.sharded_sizes import ROW_SPLIT, WHOLE, Local

RESERVE_BYTES = 200_000_000
"""What a process keeps besides tensors that are counted: workspaces of libraries, small buffers."""


@dataclass(frozen=True)
class Weights:
    """Parameters of one NPU: dense ones, which all data-parallel ranks have, and those of experts.

    `low` of them are in products that low precisions run in their own format.
    """

    dense: float
    experts: float
    low: float = 0.0

    @property
    def total(self) -> float:
        """Both."""
        return self.dense + self.experts

    def plus(self, other: Weights, times: float = 1.0) -> Weights:
        """Return the sum with another, `times` over."""
        return Weights(
            self.dense + times * other.dense,
            self.experts + times * other.experts,
            self.low + times * other.low,
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
    dense = experts = 0.0
    copied = float(layer_parameters(model, kind).norms)
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
    return Weights(dense + copied, experts, dense + experts)


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
        for kind, count in chunk.layers:
            own = own.plus(layer_weights(local, kind), count)
        needed = {"input"} if chunk.has_embedding or (chunk.has_head and model.prediction_layers) else set()
        needed |= {output} if chunk.has_head else set()
        tables = sum(sizes[name] for name in needed - held)
        found.append(own.plus(Weights(tables / local.plan.tp, 0.0)))
        held |= needed
    return found


def layer_activations(local: Local, kind: LayerKind) -> tuple[float, float]:
    """Bytes that a layer keeps for its backward pass: all, and the part that selective recomputation drops.

    Korthikanti et al. 2022, equations 1 to 4, in the shape of the model: inputs of norms and products,
    queries, keys, values and output of attention, masks. Fused attention keeps 4 bytes per token and head
    instead of scores (Dao et al. 2022). In 8 bit, inputs of products are kept so.
    """
    model, plan, tokens = local.model, local.plan, local.tokens
    kept = local.bits / 8
    residual = tokens * model.d_model * local.norm_share
    total = residual * (4 + kept + 2 * local.dropout_bytes)  # both norms' inputs, the first's output; masks
    total += 2 * tokens * (local.query_width + local.key_width + local.value_width + local.output_width)
    latent = model.latent_attention
    if latent is not None:  # both low ranks before and after their norms, and keys and values before the join
        ranks = (latent.query_rank or 0) + latent.key_value_rank
        total += 4 * tokens * ranks + 2 * tokens * local.heads * (latent.nope_dim + latent.value_dim)
    total += _feed_forward_bytes(local, kind, kept)
    core = 0.0
    if plan.attention == "flash":
        total += 4 * tokens * local.heads
    else:
        scores = plan.micro_batch * local.heads * model.seq_len**2
        core = (4 + local.dropout_bytes if model.dropout else 2) * scores
    return total + core, core


def kept_bytes(local: Local, kind: LayerKind, *, is_recomputed: bool) -> float:
    """Bytes that a layer keeps for its backward pass: its input alone under full recomputation."""
    all_bytes, core = layer_activations(local, kind)
    if not is_recomputed or local.plan.recompute == "none":
        return all_bytes
    if local.plan.recompute == "selective":
        return all_bytes - core
    return 2 * local.tokens * local.model.d_model * local.norm_share


def _feed_forward_bytes(local: Local, kind: LayerKind, kept: float) -> float:
    model, tokens = local.model, local.tokens
    inner = 2 * (2 if model.gated_mlp else 1)
    experts = model.experts
    if experts is None or kind == "dense":
        return (
            tokens * model.d_ff / local.plan.tp * (inner + kept)
            + kept * tokens * model.d_model * local.norm_share
        )
    total = kept * tokens * model.d_model * local.norm_share
    total += tokens * experts.shared_width / local.plan.tp * (inner + kept)
    each = local.expert_tokens
    total += each * experts.d_ff / local.expert_tp * (inner + kept)
    return total + each * model.d_model * (kept + 2)  # what was sent to the experts, and what they return


def largest_temporary(local: Local, kind: LayerKind) -> float:
    """Bytes that one layer's backward pass needs besides: its largest weight gradient in fp32, and gradients.

    The gradients of the feed-forward block's inner tensors and of the residual stream are alive together.
    """
    model, tokens = local.model, local.tokens
    experts = model.experts
    widths = 3 if model.gated_mlp else 2
    stream = 6 * tokens * model.d_model * local.norm_share
    if kind == "dense" or experts is None:
        largest = (widths - 1) * model.d_model * model.d_ff / local.plan.tp
        return 4 * largest + 2 * widths * tokens * model.d_ff / local.plan.tp + stream
    largest = (widths - 1) * model.d_model * experts.d_ff / local.expert_tp
    return 4 * largest + 2 * widths * local.expert_tokens * experts.d_ff / local.expert_tp + stream


def stage_bytes(
    local: Local, chunks: tuple[Chunk, ...], held: Weights, in_flight: float, groups: dict[str, Group]
) -> dict[str, float]:
    """Peak memory of a stage by category, with its weights and `in_flight` micro-batches of a chunk each."""
    plan = local.plan
    dense, experts = held.dense, held.experts
    ranks, expert_ranks = groups["dp_cp"].size, groups["expert_dp"].size

    def stored(bytes_each: float, from_stage: int) -> float:
        if plan.zero_stage < from_stage:
            return bytes_each * (dense + experts)
        return bytes_each * (dense / ranks + experts / expert_ranks)

    kinds = {kind for chunk in chunks for kind, _ in chunk.layers}
    gathered = max([layer_weights(local, kind).total for kind in kinds], default=0.0)
    weights = stored(2.0, 3)
    if plan.zero_stage == 3:  # two layers at a time, and the tables, which stay from pass to pass
        tables = held.total - sum(
            count * layer_weights(local, kind).total for chunk in chunks for kind, count in chunk.layers
        )
        weights += 2.0 * (2 * gathered + tables)
    elif local.bits < 16:
        weights += held.low * 2 * local.bits / 8  # cast, and its transpose
    optimizer = 0.0 if plan.offload == "optimizer" else stored(12.0, 1)
    return {
        "weights": weights,
        "gradients": stored(float(local.framework.gradient_bytes), 2),
        "optimizer": optimizer,
        "activations": _activations(local, chunks, in_flight),
        "communication": 2 * local.tokens * local.model.d_model if plan.sequence_parallel else 0.0,
        "workspace": max([largest_temporary(local, kind) for kind in kinds], default=0.0),
        "reserve": float(RESERVE_BYTES),
    }


def _activations(local: Local, chunks: tuple[Chunk, ...], in_flight: float) -> float:
    plan = local.plan
    stored = 0.0
    whole = 0.0
    for chunk in chunks:
        layers = chunk.count
        again = chunk.repeated
        for kind, count in chunk.layers:
            all_bytes = kept_bytes(local, kind, is_recomputed=False)
            whole = max(whole, all_bytes)
            share = again / layers
            stored += count * (share * kept_bytes(local, kind, is_recomputed=True) + (1 - share) * all_bytes)
    total = stored / len(chunks) * in_flight
    if plan.offload == "activations":
        total = min(total, 2 * stored / max(1, sum(chunk.count for chunk in chunks)))
    if plan.recompute == "full":
        total += whole
    if any(chunk.has_head for chunk in chunks):
        # logits in 16 bit, softmax in fp32; those of prediction layers besides
        total += (1 + local.model.prediction_layers) * 6 * local.tokens * local.model.output_dim / plan.tp
    return total
