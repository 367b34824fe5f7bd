"""Kernels of transformer blocks: attention, feed-forward, experts, embedding, and logits with loss.

Bytes of elementwise kernels follow Korthikanti et al. 2022, section 4.1: every operand is read or written
once, in 16 bit unless said otherwise.
"""

from __future__ import annotations

from dse.inputs.models.matrices import LayerKind, Matrix, blocks_of, matrices, mean_keys
from dse.prediction.steps.native_inputs import ROW_SPLIT, WHOLE
from tests.references.prediction.kernels import HALF_SIZE, Kernel, Pass
from tests.references.prediction.sharded_sizes import Local
from tests.references.prediction.state_space import scan

_FUSED_SOFTMAX = 4
"""Megatron's kernel for mask and softmax takes score matrices by fours: sequences times heads of a rank."""

_UP_PROJECTIONS = ("query_up", "key_value_up")
_FEED_FORWARD = {  # the modules of each part of the model
    "feed_forward": ("mlp",),
    "experts": ("moe",),
    "router": ("moe",),
    "shared_experts": ("moe", "shared_experts"),
}

_HALF_SEQUENCE = 204.0
"""A causal sequence of this length halves the rate of fused attention: tiles on the diagonal, and their ends.
Kernels alone have 160 to 690 by generation; this is what steps show (fitted, as the next)."""

_ROUTING = 4
"""How often kernels access the tokens of experts: they sort them by expert, and put them back by weight."""

_BIASED = 24
"""Bytes more per element where experts have biases: grouped products add none, so that bias, clamp and gate
of gpt-oss are kernels of their own (fitted to its steps)."""

_HEAD_EXPONENT = 0.3
"""Narrow heads use matrix units worse: attention slows down by (128 / width) to this power."""

_EXPERT_LAUNCHES = {"common": 137.0, "expert": 12.6, "moe_router": 50.0, "attn": 21.0}
"""Kernels that the CPU launches in an eager pass of a layer with experts, too short to count on the device:
sorts, permutations and splits, and those for each expert of the NPU. CUDA graphs take those of the router and
of attention away (fitted to steps of Megatron Bridge)."""


def layer(local: Local, kind: LayerKind) -> Pass:
    """Kernels of one layer on one NPU for one micro-batch."""
    kernels = Pass()
    fused = _fused(matrices(local.model, kind))
    blocks = blocks_of(local.model, kind)
    if kind == "prediction":  # its projection is a block before attention
        _enter(local, kernels)
        _leave(local, kernels)
    if blocks.mixer is not None:
        _norm(local, kernels)
        _enter(local, kernels)
        _mixer(local, kernels, kind, [matrix for matrix in fused if matrix.part not in _FEED_FORWARD])
        _leave(local, kernels)
        _residual(local, kernels)
    if blocks.feed_forward is not None:
        _norm(local, kernels)
        is_block = local.is_tensor_block(kind)
        if is_block:
            _enter(local, kernels)
        if blocks.feed_forward == "experts":
            with kernels.module("moe"):
                _route(local, kernels)
        for matrix in fused:
            if matrix.part in _FEED_FORWARD:
                _feed_forward(local, kernels, matrix)
        if is_block:
            _leave(local, kernels)
        _residual(local, kernels)
    return kernels


def _mixer(local: Local, kernels: Pass, kind: LayerKind, fused: list[Matrix]) -> None:
    """Attention or a state-space mixer between its products."""
    *inwards, outwards = fused
    for matrix in inwards:
        with kernels.module(*(("mla_up_proj",) if matrix.name in _UP_PROJECTIONS else ())):
            _product(local, kernels, matrix)
    if blocks_of(local.model, kind).mixer == "state_space":
        scan(local, kernels)
    else:
        _attention_core(local, kernels, kind)
    _product(local, kernels, outwards)


def _feed_forward(local: Local, kernels: Pass, matrix: Matrix) -> None:
    """A product of a feed-forward block or of experts, and the activation after it."""
    with kernels.module(*_FEED_FORWARD[matrix.part]):
        _product(local, kernels, matrix)
        if matrix.name != "down" and matrix.part != "router":
            with kernels.module(*(("moe_act",) if matrix.part == "experts" else ())):
                _activation(local, kernels, matrix)


def embedding(local: Local) -> Pass:
    """Rows of the table are read, their gradients summed into it."""
    kernels = Pass()
    size = 2.0 * local.tokens * local.model.d_model
    gradient = 3 * size * local.norm_share if local.model.lora is None else 0.0
    kernels.memory(4 * size * local.norm_share, gradient, 2)
    return kernels


def head(local: Local) -> Pass:
    """Final norm, logits in 16 bit and their cross-entropy in fp32."""
    kernels = Pass()
    _norm(local, kernels)
    width = local.model.output_dim / local.plan.tp
    is_frozen = local.model.lora is not None
    kernels.product(local.tokens, width, local.model.d_model, sums_bytes=_sums(local), is_frozen=is_frozen)
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
    kernels.product(
        tokens,
        outputs,
        inputs,
        bits=16 if matrix.part == "router" else local.bits,
        groups=count,
        sums_bytes=_sums(local),
        is_frozen=local.model.lora is not None,
    )
    if local.model.lora is not None and local.model.lora.adapts(matrix.part, matrix.name):
        _adapt(kernels, tokens, outputs, inputs, count, local.model.lora.rank)


