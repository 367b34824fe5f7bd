"""The timeline of a design point, by the method that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from dse.answers.timelines.bounds import TimelineOptions, TimelineSummary
from dse.answers.timelines.pipeline import write_pipeline
from dse.answers.timelines.write import write_timeline
from dse.studies.points import PREDICTION, SIMULATION, DesignPoint, record_point


def write_point(
    point: DesignPoint, file: TextIO, options: TimelineOptions, about: Mapping[str, str]
) -> tuple[TimelineSummary, str]:
    """Evaluate a point again and write its timeline; return why ranks did not finish, too, empty if all did.

    Raises:
        InputError: a class or a stage that does not exist.
        InfeasibleStrategy: the strategy cannot run.
    """
    return _WRITERS[point.scenario.method.name](point, file, options, about)


def _write_recorded(
    point: DesignPoint, file: TextIO, options: TimelineOptions, about: Mapping[str, str]
) -> tuple[TimelineSummary, str]:
    recording = record_point(point)
    return write_timeline(recording, file, options, about), recording.outcome.reason


def _write_predicted(
    point: DesignPoint, file: TextIO, options: TimelineOptions, about: Mapping[str, str]
) -> tuple[TimelineSummary, str]:
    return write_pipeline(point, file, options, about), ""


_WRITERS = {PREDICTION.name: _write_predicted, SIMULATION.name: _write_recorded}
