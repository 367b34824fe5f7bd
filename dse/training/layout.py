"""Which layers each pipeline stage has, by kind, and what stands before and after them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from dse.models import ModelSpec
from dse.models.matrices import LayerKind, layer_kinds
from dse.strategies.divisibility import InfeasibleStrategy
from dse.training.plan import Plan
from dse.training.schedules import schedule_named


@dataclass(frozen=True)
class Chunk:
    """The part of the model that a stage runs without handing over; `layers` counts those of each kind."""

    layers: tuple[tuple[LayerKind, int], ...]
    has_embedding: bool
    has_head: bool

    @property
    def count(self) -> int:
        """Number of layers."""
        return sum(count for _, count in self.layers)


def stages(model: ModelSpec, plan: Plan) -> tuple[tuple[Chunk, ...], ...]:
    """Return the chunks of each stage.

    Layers are spread evenly; where that does not go up, the head, or embedding and head, count as a layer
    (Megatron-LM's account for embedding and loss in the split), or the plan says how many each stage has.

    Raises:
        InfeasibleStrategy: they do not go up.
    """
    return _stages(
        model, plan.pp, plan.chunks, plan.layers_per_stage, schedule_named(plan.schedule).is_v_shaped
    )


def _stages(
    model: ModelSpec, pp: int, chunks: int, given: tuple[int, ...], is_v_shaped: bool
) -> tuple[tuple[Chunk, ...], ...]:
    kinds: list[LayerKind] = [
        kind for kind, count in layer_kinds(model) for _ in range(count) if kind != "prediction"
    ]
    counts = _counts(len(kinds), pp, chunks, given)
    made: list[Chunk] = []
    start = 0
    for index, count in enumerate(counts):
        own: Counter[LayerKind] = Counter(kinds[start : start + count])
        start += count
        is_last = index == len(counts) - 1
        if is_last and model.prediction_layers:
            own["prediction"] = model.prediction_layers
        made.append(Chunk(tuple(own.items()), index == 0, is_last))
    if is_v_shaped:
        return tuple([(made[stage], made[2 * pp - 1 - stage]) for stage in range(pp)])
    return tuple([tuple([made[chunk * pp + stage] for chunk in range(chunks)]) for stage in range(pp)])


def _counts(layers: int, pp: int, chunks: int, given: tuple[int, ...]) -> list[int]:
    parts = pp * chunks
    if given:
        if len(given) != parts or sum(given) != layers or min(given) < 0:
            raise InfeasibleStrategy(
                f"layers_per_stage is {list(given)}; it must have {parts} counts that sum to {layers} layers"
            )
        return list(given)
    if layers < parts:
        raise InfeasibleStrategy(
            f"pp {pp} x chunks {chunks} is {parts}; it must be at most the {layers} layers"
        )
    for extra in (0, 1, 2):  # none, the head, embedding and head
        if (layers + extra) % parts == 0:
            counts = [(layers + extra) // parts] * parts
            counts[-1] -= extra > 0
            counts[0] -= extra > 1
            return counts
    raise InfeasibleStrategy(
        f"pp {pp} x chunks {chunks} is {parts}; it must divide the {layers} layers (or {layers + 1} or "
        f"{layers + 2}, with the head, or head and embedding, counted as a layer), or write layers_per_stage"
    )
