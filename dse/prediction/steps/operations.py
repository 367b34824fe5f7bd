"""When each pipeline stage of a predicted step runs what: the operations behind a prediction."""

from __future__ import annotations

from typing import NamedTuple

from dse.inputs.accelerators import Cluster
from dse.inputs.models import ModelSpec
from dse.inputs.strategies.schedules import schedule_named
from dse.prediction.steps.checks import check
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.schedules import StageTimes
from dse.prediction.steps.schedules.recurrence import Recurrence
from dse.prediction.steps.stepwise import Stepwise


class StageOperation(NamedTuple):
    """A pass of a micro-batch through a chunk of a stage; then, without these, dp and optimizer."""

    stage: int
    kind: str
    start_s: float
    end_s: float
    chunk: int | None = None
    micro_batch: int | None = None


def stage_operations(model: ModelSpec, plan: Plan, cluster: Cluster) -> list[StageOperation]:
    """Return what all stages run, in order of time; the last one ends with the step.

    Reduction of gradients and the optimiser follow the pipeline on all stages at once, as `predict` has them.

    Raises:
        InfeasibleStrategy: as `predict`.
    """
    check(model, plan, cluster)
    step = Stepwise(model, plan, cluster)
    prediction = step.prediction()
    splits = schedule_named(plan.schedule).splits_backward
    times = [
        [
            StageTimes(own.forward.total_s, own.backward.total_s, own.weight_s if splits else 0.0)
            for own in stage
        ]
        for stage in step.passes
    ]
    links = [step._send_s()] * plan.pp
    found = Recurrence(schedule_named(plan.schedule), times, step.micro_batches, links)
    makespan_s = found.run().makespan_s
    made = [
        StageOperation(stage, operation.kind, start_s, end_s, operation.chunk, operation.micro_batch)
        for stage, spans in enumerate(found.spans)
        for operation, (start_s, end_s) in spans.items()
    ]
    reduced_s = makespan_s + prediction.parts_s["dp"]
    for stage in range(plan.pp):
        made.append(StageOperation(stage, "dp", makespan_s, reduced_s))
        made.append(StageOperation(stage, "optimizer", reduced_s, prediction.step_s))
    return sorted(made, key=lambda each: (each.start_s, each.stage, each.end_s))
