"""A training step's time and memory from its structure: blocks once, the pipeline, what overlaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dse.accelerators.cluster import Cluster
from dse.accelerators.placement import Group, placement
from dse.models import ModelSpec
from dse.models.flops import training_flops
from dse.training.checks import check, micro_batches
from dse.training.collectives import Links
from dse.training.layout import Chunk, stages
from dse.training.local import Local
from dse.training.memory import Weights, chunk_weights, stage_bytes
from dse.training.plan import Plan
from dse.training.prediction import Prediction
from dse.training.schedules import PipelineTimes, StageTimes, pipelines, schedule_named
from dse.training.step import HOST_LINK, Passes, Timer
from dse.training.timing import Parts

_ADAM_BYTES = 30.0
"""Per parameter: gradient, master weight, two moments read; the last three and the 16-bit weight written."""

_SCALE_BYTES = 8.0
"""Per gradient: read for its norm, read and written to be scaled, on average."""

_FIRST_BUCKET = 0.05
"""Share of the gradients reduced after the last product: the last bucket has nothing to hide behind."""


def predict(model: ModelSpec, plan: Plan, cluster: Cluster) -> Prediction:
    """Predict a training step of `model` under `plan` on `cluster`.

    Raises:
        InfeasibleStrategy: the plan cannot run; says why.
    """
    check(model, plan, cluster)
    return _Step(model, plan, cluster).prediction()


@dataclass(frozen=True)
class PredictedPipeline:
    """The predicted passes of stages x chunks, messages between stages, and what comes after the pipeline."""

    passes: list[list[Passes]]
    chunks: tuple[tuple[Chunk, ...], ...]
    micro_batches: int
    send_s: float
    after_s: float
    optimizer_s: float


def predicted_pipeline(model: ModelSpec, plan: Plan, cluster: Cluster) -> PredictedPipeline:
    """Return the pipeline that `predict` times; raises as it does."""
    check(model, plan, cluster)
    step = _Step(model, plan, cluster)
    after = step._gradients()
    return PredictedPipeline(
        step.passes,
        step.stages,
        step.micro_batches,
        step._send_s(),
        sum(after.values()),
        after["optimizer"],
    )


@dataclass(frozen=True)
class _Step:
    model: ModelSpec
    plan: Plan
    cluster: Cluster

    @cached_property
    def local(self) -> Local:
        return Local(self.model, self.plan)

    @cached_property
    def groups(self) -> dict[str, Group]:
        plan = self.plan
        degrees = {"tp": plan.tp, "cp": plan.cp, "ep": plan.ep, "dp": plan.dp, "pp": plan.pp}
        return placement(plan.order, {**degrees, "expert_tp": self.local.expert_tp})

    @cached_property
    def stages(self) -> tuple[tuple[Chunk, ...], ...]:
        return stages(self.model, self.plan)

    @cached_property
    def micro_batches(self) -> int:
        return micro_batches(self.model, self.plan)

    @cached_property
    def timer(self) -> Timer:
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
        return Links.of(self.groups[axis], self.cluster)

    def prediction(self) -> Prediction:
        silent, timed = self._pipelines()
        busiest = max(range(self.plan.pp), key=lambda stage: timed.busy_s[stage])
        parts = Parts()
        for own in self.passes[busiest]:
            parts = parts.plus(own.both, self.micro_batches)
        parts.add("pp_bubble", silent.makespan_s - silent.busy_s[busiest])
        parts.add("p2p", timed.makespan_s - silent.makespan_s)
        for part, seconds in self._gradients().items():
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
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        return (self.cluster.accelerator.calibration,) if self.cluster.accelerator.calibration else ()

    def _pipelines(self) -> tuple[PipelineTimes, PipelineTimes]:
        """Without the time of messages, and with it."""
        splits = schedule_named(self.plan.schedule).splits_backward
        times = [
            [
                StageTimes(own.forward.total_s, own.backward.total_s, own.weight_s if splits else 0.0)
                for own in stage
            ]
            for stage in self.passes
        ]
        send_s = self._send_s()
        sends = [0.0, send_s] if send_s else [0.0]
        found = pipelines(self.plan.schedule, times, self.micro_batches, sends)
        return found[0], found[-1]

    def _send_s(self) -> float:
        """Time of a message between stages: each of tp ranks sends a share (Narayanan et al. 2021, 4.1)."""
        if self.plan.pp == 1:
            return 0.0
        return self.links("pp").send_s(2 * self.local.tokens * self.model.d_model / self.plan.tp)

    @cached_property
    def _stage_weights(self) -> list[Weights]:
        known: dict[tuple[Chunk, ...], Weights] = {}
        for stage in dict.fromkeys(self.stages):  # most stages are alike
            own = [chunk_weights(self.local, chunk) for chunk in stage]
            known[stage] = Weights(sum(one.dense for one in own), sum(one.experts for one in own))
        return [known[stage] for stage in self.stages]

    def _gradients(self) -> Mapping[str, float]:
        """Exposed reduction of gradients and the optimiser, of the stage with most weights."""
        plan = self.plan
        stage = max(range(plan.pp), key=lambda one: self._stage_weights[one].total)
        weights = self._stage_weights[stage]
        exposed = 0.0 if plan.zero == 3 else self._exposed_s(stage, weights)
        return {"dp": exposed, "optimizer": self._optimizer_s(weights)}

    def _exposed_s(self, stage: int, weights: Weights) -> float:
        """What of reducing gradients and gathering weights the last backward pass does not hide."""
        plan, gradient = self.plan, float(self.local.framework.gradient_bytes)
        dense, experts = self.links("dp_cp"), self.links("expert_dp")
        if plan.zero == 0:
            total = dense.all_reduce_s(gradient * weights.dense) + experts.all_reduce_s(
                gradient * weights.experts
            )
            gathered = 0.0
        else:
            rounds = self.micro_batches if plan.zero == 2 else 1
            total = rounds * (
                dense.gather_s(gradient * weights.dense) + experts.gather_s(gradient * weights.experts)
            )
            gathered = dense.gather_s(2 * weights.dense) + experts.gather_s(2 * weights.experts)
        if not plan.overlap_dp:
            return total + gathered
        own = self.passes[stage]
        backward, forward = own[0].backward.total_s, own[0].forward.total_s
        rounds = self.micro_batches if plan.zero == 2 else 1
        return max(_FIRST_BUCKET * total, total - rounds * backward) + max(
            _FIRST_BUCKET * gathered, gathered - forward
        )

    def _optimizer_s(self, weights: Weights) -> float:
        """Adam on the share of each rank, and the norm of all gradients that it holds."""
        plan = self.plan
        own = weights.total
        if plan.zero:
            own = weights.dense / self.groups["dp_cp"].size + weights.experts / self.groups["expert_dp"].size
        held = own if plan.zero >= 2 else weights.total
        rates = self.timer.rates
        if plan.offload == "optimizer":
            return (_ADAM_BYTES * own) / HOST_LINK + _SCALE_BYTES * held / rates.memory
        return (_ADAM_BYTES * own + _SCALE_BYTES * held) / rates.memory

    def _memory(self, timed: PipelineTimes) -> dict[str, int]:
        """Categories of the fullest stage."""
        most: dict[
            tuple[Chunk, ...], int
        ] = {}  # of stages that are alike, the one that holds most is fullest
        for chunks, held in zip(self.stages, timed.in_flight, strict=True):
            most[chunks] = max(held, most.get(chunks, 0))
        found = [stage_bytes(self.local, chunks, held, self.groups) for chunks, held in most.items()]
        fullest = max(found, key=lambda one: sum(one.values()))
        return {category: round(size) for category, size in fullest.items()}
