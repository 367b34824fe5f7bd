"""A step piece by piece in plain Python, what the engine's predictions are tested against.

The pipeline alone is the engine's, which has the plain recursion for a test of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.models.flops import training_flops
from dse.inputs.strategies.schedules import schedule_named
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import Prediction
from dse.prediction.steps.schedules import PipelineTimes, StageTimes, pipeline
from tests.references.prediction.checks import micro_batches
from tests.references.prediction.collectives import Links
from tests.references.prediction.groups import groups_of
from tests.references.prediction.layout import Chunk, stages
from tests.references.prediction.memory import stage_bytes
from tests.references.prediction.placement import Group
from tests.references.prediction.sharded_sizes import Local
from tests.references.prediction.step import CONTENDED, Passes, Timer
from tests.references.prediction.timing import Parts
from tests.references.prediction.weights import Weights, stage_weights


@dataclass(frozen=True)
class Stepwise:
    """A plan that has passed its checks; `stages=balanced` has become the layers of each part."""

    model: ModelSpec
    plan: Plan
    cluster: Cluster

    @cached_property
    def local(self) -> Local:
        """Sizes on one NPU."""
        return Local(self.model, self.plan)

    @cached_property
    def groups(self) -> dict[str, Group]:
        """The groups of every axis."""
        return groups_of(self.plan)

    @cached_property
    def stages(self) -> tuple[tuple[Chunk, ...], ...]:
        """The chunks of each stage."""
        return stages(self.model, self.plan)

    @cached_property
    def micro_batches(self) -> int:
        """Micro-batches of a data-parallel rank."""
        return micro_batches(self.model, self.plan)

    @cached_property
    def timer(self) -> Timer:
        """Times blocks, each kind once."""
        return Timer(self.local, self.cluster, self.groups)

    @cached_property
    def passes(self) -> list[list[Passes]]:
        """Passes of every chunk; those of equal chunks are the same object."""
        timer = self.timer
        known: dict[Chunk, Passes] = {}
        for chunk in {chunk: None for stage in self.stages for chunk in stage}:
            known[chunk] = timer.chunk(chunk)
        return [[known[chunk] for chunk in stage] for stage in self.stages]

    def links(self, axis: str) -> Links:
        """The links of the groups of an axis."""
        return self.timer.links(axis)

    def prediction(self) -> Prediction:
        """Return time and memory, without notes and interval."""
        silent, timed = self._pipelines()
        most_s = max(timed.busy_s) * (1 - 1e-12)  # equal stages differ by rounding
        busiest = next(stage for stage, busy_s in enumerate(timed.busy_s) if busy_s >= most_s)
        parts = Parts()
        for own in self.passes[busiest]:
            parts = parts.plus(own.both, self.micro_batches)
        parts.add("pp_bubble", silent.makespan_s - silent.busy_s[busiest])
        parts.add("p2p", timed.makespan_s - silent.makespan_s)
        for part, seconds in self._gradients(timed).items():
            parts.add(part, seconds)
        step_s = parts.total_s
        memory = self._memory(timed)
        return Prediction(
            step_s=step_s,
            parts_s=parts.complete(),
            peak_memory_bytes=sum(memory.values()),
            memory_bytes=memory,
            bubble_share=silent.bubble_s[busiest] / silent.makespan_s,
            model_flops=training_flops(self.model),
        )

    def stage_times(self) -> list[list[StageTimes]]:
        """Times of passes, stages x chunks."""
        splits = schedule_named(self.plan.schedule).splits_backward
        return [
            [
                StageTimes(own.forward.total_s, own.backward.total_s, own.weight_s if splits else 0.0)
                for own in stage
            ]
            for stage in self.passes
        ]

    def _pipelines(self) -> tuple[PipelineTimes, PipelineTimes]:
        """Without the time of messages, and with it."""
        times, schedule = self.stage_times(), self.plan.schedule
        silent, timed = (pipeline(schedule, times, self.micro_batches, one) for one in (0.0, self._send_s()))
        return silent, timed

    def _send_s(self) -> float:
        """Time of a message between stages: each of tp ranks sends a share (Narayanan et al. 2021, 4.1)."""
        if self.plan.pp == 1:
            return 0.0
        return self.links("pp").send_s(2 * self.local.tokens * self.model.d_model / self.plan.tp)

    @cached_property
    def _stage_weights(self) -> list[tuple[Weights, ...]]:
        """Weights of the chunks of each stage."""
        known = {stage: tuple(stage_weights(self.local, stage)) for stage in dict.fromkeys(self.stages)}
        return [known[stage] for stage in self.stages]

    def _gradients(self, timed: PipelineTimes) -> Mapping[str, float]:
        """Exposed reduction of gradients and the optimiser, of the stage where it takes longest."""
        stages = [_sum(stage) for stage in dict.fromkeys(self._stage_weights)]
        exposed = 0.0 if self.plan.zero_stage == 3 else self._scattered_s(timed) + self._gathered_s()
        return {"dp": exposed, "optimizer": max(map(self._optimizer_s, stages))}

    def _scattered_s(self, timed: PipelineTimes) -> float:
        """The time of reducing gradients that comes after the pipeline, on the stage that ends last.

        The buckets of a chunk are reduced during its last backward pass, after those of earlier chunks, and
        slow that pass down. ZeRO-2 reduces those of every micro-batch.
        """
        plan = self.plan
        rounds = self.micro_batches if plan.zero_stage == 2 else 1
        reduced_s = {
            own: rounds * self._reduce_s(own) for stage in dict.fromkeys(self._stage_weights) for own in stage
        }
        splits = schedule_named(plan.schedule).splits_backward
        last = 0.0
        for passes, weights, complete, finish in zip(
            self.passes, self._stage_weights, timed.gradients_s, timed.finish_s, strict=True
        ):
            end = 0.0 if plan.overlap_dp else finish
            for chunk in sorted(range(len(passes)), key=complete.__getitem__):
                taken = reduced_s[weights[chunk]]
                if not plan.overlap_dp:
                    end += taken
                    continue
                own = passes[chunk]
                begin = complete[chunk] - rounds * (own.weight_s if splits else own.backward.total_s)
                end = max(max(end, begin) + taken, complete[chunk] + CONTENDED * taken)
            last = max(last, end)
        return max(0.0, last - timed.makespan_s)

    def _reduce_s(self, weights: Weights) -> float:
        """Sum the gradients of a chunk over all who have its weights; from ZeRO-1 on, each gets a share."""
        gradient, weights = float(self.local.framework.gradient_bytes), weights.trained
        dense, experts = self.links("dp_cp"), self.links("expert_dp")
        if self.plan.zero_stage == 0:
            return dense.all_reduce_s(gradient * weights.dense) + experts.all_reduce_s(
                gradient * weights.experts
            )
        return dense.gather_s(gradient * weights.dense) + experts.gather_s(gradient * weights.experts)

    def _gathered_s(self) -> float:
        """The time of gathering weights (ZeRO-1 and 2) that the first forward passes do not hide.

        A chunk needs all of its weights at the end of its first forward pass: before it run the first passes
        of earlier stages, and those of as many micro-batches as there are stages through each earlier chunk.
        """
        plan = self.plan
        if plan.zero_stage == 0:
            return 0.0
        exposed = filled = 0.0
        dense, experts = self.links("dp_cp"), self.links("expert_dp")
        for passes, weights in zip(self.passes, self._stage_weights, strict=True):
            taken, hidden = 0.0, filled
            for own, chunk in zip(passes, weights, strict=True):
                updated = chunk.trained
                one = dense.gather_s(2 * updated.dense) + experts.gather_s(2 * updated.experts)
                taken += one
                forward = own.forward.total_s
                left = max(CONTENDED * one, taken - hidden - forward) if plan.overlap_dp else taken
                exposed = max(exposed, left)
                hidden += min(plan.pp, self.micro_batches) * forward
            filled += passes[0].forward.total_s
        return exposed

    def _optimizer_s(self, weights: Weights) -> float:
        """Adam on the share of each rank, and the norm of all gradients that it holds."""
        plan, weights = self.plan, weights.trained
        own = weights.total
        if plan.zero_stage:
            own = weights.dense / self.groups["dp_cp"].size + weights.experts / self.groups["expert_dp"].size
        held = own if plan.zero_stage >= 2 else weights.total
        rates, framework = self.timer.rates, self.local.framework
        rate = self.timer.host_bytes_per_s if plan.offload == "optimizer" else rates.memory
        adam_s = framework.adam_bytes * own / rate
        return adam_s + framework.scale_bytes * held / rates.memory

    def _memory(self, timed: PipelineTimes) -> dict[str, int]:
        """Categories of the fullest stage."""
        # Of stages that are alike, the one that holds most is fullest.
        most: dict[tuple[Chunk, ...], int] = {}
        for chunks, held in zip(self.stages, timed.in_flight, strict=True):
            most[chunks] = max(held, most.get(chunks, 0))
        weights = dict(zip(self.stages, self._stage_weights, strict=True))
        found = [
            stage_bytes(self.local, chunks, _sum(weights[chunks]), held, self.groups)
            for chunks, held in most.items()
        ]
        fullest = max(found, key=lambda one: sum(one.values()))
        return {category: round(size) for category, size in fullest.items()}


def _sum(weights: tuple[Weights, ...]) -> Weights:
    total = Weights(0.0, 0.0)
    for own in weights:
        total = total.plus(own)
    return total
