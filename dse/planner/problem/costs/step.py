"""The pricing rule of the shared model of a step: stages as predictions time them, joined by one recurrence.

A stage is timed as if all stages of the pipeline were like it: its passes with their collectives, the
reduction of its gradients, its update, its memory. A message between stages takes as long as its slower side.
Where all stages are alike, the price is the prediction of a sweep.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from dse.base.errors import InputError
from dse.planner.problem.costs.rule import Infeasible, PriceRule
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem, StageCost
from dse.planner.problem.ranks import stage_types
from dse.planner.problem.steps import StepInputs, StepType, layer_way, way_of

if TYPE_CHECKING:
    from dse.base.solvers import StepQuestion

PARTS = ("pipeline", "messages", "gradients and weights", "optimizer")
_GIB = 2.0**30


class _Stage(NamedTuple):
    """The figures of a stage in seconds, and its memory in bytes."""

    forward: float
    backward: float
    send: float
    reduce: float
    gather: float
    optimizer: float
    memory_bytes: float


class StepRule(PriceRule):
    """Prices plans for stages of one type each, at most one group of stages a type, in any order of types."""

    def __init__(self, problem: PlanProblem) -> None:
        super().__init__(problem)
        if problem.steps is None:
            raise InputError(
                "cost=step prices predicted steps, and the times are those of profiles; write cost=strict, "
                "or model=NAME without profiles"
            )
        self.steps: StepInputs = problem.steps

    @cached_property
    def _question(self) -> StepQuestion:
        return self.steps.question(is_bounded=False)

    def price(self, plan: ClusterPlan) -> PlanCost:
        """Return the cost of a plan and its terms.

        Raises:
            Infeasible: the plan cannot run, or does not fit.
        """
        self._check_shape(plan)
        types = [self._type(name) for name in self._stage_types(plan)]
        stages, step_s, parts = self._mixed(plan, types)
        if plan_chunks(plan) > 1:
            step_s, held = self._interleaved(plan, types[0][1])
            # Chunks may hide exchanges of experts: passes take what is left besides updates, if that is less.
            pipeline_s = min(parts[0], step_s - parts[3])
            shown = pipeline_s / parts[0]
            stages = [
                stage._replace(
                    memory_bytes=held, forward=shown * stage.forward, backward=shown * stage.backward
                )
                for stage in stages
            ]
            # What is not a pass or an update is sent or waited for.
            parts = (pipeline_s, max(0.0, step_s - pipeline_s - parts[3]), 0.0, parts[3])
        for number, (stage, (_, type_)) in enumerate(zip(stages, types, strict=True)):
            if stage.memory_bytes > type_.memory_bytes:
                raise Infeasible(
                    f"stage {number}: {stage.memory_bytes / _GIB:.1f} GiB on a GPU of {type_.name}, which "
                    f"may hold {type_.memory_bytes / _GIB:.1f}",
                    f"more memory than a GPU of {type_.name} has",
                )
        costs = tuple(
            StageCost(
                1000 * (stage.forward + stage.backward),
                1000 * stage.send,
                1000 * stage.reduce,
                1000 * (stage.gather + stage.optimizer),
                (stage.memory_bytes,) * gpus,
            )
            for stage, gpus in zip(stages, plan.groups, strict=True)
        )
        named = tuple((name, 1000 * seconds) for name, seconds in zip(PARTS, parts, strict=True))
        return PlanCost(1000 * step_s, costs, 0.0, 0.0, named)

    def _check_shape(self, plan: ClusterPlan) -> None:
        problem, count = self.problem, len(plan.groups)
        if sorted(plan.types) != sorted(problem.cluster.types):
            raise Infeasible(f"types {list(plan.types)}: must be those of the cluster, each once")
        lengths = {count, len(plan.strategies), len(plan.ways), len(plan.starts), len(plan.partition) - 1}
        if len(lengths) != 1 or plan.costed != count or count < 1:
            raise Infeasible("groups, strategies, ways, starts and partition must have one entry a stage")
        bounds = plan.partition
        if bounds[0] != 0 or bounds[-1] != problem.layers or any(a > b for a, b in pairwise(bounds)):
            raise Infeasible(f"partition {list(bounds)}: must ascend from 0 to {problem.layers}")
        taken: set[int] = set()
        for start, gpus, (dp, tp), words in zip(
            plan.starts, plan.groups, plan.strategies, plan.ways, strict=True
        ):
            way = way_of(words)
            if dp * tp * way.cp != gpus or way.tp != tp:
                raise Infeasible(f"{dp} x {tp} with '{words}': must be the stage's {gpus} GPUs")
            own = range(start, start + gpus)
            if start < 0 or own.stop > problem.cluster.gpus or not taken.isdisjoint(own):
                raise Infeasible(f"ranks from {start}: {gpus} GPUs are not there, or of two stages")
            taken.update(own)

    def _stage_types(self, plan: ClusterPlan) -> list[str]:
        found = []
        for number, types in enumerate(stage_types(self.problem.cluster, plan)):
            if len(types) != 1:
                raise Infeasible(f"stage {number}: has GPUs of {', '.join(types)}; a stage has one type")
            found.append(next(iter(types)))
        return found

    def _type(self, name: str) -> tuple[int, StepType]:
        for number, type_ in enumerate(self.steps.types):
            if type_.name == name:
                return number, type_
        raise Infeasible(f"type {name}: nothing is known of its steps")

    def _mixed(
        self, plan: ClusterPlan, types: list[tuple[int, StepType]]
    ) -> tuple[list[_Stage], float, tuple[float, ...]]:
        stages = []
        # Layers that predict further tokens belong to the head; neither it nor the embedding counts here.
        ends = (*plan.partition[:-1], self.steps.layers + 1)
        for place, (number, _) in enumerate(types):
            layers = max(0, ends[place + 1] - 1) - max(0, ends[place] - 1)
            stages.append((number, self._way(number, plan.ways[place]), plan.strategies[place][0], layers))
        sequences = {
            dp * way_of(words).micro_batch for (dp, _), words in zip(plan.strategies, plan.ways, strict=True)
        }
        if len(sequences) != 1 or plan.batches != -(-self.problem.gbs // min(sequences)):
            raise Infeasible(
                f"{plan.batches} micro-batches of {sorted(sequences)} sequences: replicas of all stages must "
                f"take as many, and just all {self.problem.gbs}"
            )
        found = self._question.price((plan.batches, min(sequences), stages))
        if found is None:
            raise Infeasible("the model does not run this way: degrees do not divide it, or its batch")
        step_s, parts, rows = found
        return [_Stage._make([*row[:6], sum(row[6:])]) for row in rows], step_s, tuple(parts)

    def _way(self, type_: int, words: str) -> int:
        way = layer_way(way_of(words))
        for number, plan in enumerate(self.steps.plans[type_]):
            if plan == way:
                return number
        raise Infeasible(f"'{words}': is no way to run a layer that this space has")

    def _interleaved(self, plan: ClusterPlan, type_: StepType) -> tuple[float, float]:
        if len(set(plan.ways)) != 1 or len(set(plan.groups)) != 1:
            raise Infeasible("an interleaved plan has one way for all stages")
        steps_s, memory = self.steps.predicted(type_, [way_of(plan.ways[0])], gpus=sum(plan.groups))
        if not steps_s[0] < float("inf"):
            raise Infeasible("the model does not run this way on so many GPUs")
        return float(steps_s[0]), float(memory[0])


def plan_chunks(plan: ClusterPlan) -> int:
    """Return the chunks of each stage."""
    return way_of(plan.ways[0]).chunks if plan.ways else 1
