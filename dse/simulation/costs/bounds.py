"""Lower bounds on a point's cost, in closed form: proof that it cannot win, at a thousandth of the price."""

from __future__ import annotations

import math
from typing import NamedTuple

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy, indivisible
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.fields import npu_speeds

_EXACT = 2**53  # counts below are exact as doubles, and printed in full


class Bound(NamedTuple):
    """Wall time in ns and peak memory in bytes that a point has at least; 0 claims nothing."""

    wall_time_ns: int
    peak_memory_bytes: int


class _Work(NamedTuple):
    """Durations in ns of a compute node, or of those of a layer (all; those of the chain through layers)."""

    input_embedding: int
    output_embedding: int
    layer: int
    layer_in_turn: int
    input_update: int
    output_update: int
    layer_updates: int


def lower_bound(model: ModelSpec, strategy: Strategy, system: SystemSpec) -> Bound:
    """Return a bound that no simulation of the point falls below, in O(1).

    Time: a rank computes one node at a time, so it needs at least the sum of the roofline durations of its
    nodes; and with pipeline stages, a step takes at least the forward pass and the chain of activation
    gradients through all layers, which take turns whatever the stages (docs/workload.md,
    docs/simulator.md). Memory: when the forward pass ends, a rank holds its
    weights or their updates, what the backward pass will read, and the buffers of its receives, which live
    from time 0. The strategy must pass `dse.inputs.strategies.check`,
    and it is taken to fill the system.

    Both are 0 for sizes that do not divide and for models with repairs; time is 0 without the roofline
    model, memory if not tracked.
    """
    if not model.is_reference or indivisible(model, strategy):
        return Bound(0, 0)
    timed = system.roofline_enabled and not system.replay_only
    works = [_work(model, strategy, *speed) for speed in _speeds(strategy, system)] if timed else []
    wall_time_ns = max([_time(model, strategy, work) for work in works], default=0)
    # All that the backward pass will read is there while out_emb_dx runs, if that takes time. Without the
    # roofline no computing does: then the sum over tp behind it keeps all that is there.
    outlasts = all(work.output_embedding for work in works) if timed else strategy.tp > 1
    memory = _memory(model, strategy, outlasts) if system.track_local_memory else 0
    return Bound(wall_time_ns, memory if memory < _EXACT else 0)


def _time(model: ModelSpec, strategy: Strategy, work: _Work) -> int:
    layers, pp = model.num_layers, strategy.pp
    if pp == 1:
        embeddings = 3 * (work.input_embedding + work.output_embedding)
        updates = work.input_update + work.output_update
        return embeddings + updates + layers * (work.layer + work.layer_updates)
    # The products of the input embedding: one before all others, two and an update after them.
    embeddings = 3 * work.input_embedding + 2 * work.output_embedding
    times = [embeddings + layers * work.layer_in_turn + work.input_update]
    last = (layers + 1) % pp
    for stage in {0, 1, last}:
        time = _layers_of(stage, layers, pp) * (work.layer + work.layer_updates)
        if stage == 0:
            time += 3 * work.input_embedding + work.input_update
        if stage == last:
            time += 3 * work.output_embedding + work.output_update
        times.append(time)
    return max(times)


def _memory(model: ModelSpec, strategy: Strategy, outlasts: bool) -> int:
    """Return bytes that a rank of one of the stages holds when out_emb_dx starts; one element is one byte."""
    layers, pp, tp = model.num_layers, strategy.pp, strategy.tp
    width, shard, hidden = model.d_model, model.d_model // tp, model.d_ff // tp
    stored = strategy.dp * strategy.sp if strategy.weight_sharded else 1
    inputs, outputs = model.input_dim * shard // stored, width * (model.output_dim // tp) // stored
    layer = (3 * width * shard + 2 * width * hidden) // stored
    if outlasts:
        tokens = model.batch_size // strategy.dp * (model.seq_len // strategy.sp)
        activation = tokens * shard
        if strategy.activation_recompute:
            layer += (4 if strategy.weight_sharded else 2) * activation  # inputs of both blocks; q and k
        else:
            scores = tokens * model.seq_len * (model.num_heads // tp)
            layer += 5 * activation + scores + tokens * hidden  # inputs; q, k and v; qk; x1
        inputs += tokens * (model.input_dim // tp)
        outputs += tokens * (model.output_dim // tp + width)
        if pp > 1:
            layer += activation
            inputs += activation
    last = (layers + 1) % pp
    return max(
        [
            _layers_of(stage, layers, pp) * layer + (stage == 0) * inputs + (stage == last) * outputs
            for stage in {0, 1 % pp, last}
        ]
    )


def _layers_of(stage: int, layers: int, pp: int) -> int:
    """Return how many of the layers 0, 1, … a stage has: layer l is in stage (l + 1) mod pp."""
    return (layers - stage) // pp + (stage > 0) if stage <= layers else 0


def _speeds(strategy: Strategy, system: SystemSpec) -> set[tuple[float, float]]:
    """Return operations and bytes per second: of each NPU, of the fastest with stages."""
    speeds = set(npu_speeds(system))
    if strategy.pp == 1:
        return speeds
    return {(max(speed[0] for speed in speeds), max(speed[1] for speed in speeds))}


def _work(model: ModelSpec, strategy: Strategy, peak: float, bandwidth: float) -> _Work:
    """Return durations from operation counts and `tensor_size`."""
    tp = strategy.tp
    tokens = model.batch_size // strategy.dp * (model.seq_len // strategy.sp)
    gathered = model.batch_size // strategy.dp * model.seq_len  # tokens of a sequence over sp
    width, shard = model.d_model, model.d_model // tp
    heads, hidden = model.num_heads // tp, model.d_ff // tp
    inputs, outputs = model.input_dim, model.output_dim // tp
    recompute = strategy.activation_recompute
    stored = strategy.dp * strategy.sp if strategy.weight_sharded else 1

    largest = tokens * width * max(inputs, outputs, hidden, model.seq_len)
    slack = 1.0 if largest < _EXACT else 1 - 1e-12

    def node(operations: int, size: int) -> int:
        """Return the duration in the order of operations of the simulator, truncated."""
        rate = min(bandwidth * (operations / size), peak)
        duration = operations / rate * 1e9 * slack if rate > 0 else math.inf
        return int(duration) if duration < _EXACT else 0

    activation = tokens * shard
    projection = node(activation * width, activation + tokens * width + width * shard)
    scores = node(activation * model.seq_len, activation + gathered * shard + tokens * model.seq_len * heads)
    feed = node(tokens * hidden * width, tokens * (hidden + width) + width * hidden)
    total = node(activation, 3 * activation)
    norm = node(5 * activation, 2 * activation)
    elementwise = 8 * total + 4 * norm
    # Recomputed: three projections and a score of attention; one product of the feed-forward block, for dw2.
    again = 3 * projection + scores if recompute else 0
    weight, matrix = width * shard // stored, width * hidden // stored
    return _Work(
        input_embedding=node(activation * inputs, activation + tokens * inputs + inputs * shard),
        output_embedding=node(tokens * outputs * width, tokens * (outputs + width) + width * outputs),
        layer=9 * projection + 6 * scores + (7 if recompute else 6) * feed + elementwise + again,
        layer_in_turn=6 * projection + 6 * scores + 4 * feed + elementwise + again,
        input_update=node(inputs * shard // stored, 3 * (inputs * shard // stored)),
        output_update=node(width * outputs // stored, 3 * (width * outputs // stored)),
        layer_updates=3 * node(weight, 3 * weight) + 2 * node(matrix, 3 * matrix),
    )
