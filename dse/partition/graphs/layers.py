"""A model on a cluster as a row of layers, with the prices of the training step that is predicted for it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dse.base.errors import InputError
from dse.base.solvers import PARTITION_SLACK
from dse.base.units import format_bytes
from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.partition.graphs.sources.source import Operator, Source
from dse.partition.objectives import InfeasiblePartition, evaluate
from dse.partition.problem.problem import MOST_DEVICES, Devices, Partition, PartitionProblem
from dse.prediction.steps.batch import Case
from dse.prediction.steps.details import (
    StageOperation,
    layer_seconds,
    stage_memory,
    stage_operations,
    step_details,
)
from dse.prediction.steps.plan import Plan, text_of_layers
from dse.prediction.steps.predict import figures, predict
from dse.prediction.steps.structured import message_bytes

Counts = tuple[int, ...]

MOST_LAYOUTS = 5000
"""So many predictions in one batch take parts of a second."""


@dataclass(frozen=True)
class Layers:
    """A model whose layers go to the stages of `plan`, each a device: a group of NPUs with its replicas.

    An NPU has `memory_bytes`. Of `plan` all but the layers of the stages stays as it is.
    """

    model: ModelSpec
    plan: Plan
    cluster: Cluster
    memory_bytes: float

    @cached_property
    def source(self) -> Source:
        """The layers: ns of both passes of a micro-batch on an NPU; edges carry what the NPU sends on.

        The embedding is part of the first layer, and the head of the last.

        Raises:
            InfeasibleStrategy: the plan cannot run.
            InputError: stages have several chunks, or there are too many.
        """
        if self.plan.chunks > 1:
            raise InputError(
                f"strategy.schedule is {self.plan.schedule} with {self.plan.chunks} chunks a stage; a device "
                "of a partition has one: write strategy.chunks=1, and strategy.schedule=1f1b, gpipe or zb-h1"
            )
        if self.plan.pp > MOST_DEVICES:
            raise InputError(
                f"there are {self.plan.pp} stages; at most {MOST_DEVICES} can be partitioned over: take more "
                "NPUs for each by strategy.tp, strategy.cp or strategy.dp"
            )
        seconds = layer_seconds(self.model, self.plan, self.cluster)
        size = float(message_bytes(self.model, self.plan))
        operators = [Operator(f"layer {n}", f"layers.{n}", ns=1e9 * s) for n, s in enumerate(seconds)]
        joints = tuple(itertools.pairwise(range(len(seconds))))
        return Source(self.model.name, tuple(operators), joints, (size,) * len(joints))

    @property
    def devices(self) -> Devices:
        """The stages. Messages between them keep none from its work, so that a bottleneck has none."""
        each = self.plan.npus // self.plan.pp
        where = "NPU" if each == 1 else f"{each} NPUs"
        return Devices(self.plan.pp, names=tuple(f"stage {stage}: {where}" for stage in range(self.plan.pp)))

    def plan_of(self, labels: Sequence[int]) -> Plan:
        """Return the plan whose stages have the layers of a partition without empty devices."""
        return self._plan(_counts(labels, self.plan.pp))

    def memory_of(self, labels: Sequence[int]) -> tuple[float, ...]:
        """Return the peak bytes of an NPU of each stage."""
        return stage_memory(self.model, self.plan_of(labels), self.cluster)

    def step(self, labels: Sequence[int]) -> dict[str, Any]:
        """Return the predicted step of a partition, as `dse.partition.step` describes it."""
        plan = self.plan_of(labels)
        whole = predict(self.model, plan, self.cluster)
        found = step_details(self.model, plan, self.cluster)
        passes = [one for (one,) in found.passes]
        both = [one.forward_s + one.backward_s for one in passes]
        return {
            "schedule": plan.schedule,
            "micro_batches": found.micro_batches,
            "step_ns": 1e9 * whole.step_s,
            "range_s": whole.range_s,
            "closed_form_ns": 1e9 * ((found.micro_batches - 1) * max(both) + sum(both)),
            "backward": sum(one.backward_s for one in passes) / sum(one.forward_s for one in passes),
        }

    def operations(self, labels: Sequence[int]) -> list[StageOperation]:
        """Return what the stages run in that step."""
        return stage_operations(self.model, self.plan_of(labels), self.cluster)

    def settled(self, problem: PartitionProblem, found: Partition) -> Partition:
        """Return a partition that fits the memory and has the fastest step, of those the least cost.

        Of up to `MOST_LAYOUTS` layouts all are predicted. Of more, a layer goes from one stage to another,
        with those between moving up, while that makes it better; a note says so. `optimal` is about the cost.

        Raises:
            InfeasiblePartition: none that fits is found; names the memory of the fullest stage.
        """
        stages, layers = self.plan.pp, len(found.labels)
        best = _filled(_counts(found.labels, stages))
        value = next(self._values(problem, [best]))
        layouts = math.comb(layers - 1, stages - 1)
        while True:
            tried = list(_layouts(layers, stages) if layouts <= MOST_LAYOUTS else _neighbours(best))
            better = min(zip(self._values(problem, tried), tried, strict=True), default=(value, best))
            if better[0] >= value:
                break
            value, best = better
            if layouts <= MOST_LAYOUTS:
                break
        note = f"no other of all {layouts} layouts has a faster step"
        if layouts > MOST_LAYOUTS:
            note = "no layer moved to another stage makes the step faster; other layouts were not predicted"
        if value[0] > 0:
            raise InfeasiblePartition(
                f"the fullest stage needs {format_bytes(self.memory_bytes + value[0])} of each NPU, which "
                f"has {format_bytes(self.memory_bytes)}; try strategy.tp, strategy.zero or strategy.recompute"
            )
        labels = tuple(stage for stage, count in enumerate(best) for _ in range(count))
        cost = evaluate(problem, labels)
        is_optimal = found.optimal and cost <= found.cost * (1 + PARTITION_SLACK)
        return replace(found, labels=labels, cost=cost, optimal=is_optimal, notes=(*found.notes, note))

    def _values(
        self, problem: PartitionProblem, layouts: Sequence[Counts]
    ) -> Iterator[tuple[float, float, float]]:
        """Return the missing memory, the step and the bottleneck of each, of which less is better."""
        cases = [Case(self.model, self._plan(counts), self.cluster) for counts in layouts]
        for counts, step in zip(layouts, figures(cases), strict=True):
            if isinstance(step, str):
                raise InfeasiblePartition(step)
            missing = max(0.0, step.peak_memory_bytes - self.memory_bytes)
            yield missing, float(f"{step.step_s:.12g}"), _bottleneck(problem, counts)

    def _plan(self, counts: Counts) -> Plan:
        return replace(self.plan, stages=text_of_layers(counts)) if self.plan.pp > 1 else self.plan


def _counts(labels: Sequence[int], stages: int) -> Counts:
    counts = [0] * stages
    for label in labels:
        counts[label] += 1
    return tuple(counts)


def _filled(counts: Counts) -> Counts:
    """Give empty stages a layer each of the fullest one: no other order of layers, and none longer."""
    kept = [count for count in counts if count]
    while len(kept) < len(counts):
        fullest = kept.index(max(kept))
        kept[fullest : fullest + 1] = [kept[fullest] - 1, 1]
    return tuple(kept)


def _layouts(layers: int, stages: int) -> Iterator[Counts]:
    for cuts in itertools.combinations(range(1, layers), stages - 1):
        yield tuple(end - start for start, end in itertools.pairwise((0, *cuts, layers)))


def _neighbours(counts: Counts) -> Iterator[Counts]:
    for source, target in itertools.permutations(range(len(counts)), 2):
        if counts[source] > 1:
            yield tuple(count + (n == target) - (n == source) for n, count in enumerate(counts))


def _bottleneck(problem: PartitionProblem, counts: Counts) -> float:
    """Return the longest stage in ns, alike for stages that differ by rounding alone."""
    layers = iter(problem.graph.node_weights)
    longest = max(sum(itertools.islice(layers, count)) for count in counts)
    return float(f"{longest:.12g}")
