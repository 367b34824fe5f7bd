"""Timelines of a recording, or of a predicted pipeline, as trace events, which Perfetto and Chrome open."""

from dse.answers.timelines.bounds import TimelineOptions as TimelineOptions
from dse.answers.timelines.bounds import TimelineSummary as TimelineSummary
from dse.answers.timelines.pipeline import write_pipeline as write_pipeline
from dse.answers.timelines.points import write_point as write_point
from dse.answers.timelines.write import write_timeline as write_timeline
