"""Bytes that a layer keeps for its backward pass, tensor by tensor, and what that pass needs besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from dse.inputs.models.matrices import LayerKind, matrices
from tests.references.prediction.plans import recomputed
from tests.references.prediction.sharded_sizes import Local


class Kept(NamedTuple):
    """A tensor that the backward pass needs; who recomputes one of `modules` need not keep it."""

    bytes_: float
    modules: tuple[str, ...] = ()


def kept_tensors(local: Local, kind: LayerKind) -> list[Kept]:
    """Return what a layer keeps: inputs of norms and products, operands of attention, masks.

    Korthikanti et al. 2022, equations 1 to 4, in the shape of the model. In low precisions, inputs of
    products are kept so, but not of frozen ones without an adapter. The modules are those of Megatron-Core's
    selective recomputation.
    """
    parts = {matrix.part for matrix in matrices(local.model, kind)}
    own = local.framework.memory
    features = local.tokens * local.model.d_model
    residual = features * local.residual_share
    inputs = features if own.gathered_inputs else residual
    found: list[Kept] = []
    for part in ("attention", "state_space", "feed_forward", "experts"):
        if part not in parts:
            continue
        kept = _input_bytes(local, part)
        block = (
            Kept(2 * residual),
            Kept(kept * inputs, ("layernorm",)),
            Kept(local.dropout_bytes * residual),
            Kept((8 if local.model.post_norms else 4) * residual if own.unfused else 0.0, ("layernorm",)),
            Kept(2 * residual if local.model.post_norms else 0.0),
        )
        found += [*block, *_TENSORS[part](local, kept)]
    return found


def _input_bytes(local: Local, part: str) -> float:
    """Bytes per element of the input of a product that is kept for the gradient of its weights."""
    lora = local.model.lora
    return local.bits / 8 if lora is None or lora.adapts(part, "") else 0.0


def _feed_forward(local: Local, kept: float) -> list[Kept]:
    size = local.tokens * local.model.d_ff / local.plan.tp
    gate = 2 if local.framework.memory.unfused and local.model.gated_mlp else 0
    return [Kept((_inner(local) + gate) * size, ("mlp",)), Kept(kept * size, ("mlp",))]


def _inner(local: Local) -> int:
    """Bytes before the activation function, for each feature after it."""
    return 4 if local.model.gated_mlp else 2


def _attention(local: Local, kept: float) -> list[Kept]:
    """Queries, keys, values, output and its statistics, and the scores where attention is not fused.

    Fused attention keeps 4 bytes per token and head instead of scores (Dao et al. 2022). It keeps its output
    besides the input of the next product where this one is cast, or where context parallelism joins the
    output of several rounds.
    """
    model, tokens = local.model, local.tokens
    latent = model.latent_attention
    up = () if latent is None else ("mla_up_proj",)
    turned = 2 if local.framework.memory.unfused else 1  # before and after rotary positions
    found = [
        Kept(2 * turned * tokens * (local.query_width + local.key_width + local.value_width), up),
        Kept(2 * tokens * local.output_width),
        Kept(2 * tokens * (local.query_width + local.key_width) if model.query_key_norms else 0.0),
    ]
    if latent is not None:  # both low ranks before and after their norms
        ranks = (latent.query_rank or 0) + latent.key_value_rank
        found += [Kept(2 * tokens * ranks), Kept(kept * tokens * ranks, up)]
    if sparse := model.sparse_attention:  # queries and key of the indexer, and the places of chosen keys
        found.append(Kept(tokens * (2 * (sparse.heads + 1) * sparse.head_dim + 4 * sparse.top_k)))
    if local.plan.attention == "unfused":
        found.append(Kept(_score_bytes(local) * _scores(local), ("core_attn",)))
        return found
    if local.bits < 16 or local.plan.cp > 1:
        found.append(Kept(kept * tokens * local.output_width))
    return [*found, Kept(4 * tokens * local.heads, ("core_attn",))]


def _state_space(local: Local, kept: float) -> list[Kept]:
    """The output of the first product, of the scan, and of the gated norm.

    Mamba-2's kernels compute the convolution and the states again (Dao and Gu 2024, section 8).
    """
    made, width = local.state_widths
    return [Kept(2 * local.tokens * made), Kept(2 * local.tokens * width), Kept(kept * local.tokens * width)]


def _scores(local: Local) -> float:
    return local.plan.micro_batch * local.heads * local.model.seq_len**2 / local.plan.cp


def _score_bytes(local: Local) -> int:
    return 4 + local.dropout_bytes if local.model.dropout else 2


def _experts(local: Local, kept: float) -> list[Kept]:
    """Tokens sent to the experts, inner features, those of shared experts, and the router's input in fp32.

    A token's weight of an expert multiplies the expert's inner features, so that its output is not kept.
    """
    experts = local.model.experts
    assert experts is not None
    shared = local.tokens * experts.shared_width / local.plan.tp
    inside = local.expert_tokens * experts.d_ff / local.expert_tp
    return [
        Kept((4 if kept else 0) * local.tokens * local.model.d_model * local.residual_share, ("moe",)),
        Kept((_inner(local) + kept) * shared, ("moe", "shared_experts")),
        Kept(kept * local.expert_tokens * local.model.d_model, ("moe",)),
        Kept(_inner(local) * inside, ("moe",)),
        Kept(kept * inside, ("moe", "moe_act")),
    ]


_TENSORS: Mapping[str, Callable[[Local, float], list[Kept]]] = {
    "attention": _attention,
    "state_space": _state_space,
    "feed_forward": _feed_forward,
    "experts": _experts,
}
"""The tensors that each part of a layer keeps."""


def layer_activations(local: Local, kind: LayerKind) -> tuple[float, float]:
    """Bytes that a layer keeps for its backward pass: all, and the part that the core of attention has."""
    found = kept_tensors(local, kind)
    return sum(one.bytes_ for one in found), sum(one.bytes_ for one in found if "core_attn" in one.modules)


def kept_bytes(local: Local, kind: LayerKind, *, is_recomputed: bool) -> float:
    """Bytes that a layer keeps for its backward pass: its input alone under full recomputation."""
    again = recomputed(local.plan) if is_recomputed else frozenset()
    if again is None:
        return 2 * local.tokens * local.model.d_model * local.residual_share
    selective = local.framework.memory.selective
    is_selective = local.plan.recompute == "selective" and bool(again)
    if is_selective and selective == "products":
        return _kept_products(local, kind)
    if selective == "elementwise":
        return _kept_outputs(local, kind, keeps_attention=not is_selective)
    return sum(one.bytes_ for one in kept_tensors(local, kind) if again.isdisjoint(one.modules))


def _kept_products(local: Local, kind: LayerKind) -> float:
    """A layer keeps its input, the output of attention, and the outputs of every second product.

    Queries, values, the first of the inner products and, where that is gated, the output of the block.
    """
    model, tokens = local.model, local.tokens
    residual = tokens * model.d_model * local.residual_share
    parts = {matrix.part for matrix in matrices(model, kind)}
    attention = 0.0
    if "attention" in parts:
        widths = local.query_width + local.value_width + local.output_width
        attention = 2 * tokens * widths + 4 * tokens * local.heads
    if "state_space" in parts:
        attention += 2 * tokens * sum(local.state_widths)
    inner, outer = (tokens * model.d_ff / local.plan.tp, residual) if "feed_forward" in parts else (0.0, 0.0)
    if local.has_experts(kind):
        experts = model.experts
        assert experts is not None
        inner = local.expert_tokens * experts.d_ff / local.expert_tp
        outer = local.expert_tokens * model.d_model
    return 2 * residual + attention + 2 * inner + (2 * outer if model.gated_mlp else 0)


def _kept_outputs(local: Local, kind: LayerKind, *, keeps_attention: bool) -> float:
    """A layer keeps its input and the outputs of its products, and the output of attention or the scan."""
    model, tokens, experts = local.model, local.tokens, local.model.experts
    parts = {matrix.part for matrix in matrices(model, kind)}
    residual = 2 * tokens * model.d_model * local.residual_share
    found = 0.0
    if "attention" in parts:
        latent = model.latent_attention
        ranks = 0 if latent is None else (latent.query_rank or 0) + latent.key_value_rank
        found += residual + 2 * tokens * (local.query_width + local.key_width + local.value_width + ranks)
        found += (2 * tokens * local.output_width + 4 * tokens * local.heads) * keeps_attention
    if "state_space" in parts:
        made, width = local.state_widths
        found += residual + 2 * tokens * (made + width * keeps_attention)
    if "feed_forward" in parts:
        found += residual + _inner(local) * tokens * model.d_ff / local.plan.tp
    if local.has_experts(kind):
        assert experts is not None
        inside = local.expert_tokens * experts.d_ff / local.expert_tp
        shared = tokens * experts.shared_width / local.plan.tp
        found += residual + _inner(local) * (shared + inside) + 2 * local.expert_tokens * model.d_model
    return found


def backward_bytes(local: Local, kind: LayerKind) -> float:
    """Bytes of gradients that are alive at once in the backward pass of a layer.

    Alive are gradients of the residual stream and of the widest operator: a feed-forward block's inner
    features, the queries, keys and values, or the tokens that pass the experts.
    """
    model, tokens = local.model, local.tokens
    parts = {matrix.part for matrix in matrices(model, kind)}
    widest = [0.0]
    if "attention" in parts:
        scores = 2 * _scores(local) if local.plan.attention == "unfused" else 0.0
        widest.append(2 * tokens * (local.query_width + local.key_width + local.value_width) + scores)
    if "state_space" in parts:
        widest.append(2 * tokens * sum(local.state_widths))
    if "feed_forward" in parts:
        widest.append(_inner(local) * tokens * model.d_ff / local.plan.tp)
    if "experts" in parts and model.experts is not None:
        inside = local.expert_tokens * model.experts.d_ff / local.expert_tp
        widest.append(4 * local.expert_tokens * model.d_model + _inner(local) * inside)
    repeated = 0.0
    if local.framework.memory.selective == "elementwise":
        whole = sum(one.bytes_ for one in kept_tensors(local, kind))
        repeated = max(0.0, whole - _kept_outputs(local, kind, keeps_attention=True))
    return 2 * tokens * model.d_model * local.residual_share + max(widest) + repeated
