"""The time of a pipeline by the name of its schedule."""

from __future__ import annotations

from collections.abc import Sequence

from dse.inputs.strategies.divisibility import InfeasibleStrategy
from dse.inputs.strategies.schedules import schedule_named
from dse.prediction.steps.schedules import by_operation, by_tick
from dse.prediction.steps.schedules.times import Case, Links, Marks, PipelineTimes, StageTimes

MOST_OPERATIONS = 1 << 23
"""Of a pipeline in a step: stages x chunks x micro-batches; the longest published steps have a thousandth."""

_FEW_STAGES = 16  # a tick of an array takes as long as about that many operations


def pipeline(
    schedule: str,
    stages: Sequence[Sequence[StageTimes]],
    micro_batches: int,
    send_s: float | Links = 0.0,
) -> PipelineTimes:
    """Time a step of `micro_batches` on stages x chunks.

    An operation starts when its stage is free and what it needs is there: start = max(stage free, arrival).
    A message of activations or of their gradients takes `send_s` (one number, or one for each link from stage
    s to s + 1, of which the last joins the last stage and the first); it occupies no stage, but a stage sends
    one message at a time.

    Raises:
        InputError: no schedule of this name.
        InfeasibleStrategy: the schedule does not have so many chunks or micro-batches.
    """
    return pipelines(schedule, stages, micro_batches, [send_s])[0]


def pipelines(
    schedule: str,
    stages: Sequence[Sequence[StageTimes]],
    micro_batches: int,
    sends_s: Sequence[float | Links],
) -> list[PipelineTimes]:
    """Return `pipeline` for each of `sends_s`, in less time than one after the other."""
    kind = schedule_named(schedule)
    count, chunks = len(stages), len(stages[0])
    if micro_batches < 1:
        raise InfeasibleStrategy(f"{micro_batches} micro-batches; a step has at least one")
    if count * chunks * micro_batches > MOST_OPERATIONS:
        raise InfeasibleStrategy(
            f"{count} stages x {chunks} chunks x {micro_batches} micro-batches are more operations than the "
            f"{MOST_OPERATIONS:,} that a step may have"
        )
    problem = kind.problem(count, chunks, micro_batches)
    if problem:
        raise InfeasibleStrategy(problem)
    links = [[send_s] * count if isinstance(send_s, int | float) else send_s for send_s in sends_s]
    cases = [Case.of(kind, stages, micro_batches, one) for one in links]
    if count <= _FEW_STAGES:
        marks = [by_operation.evaluate(case) for case in cases]
    else:
        marks = by_tick.evaluate(cases)
    busy = tuple(micro_batches * sum(part.forward_s + part.backward_s for part in stage) for stage in stages)
    held = tuple(kind.in_flight(count, chunks, micro_batches))
    return [_times(one, busy, held) for one in marks]


def _times(marks: Marks, busy: tuple[float, ...], held: tuple[int, ...]) -> PipelineTimes:
    makespan = max(marks.finishes)
    return PipelineTimes(
        makespan_s=makespan,
        busy_s=busy,
        bubble_s=tuple(makespan - time for time in busy),
        last_backward_start_s=tuple(marks.last_backward_starts),
        gradients_s=tuple(map(tuple, marks.gradients)),
        finish_s=tuple(marks.finishes),
        in_flight=held,
    )
