"""Kernels of transformer blocks: attention, feed-forward, experts, embedding, and logits with loss.

Bytes of elementwise kernels follow Korthikanti et al. 2022, section 4.1: every operand is read or written
once, in 16 bit unless said otherwise.
"""

from __future__ import annotations

from dse.inputs.models.matrices import LayerKind, Matrix, matrices
from dse.inputs.strategies.precisions import PRECISIONS
from dse.prediction.steps.kernels import HALF_SIZE, Kernel, Pass
from dse.prediction.steps.sharded_sizes import ROW_SPLIT, WHOLE, Local

_FUSED_SOFTMAX = 4
"""Megatron's kernel for mask and softmax takes score matrices by fours: sequences times heads of a rank."""

_UP_PROJECTIONS = ("query_up", "key_value_up")
_FEED_FORWARD = {  # by part of the model: the module, and the one inside it
    "feed_forward": ("mlp", "mlp"),
    "experts": ("moe", "experts"),
    "router": ("moe", "moe_router"),
    "shared_experts": ("moe", "shared_experts"),
}

_HALF_SEQUENCE = 204.0
"""A causal sequence of this length halves the rate of fused attention: tiles on the diagonal, and their ends.
Kernels alone have 160 to 690 by generation; this is what steps show (fitted, as the next)."""

_HEAD_EXPONENT = 0.3
"""Narrow heads use matrix units worse: attention slows down by (128 / width) to this power."""

_EXPERT_LAUNCHES = {"": 335, "moe_router": 201, "attn+moe_router": 175}
"""Kernels that the CPU launches in a pass of a layer with experts, too short to count on the device: sorts,
permutations, splits by expert. By what CUDA graphs capture (fitted to steps of Megatron Bridge)."""


def layer(local: Local, kind: LayerKind) -> Pass:
    """Kernels of one layer on one NPU for one micro-batch."""
    kernels = Pass()
    fused = _fused(matrices(local.model, kind))
    blocks = local.tensor_blocks(kind)
    if kind == "prediction":  # its projection is a block before attention
        _enter(local, kernels)
        _leave(local, kernels)
        blocks -= 1
    _norm(local, kernels)
    _enter(local, kernels)
    for matrix in fused:
        if matrix.part in ("attention", "projection") and matrix.name != "output":
            with kernels.module("mla_up_proj" if matrix.name in _UP_PROJECTIONS else "attn"):
                _product(local, kernels, matrix)
    _attention_core(local, kernels)
    _product(local, kernels, next(matrix for matrix in fused if matrix.name == "output"))
    _leave(local, kernels)
    _residual(local, kernels)
    _norm(local, kernels)
    if blocks > 1:
        _enter(local, kernels)
    if any(matrix.part == "experts" for matrix in fused):
        with kernels.module("moe"):
            _route(local, kernels)
    for matrix in fused:
        if matrix.part in _FEED_FORWARD:
            _feed_forward(local, kernels, matrix)
    if blocks > 1:
        _leave(local, kernels)
    _residual(local, kernels)
    return kernels


def _feed_forward(local: Local, kernels: Pass, matrix: Matrix) -> None:
    """A product of a feed-forward block or of experts, and the activation after it."""
    outer, inner = _FEED_FORWARD[matrix.part]
    with kernels.module(outer), kernels.module(inner):
        _product(local, kernels, matrix)
        if matrix.name != "down" and matrix.part != "router":
            with kernels.module("moe_act" if matrix.part == "experts" else "act"):
                _activation(local, kernels, matrix)


def embedding(local: Local) -> Pass:
    """Rows of the table are read, their gradients summed into it."""
    kernels = Pass()
    size = 2.0 * local.tokens * local.model.d_model
    kernels.memory(4 * size * local.norm_share, 3 * size * local.norm_share, 2)
    return kernels


def head(local: Local) -> Pass:
    """Final norm, logits in 16 bit and their cross-entropy in fp32."""
    kernels = Pass()
    _norm(local, kernels)
    width = local.model.output_dim / local.plan.tp
    kernels.product(local.tokens, width, local.model.d_model, sums_bytes=_sums(local))
    logits = local.tokens * width
    # Cast to fp32, maximum, exponentials with their sum, softmax; back: gradient in fp32, cast.
    kernels.memory(38 * logits, 14 * logits, 8)
    return kernels


def _fused(found: tuple[Matrix, ...]) -> list[Matrix]:
    """Neighbours with the same input run as one product: queries, keys and values; gate and up."""
    merged: list[Matrix] = []
    for matrix in found:
        last = merged[-1] if merged else None
        if last and (last.part, last.inputs) == (matrix.part, matrix.inputs) and _is_column(last, matrix):
            merged[-1] = Matrix(
                last.name, last.part, last.inputs, last.outputs + matrix.outputs, matrix.count, matrix.active
            )
        else:
            merged.append(matrix)
    return merged


def _is_column(*found: Matrix) -> bool:
    return not any(matrix.name in ROW_SPLIT | WHOLE for matrix in found)


def _sums(local: Local) -> int:
    """Bytes per weight where a weight gradient is added to the sum over micro-batches: read and written."""
    return 2 * local.framework.gradient_bytes if local.framework.gradient_bytes > 2 else 2


