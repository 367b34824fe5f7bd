"""Timelines of a recording, or of a predicted pipeline, as trace events, which Perfetto and Chrome open."""

from dse.answers.timelines.bounds import TimelineOptions, TimelineSummary
from dse.answers.timelines.pipeline import write_pipeline
from dse.answers.timelines.points import write_point
from dse.answers.timelines.write import write_timeline

__all__ = ["TimelineOptions", "TimelineSummary", "write_pipeline", "write_point", "write_timeline"]
