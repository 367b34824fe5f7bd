"""The layers that each pipeline stage has, by kind, and what stands before and after them."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass, replace

from dse.inputs.models import ModelSpec
from dse.inputs.models.matrices import LayerKind, layer_kinds
from dse.inputs.strategies.divisibility import InfeasibleStrategy
from dse.inputs.strategies.schedules import schedule_named
from dse.prediction.steps.plan import Plan


@dataclass(frozen=True)
class Chunk:
    """The part of the model that a stage runs without handing over; `layers` counts those of each kind.

    `repeated` of them are computed again in the backward pass.
    """

    layers: tuple[tuple[LayerKind, int], ...]
    has_embedding: bool
    has_head: bool
    repeated: int = 0

    @functools.cached_property
    def count(self) -> int:
        """Number of layers."""
        return sum(count for _, count in self.layers)


def stages(model: ModelSpec, plan: Plan) -> tuple[tuple[Chunk, ...], ...]:
    """Return the chunks of each stage, with so many layers as `stage_layers` or the plan itself says.

    Of `plan.recompute_layers` of a stage, each of its chunks repeats an equal share, the first ones more.

    Raises:
        InfeasibleStrategy: layers do not go up, or fewer layers than are to be recomputed.
    """
    layout = Plan(
        pp=plan.pp,
        schedule=plan.schedule,
        chunks=plan.chunks,
        stages=plan.stages,
        recompute=plan.recompute,
        recompute_layers=plan.recompute_layers,
    )
    return _laid_out(layer_kinds(model), layout)


@functools.lru_cache(maxsize=1024)
def _laid_out(of_kinds: tuple[tuple[LayerKind, int], ...], plan: Plan) -> tuple[tuple[Chunk, ...], ...]:
    """Return the chunks of each stage; many plans of a sweep differ in what has no part in them."""
    kinds, further = _in_order(of_kinds), dict(of_kinds).get("prediction", 0)
    counts = plan.layers_per_stage or stage_layers(len(kinds), plan)
    parts = plan.pp * plan.chunks
    if len(counts) != parts or sum(counts) != len(kinds) or min(counts) < 0:
        raise InfeasibleStrategy(
            f"layers_per_stage is {list(counts)}; it must have {parts} counts that sum to {len(kinds)} layers"
        )
    found = _stages(kinds, further, counts, plan)
    if plan.recompute == "none":
        return found
    most = max(sum(chunk.count for chunk in stage) for stage in found)
    if plan.recompute_layers > most:
        raise InfeasibleStrategy(
            f"recompute_layers is {plan.recompute_layers}; it must be at most the {most} layers of a stage"
        )
    return tuple([_repeating(stage, plan.recompute_layers) for stage in found])


def layers_in_order(model: ModelSpec) -> list[LayerKind]:
    """Return the kind of each layer that stages share out: prediction layers stay with the head."""
    return _in_order(layer_kinds(model))


def _in_order(of_kinds: tuple[tuple[LayerKind, int], ...]) -> list[LayerKind]:
    return [kind for kind, count in of_kinds for _ in range(count) if kind != "prediction"]


def _repeating(stage: tuple[Chunk, ...], count: int) -> tuple[Chunk, ...]:
    """Chunks that compute `count` of their layers again in all (0 means all), as equally as they can."""
    left = sum(chunk.count for chunk in stage) if count == 0 else count
    shares = [0] * len(stage)
    while left and any(share < chunk.count for share, chunk in zip(shares, stage, strict=True)):
        for index, chunk in enumerate(stage):
            if left and shares[index] < chunk.count:
                shares[index] += 1
                left -= 1
    return tuple([replace(chunk, repeated=share) for chunk, share in zip(stage, shares, strict=True)])


def _stages(
    kinds: list[LayerKind], further: int, counts: tuple[int, ...], plan: Plan
) -> tuple[tuple[Chunk, ...], ...]:
    pp, chunks = plan.pp, plan.chunks
    made: list[Chunk] = []
    start = 0
    for index, count in enumerate(counts):
        own: Counter[LayerKind] = Counter(kinds[start : start + count])
        start += count
        is_last = index == len(counts) - 1
        if is_last and further:
            own["prediction"] = further
        made.append(Chunk(tuple(own.items()), index == 0, is_last))
    if schedule_named(plan.schedule).is_v_shaped:
        return tuple([(made[stage], made[2 * pp - 1 - stage]) for stage in range(pp)])
    return tuple([tuple([made[chunk * pp + stage] for chunk in range(chunks)]) for stage in range(pp)])


def stage_layers(layers: int, plan: Plan) -> tuple[int, ...]:
    """Return the layers of each part of the pipeline, in the order of the model, by the rule of the plan.

    `even`: equal counts; where that does not go up, the head, or embedding and head, count as a layer.
    `spread`: as equal as can be, with one more in the middle. `lighter-last` and `lighter-ends`: the same
    with the head, or embedding and head, counted as a layer (Megatron-LM's account for embedding and loss in
    the split), so that an end may have no other layer. `balanced` needs times, so that
    `tests.references.prediction.balance` says it.

    Raises:
        InfeasibleStrategy: they do not go up, or a part gets none.
    """
    parts = plan.pp * plan.chunks
    extra = {"lighter-last": 1, "lighter-ends": 2, "even": 2}.get(plan.stages, 0)
    if layers + extra < parts:
        ends = f" and {extra} for the ends" if extra else ""
        raise InfeasibleStrategy(
            f"pp {plan.pp} x chunks {plan.chunks} is {parts}; it must be at most the {layers} layers{ends}"
        )
    if plan.stages != "even":
        return _lighter(_spread(layers + extra, parts), extra)
    for extra in (0, 1, 2):  # none, the head, embedding and head
        if (layers + extra) % parts == 0:
            return _lighter([(layers + extra) // parts] * parts, extra)
    raise InfeasibleStrategy(
        f"pp {plan.pp} x chunks {plan.chunks} is {parts}; it must divide the {layers} layers (or "
        f"{layers + 1} or {layers + 2}, with the head, or head and embedding, counted as a layer), or write "
        "stages=spread"
    )


def _lighter(counts: list[int], extra: int) -> tuple[int, ...]:
    counts[-1] -= extra > 0
    counts[0] -= extra > 1
    return tuple(counts)


def _spread(layers: int, parts: int) -> list[int]:
    least, more = divmod(layers, parts)
    start = (parts - more) // 2
    return [least + (start <= index < start + more) for index in range(parts)]
