"""The time of a pipeline by the name of its schedule, by the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dse.inputs.strategies.divisibility import InfeasibleStrategy
from dse.inputs.strategies.schedules import schedule_named
from dse.prediction.steps.batch import step_predictor

MOST_OPERATIONS = 1 << 23
"""Of a pipeline in a step: stages x chunks x micro-batches; the longest published steps have a thousandth."""


class StageTimes(NamedTuple):
    """The time that one micro-batch takes on one chunk of one stage.

    `backward_s` is the whole backward pass, recomputation included. `weight_s` is that part of it that gives
    the gradients of weights, and only counts for schedules that run it apart, as zero-bubble ones.
    """

    forward_s: float
    backward_s: float
    weight_s: float = 0.0


class PipelineTimes(NamedTuple):
    """A step's pipeline; tuples have an entry for each stage.

    `makespan_s` runs from the first forward to the end of the last stage; `busy_s` is spent computing,
    `bubble_s` is the rest of the makespan. `last_backward_start_s` is when the last backward pass of the
    stage starts; `gradients_s[stage][chunk]` when the gradients of the chunk's weights are complete, so that
    their reduction may start; `finish_s` when the stage has done all. `in_flight` is the peak number of
    activations held, of one micro-batch and one chunk each.
    """

    makespan_s: float
    busy_s: tuple[float, ...]
    bubble_s: tuple[float, ...]
    last_backward_start_s: tuple[float, ...]
    gradients_s: tuple[tuple[float, ...], ...]
    finish_s: tuple[float, ...]
    in_flight: tuple[int, ...]


def pipeline(
    schedule: str,
    stages: Sequence[Sequence[StageTimes]],
    micro_batches: int,
    send_s: float | Sequence[float] = 0.0,
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
    count, chunks = len(stages), len(stages[0])
    _check(schedule, count, chunks, micro_batches)
    links = [send_s] * count if isinstance(send_s, int | float) else list(send_s)
    parts = [part for stage in stages for part in stage]
    marks = step_predictor().pipeline(schedule, count, chunks, micro_batches, parts, links)
    finish, gradients, starts, in_flight = marks
    makespan_s = max(finish)
    busy = [micro_batches * sum(part.forward_s + part.backward_s for part in stage) for stage in stages]
    return PipelineTimes(
        makespan_s=makespan_s,
        busy_s=tuple(busy),
        bubble_s=tuple([makespan_s - time for time in busy]),
        last_backward_start_s=tuple(starts),
        gradients_s=tuple([tuple(gradients[at : at + chunks]) for at in range(0, count * chunks, chunks)]),
        finish_s=tuple(finish),
        in_flight=tuple(in_flight),
    )


def _check(schedule: str, stages: int, chunks: int, micro_batches: int) -> None:
    if micro_batches < 1:
        raise InfeasibleStrategy(f"{micro_batches} micro-batches; a step has at least one")
    if stages * chunks * micro_batches > MOST_OPERATIONS:
        raise InfeasibleStrategy(
            f"{stages} stages x {chunks} chunks x {micro_batches} micro-batches are more operations than the "
            f"{MOST_OPERATIONS:,} that a step may have"
        )
    if problem := schedule_named(schedule).problem(stages, chunks, micro_batches):
        raise InfeasibleStrategy(problem)
