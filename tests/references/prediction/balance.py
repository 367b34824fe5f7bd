"""Layers of pipeline stages by their time: the slowest part of the pipeline as fast as can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.models.matrices import LayerKind
from dse.prediction.steps.plan import Plan, text_of_layers
from tests.references.prediction.groups import groups_of
from tests.references.prediction.layout import Chunk, layers_in_order, stage_layers
from tests.references.prediction.sharded_sizes import Local
from tests.references.prediction.step import Timer


def balanced(model: ModelSpec, plan: Plan, cluster: Cluster) -> Plan:
    """Return a plan of `stages=balanced` with the layers of each part; other plans as they are.

    A part of the pipeline is a stage, or a chunk of one. Layers count with the predicted time of both passes,
    the first part has the embedding besides, and the last one head, loss and prediction layers.

    Raises:
        InfeasibleStrategy: fewer layers than parts.
    """
    if plan.stages != "balanced":
        return plan
    kinds = layers_in_order(model)
    stage_layers(len(kinds), replace(plan, stages="spread"))  # as many parts as layers at most
    timer = Timer(Local(model, plan), cluster, groups_of(plan))
    is_repeated = plan.recompute != "none" and not plan.recompute_layers

    def seconds(chunk: Chunk) -> float:
        return timer.chunk(chunk).both.total_s

    of_kind = {kind: seconds(Chunk(((kind, 1),), False, False, int(is_repeated))) for kind in set(kinds)}
    further: tuple[tuple[LayerKind, int], ...] = ()
    if model.prediction_layers:
        further = (("prediction", model.prediction_layers),)
    repeated = model.prediction_layers if is_repeated else 0
    counts = balanced_counts(
        [of_kind[kind] for kind in kinds],
        plan.pp * plan.chunks,
        first=seconds(Chunk((), True, False)),
        last=seconds(Chunk(further, False, True, repeated)),
    )
    return replace(plan, stages=text_of_layers(counts))


_NEXT = 1 + 1e-9
"""Parts that differ by rounding alone are equal."""


def balanced_counts(
    layers: Sequence[float], parts: int, *, first: float = 0.0, last: float = 0.0
) -> tuple[int, ...]:
    """Return how many of some layers in a row each part takes, at least one, so that the slowest is fastest.

    `first` and `last` are what the first and the last part take besides. Of equal answers, that in which
    later parts have most: the first ones hold most micro-batches.
    """
    low, high = 0.0, first + last + sum(layers)
    for _ in range(60):  # the doubles between them
        middle = (low + high) / 2
        if _filled(layers, parts, middle, first, last) is None:
            low = middle
        else:
            high = middle
    found = _filled(layers, parts, high * _NEXT, first, last)
    assert found is not None
    return found


def _filled(
    layers: Sequence[float], parts: int, most: float, first: float, last: float
) -> tuple[int, ...] | None:
    """Fill parts from the last on up to `most` seconds; None if layers are left over."""
    counts = []
    left = len(layers)
    for part in range(parts - 1, -1, -1):
        seconds = (last if part == parts - 1 else 0.0) + (first if part == 0 else 0.0)
        count = 0
        while left > part and (count == 0 or seconds + layers[left - 1] <= most):
            seconds += layers[left - 1]
            left -= 1
            count += 1
        if seconds > most:
            return None
        counts.append(count)
    return None if left else tuple(reversed(counts))