def _adapt(kernels: Pass, tokens: float, outputs: float, inputs: float, count: int, rank: int) -> None:
    """Both products of an adapter in 16 bit, and the sums with what the frozen one makes (Hu et al. 2021)."""
    kernels.product(tokens, rank, inputs, groups=count)
    kernels.product(tokens, outputs, rank, groups=count)
    kernels.memory(6 * count * tokens * outputs, 6 * count * tokens * inputs)


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
    """Dropout and the sum with the residual stream: read both, write one; back the gradient goes through.

    A norm behind the block comes before.
    """
    if local.model.post_norms:
        size = 2 * local.tokens * local.model.d_model * local.norm_share
        kernels.memory(2 * size, 3 * size)
    elements = local.tokens * local.model.d_model * local.norm_share
    kernels.memory((6 + local.dropout_bytes) * elements, (4 + local.dropout_bytes) * elements)


def _activation(local: Local, kernels: Pass, matrix: Matrix) -> None:
    if matrix.part == "experts":
        elements = local.expert_tokens * matrix.outputs / local.expert_tp
    else:
        elements = local.tokens * matrix.outputs / local.plan.tp
    if matrix.part == "experts" and local.model.biases and local.model.gated_mlp:
        kernels.memory((3 + _BIASED) * elements, (5 + 2 * _BIASED) * elements, 4)
    elif local.model.gated_mlp:  # read gate and up, write one; back read both and the gradient, write both
        kernels.memory(3 * elements, 5 * elements)
    else:
        kernels.memory(4 * elements, 6 * elements)


def _route(local: Local, kernels: Pass) -> None:
    """Tokens are sorted by expert, sent, and put back with their weights."""
    size = 2 * local.expert_tokens * local.model.d_model
    kernels.memory(_ROUTING * size, _ROUTING * size, 4)
    kernels.host_launches = _host_launches(local)


def _host_launches(local: Local) -> float:
    """Kernels that the CPU launches for experts."""
    experts, graphs = local.model.experts, local.plan.graphs.split("+")
    assert experts is not None
    if graphs == ["full"]:
        return 0.0
    counts = _EXPERT_LAUNCHES
    captured = sum(counts[name] for name in ("moe_router", "attn") if name in graphs)
    return counts["common"] + counts["expert"] * experts.count / local.plan.ep - captured


def _attention_core(local: Local, kernels: Pass, kind: LayerKind) -> None:
    tokens, seq = local.tokens, local.model.seq_len
    queries, keys, values, out = local.query_width, local.key_width, local.value_width, local.output_width
    latent = local.model.latent_attention
    if latent is not None:  # rotary parts are split off, turned and joined again
        moved = 2 * tokens * (queries + keys + values)
        with kernels.module("mla_up_proj"):
            kernels.memory(2 * moved, 2 * moved, 4)
    elif local.model.query_key_norms:
        kernels.memory(4 * tokens * (queries + keys), 6 * tokens * (queries + keys), 2)
    if latent is None and local.model.gated_mlp:  # rotary positions
        kernels.memory(4 * tokens * (queries + keys), 4 * tokens * (queries + keys), 2)
    if local.plan.attention == "unfused":
        _unfused(local, kernels, 2 * tokens * seq * (queries + out))  # both products, without a mask
        return
    if local.model.sparse_attention is not None:
        _index(local, kernels)
    seen = mean_keys(local.model, kind)
    operations = 2 * tokens * seen * (queries + out)
    moved = 2 * tokens * (queries + keys + values + out)
    width = min(128, local.model.key_width)
    slowdown = (1 + _HALF_SEQUENCE / (2 * seen)) * (128 / width) ** _HEAD_EXPONENT
    with kernels.module("core_attn"):
        kernels.add(
            Kernel("attention", 1, operations, moved, slowdown, part="attention"),
            Kernel("attention", 1, 2.5 * operations, 2.5 * moved, slowdown, part="attention"),
        )


def _index(local: Local, kernels: Pass) -> None:
    """An indexer scores all keys, and the best are found in scores of 4 bytes; back, those found alone count.

    Its gradients stay inside it (https://arxiv.org/abs/2512.02556, section 2.1.1).
    """
    sparse = local.model.sparse_attention
    assert sparse is not None
    scored, found = local.model.seq_len / 2, mean_keys(local.model, "dense")
    features = sparse.heads * sparse.head_dim
    one = Kernel(
        "attention", 1, 2 * local.tokens * scored * features, 4 * local.tokens * scored, part="attention"
    )
    back = one._replace(operations=4 * local.tokens * found * features, bytes_=8 * local.tokens * found)
    with kernels.module("core_attn"):
        kernels.add(one, back)
        kernels.memory(8 * local.tokens * scored, 0.0, part="attention")


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
