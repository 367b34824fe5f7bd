"""Inputs and results of the timing of a pipeline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dse.inputs.strategies.schedules.schedule import KINDS, Schedule


@dataclass(frozen=True)
class StageTimes:
    """The time that one micro-batch takes on one chunk of one stage.

    `backward_s` is the whole backward pass, recomputation included. `weight_s` is that part of it that gives
    the gradients of weights, and only counts for schedules that run it apart (zb-h1, zb-v).
    """

    forward_s: float
    backward_s: float
    weight_s: float = 0.0


@dataclass(frozen=True)
class PipelineTimes:
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


Links = Sequence[float]
"""What a message takes from stage s to s + 1 and back; the last is between the last stage and the first."""


@dataclass(frozen=True)
class Case:
    """A pipeline to be timed, in the form of the evaluations; both give the same to the bit.

    `durations_s` and `delays_s` (of messages) have for each kind of operation stages x chunks; `received_s`
    are the delays at those that wait for them. `silences` are 0 where a message is sent and -inf elsewhere.
    `messages_queue`: one may wait for the one before it.
    """

    schedule: Schedule
    stages: int
    chunks: int
    micro_batches: int
    durations_s: dict[str, list[list[float]]]
    delays_s: dict[str, list[list[float]]]
    received_s: dict[str, list[list[float]]]
    silences: dict[str, list[list[float]]]
    messages_queue: bool

    @classmethod
    def of(
        cls, schedule: Schedule, stages: Sequence[Sequence[StageTimes]], micro_batches: int, links: Links
    ) -> Case:
        """Take the times apart."""
        chunks, split = len(stages[0]), schedule.splits_backward
        durations = {
            "forward": [[part.forward_s for part in stage] for stage in stages],
            "backward": [
                [part.backward_s - part.weight_s if split else part.backward_s for part in stage]
                for stage in stages
            ],
            "weight": [[part.weight_s if split else 0.0 for part in stage] for stage in stages],
        }
        delays = {kind: [[0.0] * chunks for _ in stages] for kind in KINDS}
        silences = {kind: [[-math.inf] * chunks for _ in stages] for kind in KINDS}
        received = {kind: [[0.0] * chunks for _ in stages] for kind in KINDS}
        for kind, (stage, chunk), receiver, link in schedule.messages(len(stages), chunks):
            delays[kind][stage][chunk] = received[kind][receiver.stage][receiver.chunk] = links[link]
            silences[kind][stage][chunk] = 0.0
        shortest = min(min(map(min, durations[kind])) for kind in KINDS[: 3 if split else 2])
        return cls(
            schedule=schedule,
            stages=len(stages),
            chunks=chunks,
            micro_batches=micro_batches,
            durations_s=durations,
            delays_s=delays,
            received_s=received,
            silences=silences,
            messages_queue=max(links) > shortest,
        )


def flat(values: dict[str, list[list[float]]], kinds: int = len(KINDS)) -> list[float]:
    """Return the values of the first `kinds` kinds in the order of kinds, stages and chunks."""
    return [time for kind in KINDS[:kinds] for stage in values[kind] for time in stage]


class Marks(NamedTuple):
    """Times of chosen operations, in seconds and per stage. Gradients are per stage and chunk."""

    last_backward_starts: list[float]
    gradients: list[list[float]]
    finishes: list[float]
