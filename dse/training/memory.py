"""Peak memory of one NPU of a stage, by category, in bytes."""

from __future__ import annotations

from dataclasses import dataclass

from dse.accelerators.placement import Group
from dse.models.counts import layer_parameters
from dse.models.matrices import LayerKind
from dse.training.layout import Chunk
from dse.training.local import Local

RESERVE_BYTES = 200_000_000
"""What a process keeps besides tensors that are counted: workspaces of libraries, small buffers."""


@dataclass(frozen=True)
class Weights:
    """Parameters of one NPU: dense ones, which all data-parallel ranks have, and those of experts."""

    dense: float
    experts: float

    @property
    def total(self) -> float:
        """Both."""
        return self.dense + self.experts


def layer_weights(local: Local, kind: LayerKind) -> Weights:
    """Parameters of a layer on one NPU; norms, routers and latent projections are copied over tp."""
    counts = layer_parameters(local.model, kind)
    tp = local.plan.tp
    split = counts.attention + counts.feed_forward + counts.shared_experts + counts.projection
    return Weights(
        split / tp + counts.router + counts.norms + counts.biases / tp,
        counts.experts / (local.plan.ep * local.expert_tp),
    )


def chunk_weights(local: Local, chunk: Chunk) -> Weights:
    """Parameters of a chunk on one NPU."""
    dense = experts = 0.0
    for kind, count in chunk.layers:
        one = layer_weights(local, kind)
        dense += count * one.dense
        experts += count * one.experts
    table = local.model.input_dim * local.model.d_model / local.plan.tp
    if chunk.has_embedding:
        dense += table
    if chunk.has_head and not (local.model.tied_embeddings and chunk.has_embedding):
        dense += local.model.output_dim * local.model.d_model / local.plan.tp
    return Weights(dense, experts)


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


def _feed_forward_bytes(local: Local, kind: LayerKind, kept: float) -> float:
    model, tokens = local.model, local.tokens
    inner = 2 * (2 if model.gated_mlp else 1)
    experts = model.experts
    if kind == "dense" or experts is None:
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
    stream = 6 * tokens * model.d_model
    if kind == "dense" or experts is None:
        largest = (widths - 1) * model.d_model * model.d_ff / local.plan.tp
        return 4 * largest + 2 * widths * tokens * model.d_ff / local.plan.tp + stream / local.plan.tp
    largest = (widths - 1) * model.d_model * experts.d_ff / local.expert_tp
    return 4 * largest + 2 * widths * local.expert_tokens * experts.d_ff / local.expert_tp + stream


def stage_bytes(
    local: Local, chunks: tuple[Chunk, ...], in_flight: float, groups: dict[str, Group]
) -> dict[str, float]:
    """Peak memory of a stage that holds `in_flight` micro-batches of one chunk each, by category."""
    plan = local.plan
    dense = experts = 0.0
    for chunk in chunks:
        own = chunk_weights(local, chunk)
        dense, experts = dense + own.dense, experts + own.experts
    ranks, expert_ranks = groups["dp_cp"].size, groups["expert_dp"].size

    def stored(bytes_each: float, from_stage: int) -> float:
        if plan.zero < from_stage:
            return bytes_each * (dense + experts)
        return bytes_each * (dense / ranks + experts / expert_ranks)

    kinds = {kind for chunk in chunks for kind, _ in chunk.layers}
    gathered = max([layer_weights(local, kind).total for kind in kinds], default=0.0)
    weights = stored(2.0, 3) + (2 * 2.0 * gathered if plan.zero == 3 else 0.0)
    if plan.precision in ("fp8", "fp4"):
        weights += (dense + experts) * 2 * local.bits / 8 if plan.zero < 3 else 0.0  # cast, and its transpose
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
        again = layers if plan.recompute_layers is None else min(plan.recompute_layers, layers)
        for kind, count in chunk.layers:
            all_bytes, core = layer_activations(local, kind)
            whole = max(whole, all_bytes)
            share = again / layers
            if plan.recompute == "full":
                kept = 2 * local.tokens * local.model.d_model * local.norm_share
            else:
                kept = all_bytes - (core if plan.recompute == "selective" else 0.0)
            stored += count * (share * kept + (1 - share) * all_bytes)
    total = stored / len(chunks) * in_flight
    if plan.offload == "activations":
        total = min(total, 2 * stored / max(1, sum(chunk.count for chunk in chunks)))
    if plan.recompute == "full":
        total += whole
    if any(chunk.has_head for chunk in chunks):
        total += 6 * local.tokens * local.model.output_dim / plan.tp  # logits in 16 bit, softmax in fp32
    return total
