"""Timelines of a recording in the trace-event format that Perfetto and Chrome open (docs/explain.md)."""

from dse.timelines.options import TimelineOptions, TimelineSummary
from dse.timelines.write import write_timeline

__all__ = ["TimelineOptions", "TimelineSummary", "write_timeline"]