def _product(local: Local, kernels: Pass, matrix: Matrix) -> None:
    tp, tokens, count = local.plan.tp, local.tokens, 1
    if matrix.part == "experts":
        tp, count = local.expert_tp, max(1, matrix.count // local.plan.ep)
        tokens = local.expert_tokens / count
    inputs, outputs = float(matrix.inputs), float(matrix.outputs)
    if matrix.name in ROW_SPLIT:
        inputs /= tp
    elif matrix.name not in WHOLE:
        outputs /= tp
        if matrix.name == "query" and local.model.latent_attention is None:
            outputs = local.query_width + local.key_width + local.value_width
    recipe = PRECISIONS[local.plan.precision]
    kernels.product(
        tokens,
        outputs,
        inputs,
        bits=16 if matrix.part == "router" else recipe.bits,
        groups=count,
        sums_bytes=_sums(local),
        extra_bytes=recipe.extra_bytes,
    )


def _enter(local: Local, kernels: Pass) -> None:
    """The ranks of tensor parallelism meet before a block: back, gradients of its inputs are summed.

    With sequence parallelism its inputs are gathered; back once more, for the gradients of weights, before
    theirs are scattered (Korthikanti et al. 2022).
    """
    if local.plan.tp > 1:
        kernels.meet(local.plan.sequence_parallel, 1 + local.plan.sequence_parallel)


def _leave(local: Local, kernels: Pass) -> None:
    """They meet after a block: its outputs are summed, or scattered and back their gradients gathered."""
    if local.plan.tp > 1:
        kernels.meet(1, local.plan.sequence_parallel)


def _norm(local: Local, kernels: Pass) -> None:
    size = 2 * local.tokens * local.model.d_model * local.norm_share
    with kernels.module("layernorm"):
        kernels.memory(2 * size, 3 * size)


def _residual(local: Local, kernels: Pass) -> None:
    """Dropout and the sum with the residual stream: read both, write one; back the gradient goes through."""
    elements = local.tokens * local.model.d_model * local.norm_share
    kernels.memory((6 + local.dropout_bytes) * elements, (4 + local.dropout_bytes) * elements)


def _activation(local: Local, kernels: Pass, matrix: Matrix) -> None:
    if matrix.part == "experts":
        elements = local.expert_tokens * matrix.outputs / local.expert_tp
    else:
        elements = local.tokens * matrix.outputs / local.plan.tp
    if local.model.gated_mlp:  # read gate and up, write one; back read both and the gradient, write both
        kernels.memory(3 * elements, 5 * elements)
    else:
        kernels.memory(4 * elements, 6 * elements)


def _route(local: Local, kernels: Pass) -> None:
    """Tokens are sorted by expert, sent, and put back with their weights: four passes over their features."""
    size = 2 * local.expert_tokens * local.model.d_model
    kernels.memory(4 * size, 4 * size, 4)
    graphs = local.plan.graphs
    if graphs != "full":
        captured = [name for name in ("attn", "moe_router") if name in graphs.split("+")]
        kernels.host_launches = _EXPERT_LAUNCHES.get("+".join(captured), _EXPERT_LAUNCHES[""])


def _attention_core(local: Local, kernels: Pass) -> None:
    tokens, seq = local.tokens, local.model.seq_len
    queries, keys, values, out = local.query_width, local.key_width, local.value_width, local.output_width
    latent = local.model.latent_attention
    if latent is not None:  # rotary parts are split off, turned and joined again
        moved = 2 * tokens * (queries + keys + values)
        with kernels.module("mla_up_proj"):
            kernels.memory(2 * moved, 2 * moved, 4)
    elif local.model.gated_mlp:  # rotary positions
        kernels.memory(4 * tokens * (queries + keys), 4 * tokens * (queries + keys), 2)
    scores = 2 * tokens * seq * (queries + out)  # operations of both products, without a mask
    if local.plan.attention == "unfused":
        _unfused(local, kernels, scores)
        return
    moved = 2 * tokens * (queries + keys + values + out)
    width = min(128, local.model.key_width)
    slowdown = (1 + _HALF_SEQUENCE / seq) * (128 / width) ** _HEAD_EXPONENT
    with kernels.module("core_attn"):
        kernels.add(
            Kernel("attention", 1, scores / 2, moved, slowdown, part="attention"),
            Kernel("attention", 1, 1.25 * scores, 2.5 * moved, slowdown, part="attention"),
        )


def _unfused(local: Local, kernels: Pass, scores: float) -> None:
    """Scores and their softmax go through memory (Korthikanti et al. 2022): s x s for every head."""
    seq, width = local.model.seq_len, local.model.key_width
    matrix = local.plan.micro_batch * local.heads * seq * seq / local.plan.cp
    moved = 4 * local.tokens * local.query_width + 2 * matrix
    slowdown = 1 + HALF_SIZE * (2 / seq + 1 / width)
    product = Kernel("products", 1, scores / 2, moved, slowdown, part="attention")
    transposed = 4 * local.tokens * (local.query_width + local.key_width + local.value_width)
    kernels.memory(transposed, transposed, part="attention")
    with kernels.module("core_attn"):
        kernels.add(product, product, product)
        kernels.add(product, product, product)
        if local.plan.micro_batch * local.heads % _FUSED_SOFTMAX:
            # cast to fp32, scale, mask, softmax, cast back
            kernels.memory(36 * matrix, 36 * matrix, 5, part="attention")
        else:  # mask and softmax in one
            kernels.memory(4 * matrix, 6 * matrix, part="attention")
        if local.model.dropout:
            kernels.memory(5 * matrix, 5 * matrix, part="attention")
