"""Peak memory of one NPU of a stage, by category, in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from dse.inputs.models import ModelSpec
from dse.inputs.models.matrices import LayerKind, matrices
from dse.prediction.steps.native_inputs import WHOLE
from tests.references.prediction.activations import backward_bytes, kept_bytes
from tests.references.prediction.layout import Chunk
from tests.references.prediction.placement import Group
from tests.references.prediction.plans import offloaded_layers, recomputed
from tests.references.prediction.sharded_sizes import Local
from tests.references.prediction.weights import Weights, layer_weights


@lru_cache(maxsize=1024)
def _placeholders(
    model: ModelSpec, kinds: frozenset[LayerKind], tp: int, expert_tp: int, key_width: float
) -> float:
    """Weights of one matrix of each shape in layers of some kinds, on one NPU."""
    return sum(_shapes(model, kinds, tp, expert_tp, key_width).values())


def _shapes(
    model: ModelSpec, kinds: frozenset[LayerKind], tp: int, expert_tp: int, key_width: float
) -> dict[tuple[str, str], float]:
    shapes: dict[tuple[str, str], float] = {}
    for kind in kinds:
        for matrix in matrices(model, kind):
            size = float(matrix.inputs * matrix.outputs)
            if matrix.part == "experts":
                size /= expert_tp
            elif matrix.name in ("key", "value"):
                size = key_width * matrix.inputs
            elif matrix.name not in WHOLE:
                size /= tp
            shapes[matrix.part, matrix.name] = size
    return shapes


def stage_bytes(
    local: Local, chunks: tuple[Chunk, ...], held: Weights, in_flight: float, groups: dict[str, Group]
) -> dict[str, float]:
    """Peak memory of a stage by category, with its weights and `in_flight` micro-batches of a chunk each.

    The peak is at the largest of three moments: in the loss, in the backward pass of the head, and in that of
    a layer.
    """
    ranks = groups["dp_cp"].size, groups["expert_dp"].size
    own = local.framework.memory
    always = _states(local, chunks, held, ranks)
    # Where exchanges hide behind another micro-batch, one layer of it is computed before one is released.
    early = local.plan.overlap_ep * len(chunks) / max(1, sum(chunk.count for chunk in chunks))
    kept = {kind: _kept(local, kind) for kind in _kinds(chunks)}
    stored = _stored(local, chunks, kept, in_flight + early)
    peak = max(_moments(local, chunks, kept), key=lambda moment: sum(moment.values()))
    peak["activations"] += stored
    peak["workspace"] += _gradient_copies(local, chunks)
    found = {**always, **peak}
    grouped = own.grouped_workspace_bytes if local.model.experts is not None else 0
    found["reserve"] = own.workspace_bytes + grouped + own.allocator_slack * sum(found.values())
    return found


def _states(
    local: Local, chunks: tuple[Chunk, ...], held: Weights, ranks: tuple[int, int]
) -> dict[str, float]:
    """Weights, gradients and states of the optimiser, as ZeRO shards them."""
    plan = local.plan

    def stored(of: Weights, bytes_each: float, from_stage: int) -> float:
        if plan.zero_stage < from_stage:
            return bytes_each * of.total
        return bytes_each * (of.dense / ranks[0] + of.experts / ranks[1])

    optimizer_bytes = float(plan.optimizer_bytes or local.framework.memory.optimizer_bytes)
    weights = stored(held, 2.0, 3)
    gradients = stored(held.trained, float(local.framework.gradient_bytes), 2)
    if local.framework.memory.casts_in_use:
        weights = stored(held, 4.0, 3)
    elif _has_whole_stages(local):
        weights += 2.0 * held.total
        gradients += 4.0 * held.trained.total
    elif plan.zero_stage == 3:  # two layers at a time, and the tables, which stay from pass to pass
        tables = held.total - sum(
            count * layer_weights(local, kind).total for chunk in chunks for kind, count in chunk.layers
        )
        weights += 2.0 * (2 * _gathered_unit(local, chunks) + tables)
    elif local.bits < 16:  # a cast along each side
        weights += held.low * 2 * local.bits / 8
        if local.bits == 8 and local.framework.memory.low_precision_weights:
            weights -= 2.0 * held.low
    return {
        "weights": weights,
        "gradients": gradients,
        "optimizer": 0.0 if plan.offload == "optimizer" else stored(held.trained, optimizer_bytes, 1),
    }


def _has_whole_stages(local: Local) -> bool:
    """Whether each NPU gathers its stage once a step."""
    return local.plan.zero_stage == 3 and local.plan.pp > 1 and local.framework.memory.whole_stages


def _kinds(chunks: tuple[Chunk, ...]) -> frozenset[LayerKind]:
    return frozenset(kind for chunk in chunks for kind, count in chunk.layers if count)


def _largest_layer(local: Local, chunks: tuple[Chunk, ...]) -> float:
    return max([layer_weights(local, kind).total for kind in _kinds(chunks)], default=0.0)


def _gathered_unit(local: Local, chunks: tuple[Chunk, ...]) -> float:
    """Weights that ZeRO 3 gathers at once: a layer, or a matrix where a framework says how many may live."""
    layer, live = _largest_layer(local, chunks), local.framework.memory.live_parameters
    shapes = _shapes(local.model, _kinds(chunks), local.plan.tp, local.expert_tp, local.key_width)
    return min(layer, max([live / 2, *shapes.values()])) if live else layer


def _gradient_copies(local: Local, chunks: tuple[Chunk, ...]) -> float:
    """Gradients of weights besides those that stay: one of each shape, or those of layers to be scattered."""
    plan = local.plan
    if local.model.lora is not None:  # those of adapters are small
        return 0.0
    if _has_whole_stages(local) or local.framework.memory.casts_in_use:
        return 0.0
    if plan.zero_stage == 3:  # one layer's in 16 bit, those of two as they are reduced
        return (2.0 + 2 * local.framework.gradient_bytes) * _gathered_unit(local, chunks)
    if not local.framework.memory.placeholder_gradients:
        return 0.0
    kinds = _kinds(chunks)
    return 2.0 * _placeholders(local.model, kinds, plan.tp, local.expert_tp, local.key_width)


def _moments(
    local: Local, chunks: tuple[Chunk, ...], kept: Mapping[LayerKind, tuple[float, float]]
) -> list[dict[str, float]]:
    """Return the bytes by category of each moment that may be the peak, besides those of `_stored`."""
    model, plan = local.model, local.plan
    features = 2 * local.tokens * model.d_model
    gathered = 2 * features if local.residual_share < 1 else 0.0  # an input, and the gradient of one
    cast = 2.0 * local.framework.memory.casts_in_use
    made = cast if model.lora else 2 * cast  # weights in 16 bit, and their gradients
    layers = [
        {
            "activations": _repeated(local, chunks, *kept[kind]),
            "communication": gathered,
            "workspace": backward_bytes(local, kind) + made * layer_weights(local, kind).total,
        }
        for kind in _kinds(chunks)
    ]
    if not any(chunk.has_head for chunk in chunks):
        return layers or [{"activations": 0.0, "communication": 0.0, "workspace": 0.0}]
    heads = 1 + model.prediction_layers
    logits = local.tokens * model.output_dim / plan.tp
    ends = (
        heads * (2 + local.bits / 8) * local.tokens * model.d_model * local.residual_share
    )  # of the last norm
    others = 4 * (heads - 1) * logits  # softmax of the heads whose backward pass comes later
    own = local.framework.memory
    loss = (own.split_logit_bytes if plan.tp > 1 and own.split_logit_bytes else own.logit_bytes) * logits
    table = model.output_dim * model.d_model / plan.tp
    gradient = 2 * table if model.lora is None else 0.0
    return [
        *layers,
        {"activations": ends + others + loss, "communication": gathered / 2, "workspace": cast * table},
        {
            "activations": ends + others + 2 * logits,
            "communication": gathered,
            "workspace": gradient + cast * table + features * local.residual_share,
        },
    ]


def _kept(local: Local, kind: LayerKind) -> tuple[float, float]:
    """Bytes that a layer keeps, and those that it keeps where it is recomputed."""
    whole = kept_bytes(local, kind, is_recomputed=False)
    return whole, whole if local.plan.recompute == "none" else kept_bytes(local, kind, is_recomputed=True)


def _repeated(local: Local, chunks: tuple[Chunk, ...], whole: float, again: float) -> float:
    """Bytes that a recomputed layer has again when its backward pass begins."""
    if not any(chunk.repeated for chunk in chunks):
        return 0.0
    return whole if recomputed(local.plan) is None else whole - again


def _stored(
    local: Local, chunks: tuple[Chunk, ...], kept: Mapping[LayerKind, tuple[float, float]], in_flight: float
) -> float:
    """Bytes that the layers of a stage keep of the micro-batches in flight."""
    stored = 0.0
    layers = sum(chunk.count for chunk in chunks)
    for chunk in chunks:
        for kind, count in chunk.layers:
            whole, again = kept[kind]
            stored += count * (whole + chunk.repeated / chunk.count * (again - whole))
    total = stored / len(chunks) * in_flight
    if offloaded_layers(local.plan):  # two layers' worth is on its way
        away = min(1.0, offloaded_layers(local.plan) / max(1, layers))
        return min(total, (1 - away) * total + 2 * stored / max(1, layers))
    return total
